/*
 * redis_wire.c - a socket, what is to be sent, and what came back.
 *
 * The idea to hold: only once__wire_wait() waits. All else does what can be
 * done now, and leaves the rest to the next call.
 */
#include "redis_wire.h"

#include "bytes.h"
#include "clock.h"
#include "redis_answers.h"
#include "text.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What one call reads at most before its caller looks at the clock again. */
#define CHUNKS_MAX 64
#define CHUNK_BYTES 16384
/* A buffer that has grown beyond this isn't kept. */
#define KEPT_BYTES (1024 * 1024)

struct once__wire {
	int fd; /* -1: none */
	bool connecting;
	struct once__addresses addresses;
	unsigned first; /* the address that is tried first, of `addresses` */
	size_t tried;   /* addresses */
	struct text out;
	size_t sent; /* of `out` */
	struct once__answers *answers;
	int64_t moved_ms;
	char fault[512]; /* the first; "": none */
};

/* Always false. */
static bool fail(struct once__wire *wire, const char *what, const char *why)
{
	if (wire->fault[0] == '\0')
		snprintf(wire->fault, sizeof(wire->fault), "%s%s", what, why);
	return false;
}

static bool fail_errno(struct once__wire *wire, const char *what, int error)
{
	char why[128];

	snprintf(why, sizeof(why), "error %d", error);
	return fail(wire, what,
		    strerror_r(error, why, sizeof(why)) == 0 ? why : "?");
}

/* ---- life ---- */

struct once__wire *once__wire_create(void)
{
	struct once__wire *wire = calloc(1, sizeof(*wire));

	if (wire == NULL)
		return NULL;
	wire->fd = -1;
	return wire;
}

static void close_socket(struct once__wire *wire)
{
	if (wire->fd != -1)
		close(wire->fd);
	wire->fd = -1;
	wire->connecting = false;
}

static void empty_out(struct once__wire *wire)
{
	if (wire->out.capacity > KEPT_BYTES || wire->out.broken)
		text_fini(&wire->out);
	text_reset(&wire->out);
	wire->sent = 0;
}

void once__wire_close(struct once__wire *wire)
{
	close_socket(wire);
	empty_out(wire);
	once__answers_destroy(wire->answers);
	wire->answers = NULL;
	wire->fault[0] = '\0';
}

void once__wire_destroy(struct once__wire *wire)
{
	if (wire == NULL)
		return;
	once__wire_close(wire);
	text_fini(&wire->out);
	free(wire);
}

bool once__wire_is_open(const struct once__wire *wire)
{
	return wire->answers != NULL;
}

bool once__wire_is_connecting(const struct once__wire *wire)
{
	return wire->connecting;
}

int64_t once__wire_moved_ms(const struct once__wire *wire)
{
	return wire->moved_ms;
}

const char *once__wire_fault(const struct once__wire *wire)
{
	return wire->fault;
}

/* ---- connecting ---- */

/* A connection that a firewall has forgotten while it was idle is to be found
 * by the kernel, not by a batch. A unix socket refuses these, and needs none.
 */
static void set_options(int fd)
{
	static const struct {
		int level;
		int name;
		int value;
	} options[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },
			{ SOL_SOCKET, SO_KEEPALIVE, 1 },
			{ IPPROTO_TCP, TCP_KEEPIDLE, 30 },
			{ IPPROTO_TCP, TCP_KEEPINTVL, 10 },
			{ IPPROTO_TCP, TCP_KEEPCNT, 3 } };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)setsockopt(fd, options[i].level, options[i].name,
				 &options[i].value, sizeof(options[i].value));
}

