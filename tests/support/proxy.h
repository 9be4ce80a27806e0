/*
 * proxy.h - a TCP proxy before a server, as bad as a network can be: a process
 * of its own. It listens before it knows its server, for a broker must be told
 * the port that it is reached at.
 */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

#include <stdbool.h>
#include <sys/types.h>

enum proxy_mode {
	PROXY_PASS,
	PROXY_DELAY,  /* what arrives goes on `delay_ms` later */
	PROXY_FREEZE, /* nothing goes on; all of it later */
	PROXY_DEAF,   /* what the server says is lost; such a connection is cut
			 when the mode ends */
	PROXY_REFUSE  /* all are cut, and nobody gets through */
};

/* Shared with the process. */
struct proxy_orders {
	volatile int mode; /* enum proxy_mode */
	volatile int delay_ms;
	volatile int cuts; /* one more: each connection is cut at once */
	volatile int seen; /* connections so far */
};

struct proxy {
	struct proxy_orders *orders;
	int listener;
	int port;
	pid_t pid; /* 0: not started */
};

void proxy_open(struct proxy *proxy);
/* To a server at 127.0.0.1. */
void proxy_start(struct proxy *proxy, int server_port);
void proxy_set(struct proxy *proxy, enum proxy_mode mode, int delay_ms);
void proxy_cut(struct proxy *proxy);
void proxy_close(struct proxy *proxy);

#endif
