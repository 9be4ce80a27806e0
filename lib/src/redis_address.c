/*
 * redis_address.c - see the header.
 *
 * The idea to hold: what is shared is counted. The circuit has one reference,
 * a thread that looks up has another; the last one frees.
 */
#include "redis_address.h"

#include "clock.h"
#include "scope.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct once__lookup {
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t ended;
	unsigned references;
	bool running;
	char host[sizeof(((struct once__redis_url *)NULL)->host)];
	char port[8];
	struct once__addresses found;
	char fault[128];
};

static void drop_reference(struct once__lookup *lookup)
{
	bool last;

	pthread_mutex_lock(&lookup->lock);
	last = --lookup->references == 0;
	pthread_mutex_unlock(&lookup->lock);
	if (!last)
		return;
	pthread_cond_destroy(&lookup->ended);
	pthread_mutex_destroy(&lookup->lock);
	free(lookup);
}

static void copy_addresses(struct once__addresses *to,
			   const struct addrinfo *from)
{
	to->count = 0;
	for (; from != NULL && to->count < ONCE__ADDRESSES_MAX;
	     from = from->ai_next) {
		memcpy(&to->list[to->count].storage, from->ai_addr,
		       from->ai_addrlen);
		to->list[to->count++].size = from->ai_addrlen;
	}
}

/* 0, or a code of getaddrinfo(). Reads only what never changes. */
static int look_up(const struct once__lookup *lookup, int flags,
		   struct once__addresses *ret_addresses)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICSERV | flags };
	struct addrinfo *infos = NULL;
	int code = getaddrinfo(lookup->host, lookup->port, &hints, &infos);

	if (code != 0)
		return code;
	copy_addresses(ret_addresses, infos);
	freeaddrinfo(infos);
	return 0;
}

static void publish(struct once__lookup *lookup, int code,
		    const struct once__addresses *found)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&lookup->lock);

	(void)lock;
	if (code == 0)
		lookup->found = *found;
	else
		snprintf(lookup->fault, sizeof(lookup->fault),
			 "the name can't be looked up: %s", gai_strerror(code));
	lookup->running = false;
	pthread_cond_broadcast(&lookup->ended);
}

static void *run(void *arg)
{
	struct once__lookup *lookup = arg;
	struct once__addresses found = { 0 };
	int code = look_up(lookup, 0, &found);

	publish(lookup, code, &found);
	drop_reference(lookup);
	return NULL;
}

/* Signals are for the program's own threads. */
static bool start_thread(struct once__lookup *lookup)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all;
	sigset_t before;
	int code;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	sigfillset(&all);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&thread, &attributes, run, lookup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return code == 0;
}

void once__lookup_start(struct once__lookup *lookup)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&lookup->lock);

	(void)lock;
	if (lookup->running || lookup->host[0] == '\0')
		return;
	lookup->running = true;
	lookup->references++;
	if (start_thread(lookup))
		return;
	lookup->references--;
	lookup->running = false;
	snprintf(lookup->fault, sizeof(lookup->fault),
		 "no thread can be started to look up the name");
}

static void set_path(struct once__addresses *addresses, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, path, strlen(path) + 1);
	memcpy(&addresses->list[0].storage, &address, sizeof(address));
	addresses->list[0].size = sizeof(address);
	addresses->count = 1;
}

/* Numbers never change, so there is no host to look up again. */
static void set_host(struct once__lookup *lookup,
		     const struct once__redis_url *url)
{
	snprintf(lookup->host, sizeof(lookup->host), "%s", url->host);
	snprintf(lookup->port, sizeof(lookup->port), "%u", (unsigned)url->port);
	if (look_up(lookup, AI_NUMERICHOST, &lookup->found) == 0)
		lookup->host[0] = '\0';
}

static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct once__lookup *once__lookup_create(const struct once__redis_url *url)
{
	struct once__lookup *lookup = calloc(1, sizeof(*lookup));

	if (lookup == NULL)
		return NULL;
	lookup->references = 1;
	pthread_mutex_init(&lookup->lock, NULL);
	init_condition(&lookup->ended);
	if (url->path[0] != '\0')
		set_path(&lookup->found, url->path);
	else
		set_host(lookup, url);
	once__lookup_start(lookup);
	return lookup;
}

void once__lookup_destroy(struct once__lookup *lookup)
{
	if (lookup != NULL)
		drop_reference(lookup);
}

static void wait_for_end(struct once__lookup *lookup, int64_t deadline_ms)
{
	const struct timespec until = { deadline_ms / 1000,
					deadline_ms % 1000 * 1000000 };

	while (lookup->running && clock_ms() < deadline_ms)
		pthread_cond_timedwait(&lookup->ended, &lookup->lock, &until);
}

enum once__lookup_state once__lookup_get(struct once__lookup *lookup,
					 int64_t deadline_ms,
					 struct once__addresses *ret_addresses,
					 char *ret_fault, size_t size)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&lookup->lock);

	(void)lock;
	if (lookup->found.count == 0)
		wait_for_end(lookup, deadline_ms);
	*ret_addresses = lookup->found;
	if (lookup->found.count > 0)
		return ONCE__LOOKUP_FOUND;
	if (lookup->running)
		return ONCE__LOOKUP_RUNNING;
	snprintf(ret_fault, size, "%s", lookup->fault);
	return ONCE__LOOKUP_FAILED;
}
