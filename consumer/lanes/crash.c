/* What runs in a signal's handler may call next to nothing: the line is put
 * together by hand, and the thread has a stack of its own for it, since it may
 * be the other one that is full. */
#include "crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MOST_FRAMES = 64,
	STACK_SIZE = 64 * 1024
};

static const struct {
	int number;
	const char *name;
} fatal[] = {
	{ SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },
	{ SIGILL, "SIGILL" },   { SIGABRT, "SIGABRT" },
};

enum {
	COUNT_FATAL = sizeof(fatal) / sizeof(fatal[0])
};

static const struct config *config;
static struct sigaction before[COUNT_FATAL]; /* a sanitizer's, perhaps */

/* Read by the signal's handler on the same thread. */
static _Thread_local const struct once_session *watched;
static _Thread_local void *stack;

/* ---- a line, by hand ---- */

struct line {
	char text[1024];
	size_t size;
};

static void add(struct line *line, const char *text)
{
	size_t room = sizeof(line->text) - line->size;
	size_t size = strlen(text);

	if (size > room)
		size = room;
	memcpy(line->text + line->size, text, size);
	line->size += size;
}

static void add_number(struct line *line, int64_t number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0 && at > 0);
	add(line, digits + at);
}

static void write_line(struct line *line)
{
	ssize_t written;

	if (line->size == sizeof(line->text))
		line->size--;
	line->text[line->size++] = '\n';
	written = write(STDERR_FILENO, line->text, line->size);
	(void)written; /* nothing can be done about it */
}

/* "the handler of refund …at refunds[3] offset 42"; false: none is called. */
static bool describe(struct line *line, const char *what, const char *how)
{
	struct once_current_call call;

	if (watched == NULL)
		return false;
	once_session_get_call(watched, &call);
	if (call.began_ms == 0 || call.route >= config->route_count)
		return false;
	add(line, "level=error msg=\"the handler of ");
	add(line, config->routes[call.route].name);
	add(line, what);
	add(line, how);
	add(line, " at ");
	add(line, call.topic);
	add(line, "[");
	add_number(line, call.partition);
	add(line, "] offset ");
	add_number(line, call.offset);
	add(line, "\"");
	return true;
}

/* ---- the ends ---- */

static void crash(int number)
{
	struct line line = { .size = 0 };
	void *frames[MOST_FRAMES];
	size_t i = 0;

	while (i + 1 < COUNT_FATAL && fatal[i].number != number)
		i++;
	if (!describe(&line, " crashed with ", fatal[i].name)) {
		add(&line, "level=error msg=\"onced crashed with ");
		add(&line, fatal[i].name);
		add(&line, ", outside of handlers\"");
	}
	write_line(&line);
	backtrace_symbols_fd(frames, backtrace(frames, MOST_FRAMES),
			     STDERR_FILENO);
	sigaction(number, &before[i], NULL);
	raise(number);
}

static void leave(void)
{
	struct line line = { .size = 0 };

	if (describe(&line, " ended the process with exit()", ""))
		write_line(&line);
}

void crash_init(const struct config *cfg)
{
	struct sigaction action = { .sa_handler = crash,
				    .sa_flags = SA_ONSTACK | SA_NODEFER };
	void *frame;

	config = cfg;
	(void)backtrace(&frame, 1); /* the first one loads a library */
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < COUNT_FATAL; i++)
		sigaction(fatal[i].number, &action, &before[i]);
	(void)atexit(leave);
}

/* A sanitizer has one of its own, and takes it away itself. */
static void give_stack(void)
{
	stack_t old;
	stack_t own = { .ss_size = STACK_SIZE };

	if (sigaltstack(NULL, &old) != 0 || (old.ss_flags & SS_DISABLE) == 0)
		return;
	stack = malloc(STACK_SIZE);
	own.ss_sp = stack;
	if (stack != NULL)
		sigaltstack(&own, NULL);
}

static void take_stack(void)
{
	static const stack_t none = { .ss_flags = SS_DISABLE };

	if (stack != NULL)
		sigaltstack(&none, NULL);
	free(stack);
	stack = NULL;
}

void crash_watch(const struct once_session *session)
{
	watched = session;
	if (session == NULL)
		take_stack();
	else if (stack == NULL)
		give_stack();
}
