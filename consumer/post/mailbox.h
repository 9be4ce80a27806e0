/*
 * mailbox.h - a list that many threads put into and one takes from. What is put
 * starts with a struct mail.
 *
 * Threads: any may put; the one owner takes.
 */
#ifndef ONCED_MAILBOX_H
#define ONCED_MAILBOX_H

#include <once/types.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct mail {
	struct mail *next;
};

struct mailbox {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct mail *first; /* mutex */
	struct mail **last; /* mutex */
	atomic_bool urgent; /* set under the mutex: something of it is */
	int wake_fd;        /* an eventfd written at each put; -1: none */
};

void mailbox_init(struct mailbox *mailbox, int wake_fd);
void mailbox_fini(struct mailbox *mailbox); /* must be empty */

void mailbox_put(struct mailbox *mailbox, void *mail);
/* The same, for what its owner should leave other work for. */
void mailbox_put_urgently(struct mailbox *mailbox, void *mail);
/* Has such a thing been put since the last was taken? */
bool mailbox_is_urgent(const struct mailbox *mailbox);
/* All that is there, in order; NULL: nothing. Waits for it at most `wait_ms`
 * (0: doesn't, -1: as long as it takes). */
void *mailbox_take(struct mailbox *mailbox, int64_t wait_ms);

#endif
