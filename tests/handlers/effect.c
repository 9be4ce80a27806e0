/*
 * effect - the handler of the end-to-end tests. Its effect is a row that can be
 * counted; how it misbehaves stands in the message's header "act":
 *
 *	reject     REJECT
 *	fail       RETRY, always
 *	recover    RETRY at the first two attempts
 *	pause      PAUSE while there is a file "pause"
 *	hang       makes a file "hanging", and doesn't return while there is a
 *	           file "hang"
 *	kill       kills the process, once: it leaves a file "killed"
 *	die        kills the process, always
 *	segv, abort, exit, overflow
 *	           crashes the process so, once: as kill
 *	cut        ends its own session, always
 *	broken     REJECT while there is no file "fixed"; then as hang
 *	hot        changes two rows that many others change, in any order
 *
 *	leave      leaves settings of the session changed
 *
 *	slow       takes 150 ms
 *
 * Settings: directory (of those files), delay_ms (what a call takes).
 */
#include <once/handler.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct effect {
	char directory[PATH_MAX - 16];
	long delay_ms;
};

static int open_effect(struct once_settings *settings, void **ret_self)
{
	struct effect *self = calloc(1, sizeof(*self));

	if (self == NULL)
		return -1;
	snprintf(self->directory, sizeof(self->directory), "%s",
		 once_setting(settings, "directory", "."));
	self->delay_ms =
		strtol(once_setting(settings, "delay_ms", "0"), NULL, 10);
	*ret_self = self;
	return 0;
}

static void pause_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	if (ms > 0)
		nanosleep(&time, NULL);
}

static int is_there(const struct effect *self, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	return access(path, F_OK) == 0;
}

/* True: it wasn't there before. */
static int put_file(const struct effect *self, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (fd == -1)
		return 0;
	close(fd);
	return 1;
}

static void hang(const struct effect *self)
{
	put_file(self, "hanging");
	while (is_there(self, "hang"))
		pause_ms(5);
}

static struct once_param number(char text[24], int64_t value)
{
	struct once_param param = { { text, 0 }, 0 };

	param.value.size = (size_t)snprintf(text, 24, "%lld", (long long)value);
	return param;
}

static void change_hot_rows(const struct once_message *msg,
			    struct once_call *call)
{
	static const char sql[] = "UPDATE hot SET n = n + 1 WHERE id = $1";
	int64_t place = once_offset(msg) * 7 + once_partition(msg) * 3;
	char numbers[2][24];

	once_send(call, sql, ONCE_PARAMS(number(numbers[0], place % 16)));
	once_send(call, sql,
		  ONCE_PARAMS(number(numbers[1], (place * 5 + 1) % 16)));
}

static int is_crash(const char *what)
{
	return strcmp(what, "segv") == 0 || strcmp(what, "abort") == 0 ||
	       strcmp(what, "exit") == 0 || strcmp(what, "overflow") == 0;
}

/* Not a loop, for the compiler. */
static int fill_stack(volatile char *before, int depth)
{
	volatile char room[4096];

	room[0] = before[0];
	return depth < 0 ? 0 : fill_stack(room, depth + 1) + room[0];
}

static void crash(const char *what)
{
	volatile char first[1] = { 1 };

	if (strcmp(what, "segv") == 0)
		raise(SIGSEGV);
	if (strcmp(what, "abort") == 0)
		abort();
	if (strcmp(what, "exit") == 0)
		exit(3);
	(void)fill_stack(first, 0);
}

static enum once_verdict act(const struct effect *self, const char *what,
			     const struct once_message *msg,
			     struct once_call *call)
{
	if (strcmp(what, "hot") == 0)
		change_hot_rows(msg, call);
	if (strcmp(what, "leave") == 0) {
		once_send(call, "SET client_encoding = 'LATIN1'",
			  ONCE_NO_PARAMS);
		once_send(call, "SET role = 'pg_monitor'", ONCE_NO_PARAMS);
	}
	if (strcmp(what, "slow") == 0)
		pause_ms(150);
	if (strcmp(what, "broken") == 0 && !is_there(self, "fixed")) {
		once_because(call, "it isn't fixed yet");
		return ONCE_REJECT;
	}
	if (strcmp(what, "hang") == 0 || strcmp(what, "broken") == 0)
		hang(self);
	if (strcmp(what, "kill") == 0 && put_file(self, "killed"))
		raise(SIGKILL);
	if (strcmp(what, "die") == 0)
		raise(SIGKILL);
	if (strcmp(what, "cut") == 0)
		once_send(call, "SELECT pg_terminate_backend(pg_backend_pid())",
			  ONCE_NO_PARAMS);
	if (is_crash(what) && put_file(self, "killed"))
		crash(what);
	if (strcmp(what, "pause") == 0 && is_there(self, "pause"))
		return ONCE_PAUSE;
	if (strcmp(what, "recover") == 0 && once_attempt(call) < 3)
		return ONCE_RETRY;
	if (strcmp(what, "fail") == 0)
		return ONCE_RETRY;
	if (strcmp(what, "reject") != 0)
		return ONCE_DONE;
	once_because(call, "it was told to");
	return ONCE_REJECT;
}

static enum once_verdict handle(void *arg, const struct once_message *msg,
				struct once_call *call)
{
	static const char sql[] =
		"INSERT INTO effect (msg_id, biz_id, partition, "
		"message_offset, attempt, value) "
		"VALUES ($1, $2, $3, $4, $5, $6)";
	const struct effect *self = arg;
	struct once_bytes header = once_header(msg, "act");
	char what[16] = "";
	char numbers[3][24];

	if (header.data != NULL && header.size < sizeof(what))
		memcpy(what, header.data, header.size);
	pause_ms(self->delay_ms);
	once_send(call, sql,
		  ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
			      ONCE_TEXT(once_biz_id(msg)),
			      number(numbers[0], once_partition(msg)),
			      number(numbers[1], once_offset(msg)),
			      number(numbers[2], once_attempt(call)),
			      ONCE_TEXT(once_value(msg))));
	return act(self, what, msg, call);
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS, .name = "effect", .open = open_effect,
	.handle = handle,        .close = free,
};
