/* impostor.h - what answers where a Redis is expected, and isn't one: a thread
 * that serves one connection at a time, the newest. */
#ifndef TEST_IMPOSTOR_H
#define TEST_IMPOSTOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct impostor_part {
	const char *says; /* when it is first spoken to; NULL: nothing */
	bool slowly;      /* a byte at a time, and x for ever after */
	bool echoes;      /* all that it hears */
	bool leaves;      /* when it is first spoken to, after what it says */
};

struct impostor {
	struct impostor_part part;
	pthread_t thread;
	int listener;
	int connection;  /* the thread's; -1: none */
	size_t said;     /* the thread's */
	bool heard;      /* the thread's */
	atomic_int seen; /* connections so far */
	atomic_bool stops;
	char url[64];
};

void impostor_start(struct impostor *impostor,
		    const struct impostor_part *part);
void impostor_stop(struct impostor *impostor);

#endif
