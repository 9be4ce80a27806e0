/*
 * bench_clock.c - loaded into onced by LD_PRELOAD: when COMMIT was answered,
 * for each message.
 *
 * The idea: it stands between onced and libpq. What a thread handles is kept
 * until that thread gets the answer COMMIT. The database's own time of a
 * commit (track_commit_timestamp) won't do: it is taken before the disk is
 * waited for.
 */
#define _GNU_SOURCE
#include "bench_clock.h"

#include <clock.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MOST_MESSAGES = 5000 /* of a transaction */
};

typedef PGresult *get_result_f(PGconn *conn);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static get_result_f *get_result; /* libpq's */
static int file = -1;

static _Thread_local struct moment handled[MOST_MESSAGES];
static _Thread_local size_t handled_count;

/* onced would go on without its times; the bench is to see it end. */
static void fail(const char *why)
{
	fprintf(stderr, "bench_clock: %s\n", why);
	abort();
}

static void init(void)
{
	const char *path = getenv(BENCH_CLOCK_FILE);
	void *symbol = dlsym(RTLD_NEXT, "PQgetResult");

	if (symbol == NULL)
		fail("there is no PQgetResult to stand before");
	memcpy(&get_result, &symbol, sizeof(get_result));
	if (path != NULL)
		file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			    0600);
}

/* Until COMMIT each time is where it begins. */
void bench_clock_note(int64_t sent_ns, int64_t broker_ms)
{
	if (handled_count == MOST_MESSAGES)
		fail("a transaction has too many messages");
	handled[handled_count++] = (struct moment){
		.began_ns = sent_ns,
		.took_ns = { [SINCE_BROKER] = broker_ms * 1000000,
			     [SINCE_SENT] = sent_ns,
			     [SINCE_HANDLED] = clock_ns() },
	};
}

static void end_moment(struct moment *moment, int64_t now_ns, int64_t unix_ns)
{
	for (size_t i = 0; i < SINCE_COUNT; i++)
		moment->took_ns[i] = (i == SINCE_BROKER ? unix_ns : now_ns) -
				     moment->took_ns[i];
}

static void write_moments(void)
{
	int64_t now_ns = clock_ns();
	int64_t unix_ns = clock_ns_of(CLOCK_REALTIME);
	size_t size = handled_count * sizeof(handled[0]);

	for (size_t i = 0; i < handled_count; i++)
		end_moment(&handled[i], now_ns, unix_ns);
	if (size > 0 && write(file, handled, size) != (ssize_t)size)
		fail("could not write the times");
}

__attribute__((visibility("default"))) PGresult *PQgetResult(PGconn *conn)
{
	PGresult *res;
	const char *tag;

	pthread_once(&once, init);
	res = get_result(conn);
	tag = res == NULL ? "" : PQcmdStatus(res);
	if (strcmp(tag, "COMMIT") == 0)
		write_moments();
	if (strcmp(tag, "COMMIT") == 0 || strcmp(tag, "ROLLBACK") == 0)
		handled_count = 0;
	return res;
}
