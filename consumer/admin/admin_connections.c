/* To cut is to shut the socket down: closing it is for the one who has it, and
 * until then its number can't become another's. There are few, so each question
 * is a walk over all. */
#include "admin_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* ---- coming and going ---- */

static uint64_t number_of(const unsigned char *bytes, size_t size)
{
	uint64_t number = 0;

	for (size_t i = 0; i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* One host can have all addresses of a network of 64 bits. */
static uint64_t network_of(const struct sockaddr *peer)
{
	struct sockaddr_in address;
	struct sockaddr_in6 address6;

	if (peer->sa_family == AF_INET) {
		memcpy(&address, peer, sizeof(address));
		return ntohl(address.sin_addr.s_addr);
	}
	if (peer->sa_family != AF_INET6)
		return 0;
	memcpy(&address6, peer, sizeof(address6));
	if (IN6_IS_ADDR_V4MAPPED(&address6.sin6_addr))
		return number_of(address6.sin6_addr.s6_addr + 12, 4);
	return number_of(address6.sin6_addr.s6_addr, 8);
}

struct connection *connections_add(struct connections *connections, int fd,
				   const struct sockaddr *peer, int64_t now_ms)
{
	struct connection *connection = connections->list;
	const struct connection *end = connection + CONNECTIONS_MOST;

	while (connection < end && connection->used)
		connection++;
	if (connection == end)
		return NULL;
	*connection = (struct connection){
		.used = true,
		.fd = fd,
		.network = network_of(peer),
		.number = connections->taken++,
		.end_ms = now_ms + CONNECTIONS_REQUEST_MS,
	};
	connections->count++;
	return connection;
}

void connections_remove(struct connections *connections,
			struct connection *connection)
{
	*connection = (struct connection){ 0 };
	connections->count--;
}

/* Without a farewell: who doesn't read would keep the kernel's buffers. */
static void cut(struct connection *connection)
{
	const struct linger at_once = { 1, 0 };

	setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once,
		   sizeof(at_once));
	shutdown(connection->fd, SHUT_RDWR);
	connection->cut = true;
	connection->answer_bytes = 0;
}

/* ---- who goes ---- */

static bool is_open(const struct connection *connection)
{
	return connection->used && !connection->cut;
}

static size_t count_neighbours(const struct connections *connections,
			       const struct connection *of)
{
	size_t count = 0;

	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		count += is_open(&connections->list[i]) &&
			 connections->list[i].network == of->network;
	return count;
}

/* Does `one` go before `other`, both of one network? */
static bool goes_before(const struct connection *one,
			const struct connection *other)
{
	if (one->answered != other->answered)
		return other->answered;
	return one->number < other->number;
}

/* NULL: there is none. With `bytes` only of those that have an answer. */
static struct connection *find_first(struct connections *connections,
				     bool bytes, const struct connection *but)
{
	struct connection *first = NULL;
	size_t most = 0;

	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *at = &connections->list[i];
		size_t count = count_neighbours(connections, at);

		if (!is_open(at) || at == but ||
		    (bytes && at->answer_bytes == 0) || count < most ||
		    (count == most && !goes_before(at, first)))
			continue;
		first = at;
		most = count;
	}
	return first;
}

void connections_drop_one(struct connections *connections)
{
	struct connection *first = find_first(connections, false, NULL);

	if (first != NULL)
		cut(first);
}

void connections_make_room(struct connections *connections)
{
	if (connections->count == CONNECTIONS_MOST)
		connections_drop_one(connections);
}

/* ---- answers ---- */

static size_t count_bytes(const struct connections *connections)
{
	size_t bytes = 0;

	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		bytes += connections->list[i].answer_bytes;
	return bytes;
}

void connections_answer(struct connections *connections,
			struct connection *connection, size_t bytes,
			int64_t now_ms)
{
	struct connection *first;

	connection->answered = true;
	connection->answer_bytes = bytes;
	connection->end_ms = now_ms + CONNECTIONS_ANSWER_MS;
	while (count_bytes(connections) > CONNECTIONS_ANSWER_BYTES &&
	       (first = find_first(connections, true, connection)) != NULL)
		cut(first);
}

/* ---- time ---- */

void connections_cut_late(struct connections *connections, int64_t now_ms)
{
	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		if (is_open(&connections->list[i]) &&
		    connections->list[i].end_ms <= now_ms)
			cut(&connections->list[i]);
}

int64_t connections_next_end(const struct connections *connections)
{
	int64_t next_ms = INT64_MAX;

	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		if (is_open(&connections->list[i]) &&
		    connections->list[i].end_ms < next_ms)
			next_ms = connections->list[i].end_ms;
	return next_ms;
}
