/* The lock is held for a few instructions; nobody waits on work. */
#include "mailbox.h"

#include "clock.h"
#include "scope.h"

#include <unistd.h>

void mailbox_init(struct mailbox *mailbox, int wake_fd)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&mailbox->mutex, NULL);
	pthread_cond_init(&mailbox->filled, &monotonic);
	pthread_condattr_destroy(&monotonic);
	mailbox->first = NULL;
	mailbox->last = &mailbox->first;
	atomic_init(&mailbox->urgent, false);
	mailbox->wake_fd = wake_fd;
}

void mailbox_fini(struct mailbox *mailbox)
{
	pthread_cond_destroy(&mailbox->filled);
	pthread_mutex_destroy(&mailbox->mutex);
}

static void wake(struct mailbox *mailbox)
{
	uint64_t one = 1;

	pthread_cond_signal(&mailbox->filled);
	if (mailbox->wake_fd >= 0 &&
	    write(mailbox->wake_fd, &one, sizeof(one)) < 0)
		return; /* full: the owner is awake */
}

static void put(struct mailbox *mailbox, struct mail *added, bool urgent)
{
	added->next = NULL;
	pthread_mutex_lock(&mailbox->mutex);
	*mailbox->last = added;
	mailbox->last = &added->next;
	if (urgent)
		atomic_store(&mailbox->urgent, true);
	pthread_mutex_unlock(&mailbox->mutex);
	wake(mailbox);
}

void mailbox_put(struct mailbox *mailbox, void *mail)
{
	put(mailbox, mail, false);
}

void mailbox_put_urgently(struct mailbox *mailbox, void *mail)
{
	put(mailbox, mail, true);
}

bool mailbox_is_urgent(const struct mailbox *mailbox)
{
	return atomic_load_explicit(&mailbox->urgent, memory_order_relaxed);
}

static void wait_until_filled(struct mailbox *mailbox, int64_t wait_ms)
{
	int64_t end_ms = clock_ms() + wait_ms;
	struct timespec end = { end_ms / 1000, end_ms % 1000 * 1000000 };

	if (mailbox->first != NULL || wait_ms == 0)
		return;
	if (wait_ms < 0)
		pthread_cond_wait(&mailbox->filled, &mailbox->mutex);
	else
		pthread_cond_timedwait(&mailbox->filled, &mailbox->mutex, &end);
}

void *mailbox_take(struct mailbox *mailbox, int64_t wait_ms)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&mailbox->mutex);
	struct mail *taken;

	(void)held;
	wait_until_filled(mailbox, wait_ms);
	taken = mailbox->first;
	mailbox->first = NULL;
	mailbox->last = &mailbox->first;
	atomic_store(&mailbox->urgent, false);
	return taken;
}
