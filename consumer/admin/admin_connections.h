/*
 * admin_connections.h - who is connected to the admin port, until when, and
 * who goes when another one comes and there is no room.
 *
 * Whoever comes is taken: it is one that is there already who goes, so that no
 * crowd keeps a probe out. It is one of the address that has most connections,
 * so that a crowd drives out its own; among these those go first whose request
 * isn't whole, the oldest before the others.
 *
 * Threads: admin.
 */
#ifndef ONCED_ADMIN_CONNECTIONS_H
#define ONCED_ADMIN_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	CONNECTIONS_MOST = 64,
	/* From accept() until the request is whole, then until its answer is
	 * read. A connection is for one request. */
	CONNECTIONS_REQUEST_MS = 5000,
	CONNECTIONS_ANSWER_MS = 30000,
	/* Of all answers that aren't read yet; one alone may be larger. */
	CONNECTIONS_ANSWER_BYTES = 16 * 1024 * 1024
};

struct connection {
	bool used;
	bool answered; /* its request is whole */
	bool cut;      /* shut down; it is removed when it is closed */
	int fd;
	uint64_t network; /* an IPv4 address, or an IPv6 network of 64 bits */
	uint64_t number;  /* in the order in which they came */
	int64_t end_ms;
	size_t answer_bytes;
};

/* All zero is empty. */
struct connections {
	struct connection list[CONNECTIONS_MOST];
	size_t count; /* those that are cut included */
	uint64_t taken;
};

/* NULL: there is no room. */
struct connection *connections_add(struct connections *connections, int fd,
				   const struct sockaddr *peer, int64_t now_ms);
void connections_remove(struct connections *connections,
			struct connection *connection);

/* Its request is whole. Cuts others whose answers take too much memory. */
void connections_answer(struct connections *connections,
			struct connection *connection, size_t bytes,
			int64_t now_ms);

/* Cuts one if there is no room for another. */
void connections_make_room(struct connections *connections);
/* Cuts one, whether there is room or not. */
void connections_drop_one(struct connections *connections);
/* Cuts those whose time is over. */
void connections_cut_late(struct connections *connections, int64_t now_ms);
/* When the next one is late; INT64_MAX: none will be. */
int64_t connections_next_end(const struct connections *connections);

#endif