/* 0, or errno. */
static int connect_to(struct once__wire *wire,
		      const struct sockaddr_storage *address, socklen_t size)
{
	wire->fd = socket(address->ss_family,
			  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (wire->fd == -1)
		return errno;
	set_options(wire->fd);
	wire->connecting = true;
	if (connect(wire->fd, (const struct sockaddr *)address, size) == 0 ||
	    errno == EINPROGRESS)
		return 0;
	return errno;
}

/* Go on with the next address, after this error of the one before. */
static bool connect_next(struct once__wire *wire, int error)
{
	const struct once__addresses *all = &wire->addresses;
	size_t at;

	while (wire->tried < all->count) {
		at = (wire->first + wire->tried++) % all->count;
		close_socket(wire);
		error = connect_to(wire, &all->list[at].storage,
				   all->list[at].size);
		if (error == 0)
			return true;
	}
	return fail_errno(wire, "could not connect: ", error);
}

void once__wire_open(struct once__wire *wire,
		     const struct once__addresses *addresses, unsigned first)
{
	once__wire_close(wire);
	wire->addresses = *addresses;
	wire->first = first;
	wire->tried = 0;
	wire->moved_ms = clock_ms();
	wire->answers = once__answers_create();
	if (wire->answers != NULL)
		connect_next(wire, EADDRNOTAVAIL);
}

/* Is the address reached? False, and no fault: not yet. */
static bool finish_connecting(struct once__wire *wire)
{
	struct pollfd poll_fd = { .fd = wire->fd, .events = POLLOUT };
	int error = 0;
	socklen_t size = sizeof(error);

	if (!wire->connecting)
		return true;
	if (poll(&poll_fd, 1, 0) <= 0)
		return false;
	if (getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error != 0) {
		connect_next(wire, error);
		return false;
	}
	wire->connecting = false;
	wire->moved_ms = clock_ms();
	return true;
}

/* ---- commands ---- */

/* "$12\r\n". By hand, for there are ten of them to each message. */
static void add_count(struct once__wire *wire, char kind, size_t count)
{
	char text[24];
	char *at = text + sizeof(text);

	*--at = '\n';
	*--at = '\r';
	do
		*--at = (char)('0' + count % 10);
	while ((count /= 10) > 0);
	*--at = kind;
	text_add(&wire->out, at, (size_t)(text + sizeof(text) - at));
}

static void add_word(struct once__wire *wire, struct once_bytes word)
{
	add_count(wire, '$', word.size);
	text_add(&wire->out, word.data, word.size);
	text_add(&wire->out, "\r\n", 2);
}

static void add_words(struct once__wire *wire, const struct once_bytes *words,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_word(wire, words[i]);
	if (wire->out.broken)
		fail(wire, "out of memory", "");
}

void once__wire_add(struct once__wire *wire, const struct once_bytes *words,
		    size_t count)
{
	add_count(wire, '*', count);
	add_words(wire, words, count);
	once__answers_expect_ok(wire->answers);
}

void once__wire_add_get(struct once__wire *wire, const struct once_bytes *keys,
			size_t count)
{
	add_count(wire, '*', count + 1);
	add_word(wire, bytes_text("MGET"));
	add_words(wire, keys, count);
	once__answers_expect_values(wire->answers, count);
}

void once__wire_get_values(const struct once__wire *wire,
			   struct once_bytes *ret_values)
{
	once__answers_get_values(wire->answers, ret_values);
}

size_t once__wire_owed(const struct once__wire *wire)
{
	return once__answers_owed(wire->answers);
}

size_t once__wire_unsent_bytes(const struct once__wire *wire)
{
	return wire->out.size - wire->sent;
}

/* ---- moving ---- */

/* What was sent takes no memory, however slowly the rest goes. */
static void drop_sent(struct once__wire *wire)
{
	size_t left = once__wire_unsent_bytes(wire);

	if (left == 0) {
		empty_out(wire);
	} else if (wire->sent > left) {
		memmove(wire->out.data, wire->out.data + wire->sent, left);
		wire->out.size = left;
		wire->sent = 0;
	}
}

/* 0, or errno. */
static int send_some(struct once__wire *wire)
{
	ssize_t size;

	while (wire->sent < wire->out.size) {
		size = send(wire->fd, wire->out.data + wire->sent,
			    once__wire_unsent_bytes(wire), MSG_NOSIGNAL);
		if (size == -1 && errno != EINTR)
			break;
		if (size == -1)
			continue;
		wire->sent += (size_t)size;
		wire->moved_ms = clock_ms();
	}
	if (wire->sent < wire->out.size && errno != EAGAIN &&
	    errno != EWOULDBLOCK)
		return errno;
	drop_sent(wire);
	return 0;
}

static enum once__wire_move end(struct once__wire *wire, int error)
{
	if (once__wire_owed(wire) == 0)
		return ONCE__WIRE_ENDED;
	if (error == 0)
		fail(wire, "closed the connection", "");
	else
		fail_errno(wire, "the connection broke: ", error);
	return ONCE__WIRE_FAILED;
}

static enum once__wire_move receive(struct once__wire *wire)
{
	char chunk[CHUNK_BYTES];
	ssize_t size;

	for (int i = 0; i < CHUNKS_MAX; i++) {
		size = recv(wire->fd, chunk, sizeof(chunk), 0);
		if (size == -1 && (errno == EAGAIN || errno == EINTR))
			break;
		if (size <= 0)
			return end(wire, size == 0 ? 0 : errno);
		wire->moved_ms = clock_ms();
		if (!once__answers_feed(wire->answers, chunk, (size_t)size)) {
			fail(wire, once__answers_fault(wire->answers), "");
			return ONCE__WIRE_FAILED;
		}
		if (once__wire_owed(wire) == 0)
			break; /* that it ended after that, is found later */
	}
	return ONCE__WIRE_MOVED;
}

/* Even where nothing can be sent any more, what Redis has said comes first: it
 * tells why. */
enum once__wire_move once__wire_move(struct once__wire *wire)
{
	enum once__wire_move moved = ONCE__WIRE_MOVED;
	int error = 0;

	if (wire->fault[0] == '\0' && finish_connecting(wire)) {
		error = send_some(wire);
		moved = receive(wire);
	}
	if (error != 0)
		fail_errno(wire, "the connection broke: ", error);
	return wire->fault[0] == '\0' ? moved : ONCE__WIRE_FAILED;
}

bool once__wire_wait(const struct once__wire *wire, int64_t deadline_ms)
{
	struct pollfd poll_fd = { .fd = wire->fd, .events = POLLIN };
	int64_t left_ms = deadline_ms - clock_ms();

	if (left_ms <= 0)
		return false;
	if (wire->connecting)
		poll_fd.events = POLLOUT;
	else if (once__wire_unsent_bytes(wire) > 0)
		poll_fd.events |= POLLOUT;
	poll(&poll_fd, 1, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
	return true;
}
