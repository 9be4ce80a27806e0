/* An exclusive lock that costs a statement, and only those who met a deadlock.
 */
#include "turns.h"

#include "clock.h"
#include "pg_array.h"

#include <time.h>

enum {
	FIRST_MS = 10000,
	PROBE_MS = 5000,
	LOOSE_MS = 5000,
	LOOK_NS = 2000000,
	MOST_DOUBLED = 6
};

/* A limit on lock waits isn't meant for who waits in a queue of his own. The
 * target list is worked off from left to right. */
static const char take_sql[] =
	"WITH was AS MATERIALIZED "
	"(SELECT pg_catalog.current_setting('lock_timeout') AS value) "
	"SELECT pg_catalog.set_config('lock_timeout', '0', true), "
	"pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('onced "
	"turn', $1::int8)), "
	"pg_catalog.set_config('lock_timeout', value, true) FROM was";

void once__turns_init(struct once__turns *turns)
{
	pthread_mutex_init(&turns->mutex, NULL);
	pthread_cond_init(&turns->ended, NULL);
	atomic_flag_clear(&turns->probing);
}

void once__turns_fini(struct once__turns *turns)
{
	pthread_cond_destroy(&turns->ended);
	pthread_mutex_destroy(&turns->mutex);
}

static int64_t span_ms(unsigned level)
{
	return (int64_t)FIRST_MS << level;
}

/* One of several that met the same deadlock is enough. */
void once__turns_meet(struct once__turns *turns, int64_t now_ms)
{
	long long until_ms = atomic_load(&turns->until_ms);
	unsigned level = atomic_load(&turns->level);

	if (now_ms < until_ms)
		return;
	if (until_ms == 0 || now_ms > until_ms + span_ms(level))
		level = 0;
	else if (level < MOST_DOUBLED)
		level++;
	if (atomic_compare_exchange_strong(&turns->until_ms, &until_ms,
					   now_ms + span_ms(level)))
		atomic_store(&turns->level, level);
}

bool once__turns_are_taken(const struct once__turns *turns, int64_t now_ms)
{
	long long until_ms = atomic_load(&turns->until_ms);

	return until_ms != 0 && now_ms < until_ms + PROBE_MS;
}

bool once__turns_begin_probe(struct once__turns *turns, int64_t now_ms)
{
	return now_ms >= atomic_load(&turns->until_ms) &&
	       !atomic_flag_test_and_set(&turns->probing);
}

void once__turns_end_probe(struct once__turns *turns)
{
	atomic_flag_clear(&turns->probing);
}

bool once__turns_are_on(const struct once__turns *turns, int64_t now_ms)
{
	long long until_ms = atomic_load(&turns->until_ms);

	return until_ms != 0 &&
	       now_ms < until_ms + span_ms(atomic_load(&turns->level));
}

void once__turns_begin(struct once__turns *turns)
{
	static const struct timespec a_moment = { 0, LOOK_NS };
	int64_t end_ms;
	unsigned number;

	pthread_mutex_lock(&turns->mutex);
	number = turns->drawn++;
	while (turns->serving != number)
		pthread_cond_wait(&turns->ended, &turns->mutex);
	pthread_mutex_unlock(&turns->mutex);
	end_ms = clock_ms() + LOOSE_MS;
	while (atomic_load(&turns->loose) > 0 && clock_ms() < end_ms)
		nanosleep(&a_moment, NULL);
}

void once__turns_end(struct once__turns *turns)
{
	pthread_mutex_lock(&turns->mutex);
	turns->serving++;
	pthread_cond_broadcast(&turns->ended);
	pthread_mutex_unlock(&turns->mutex);
}

void once__turns_take(struct once__pg *pg, int64_t consumer_id)
{
	char number[24];

	once__pg_send(pg, ONCE__PG_OURS, take_sql,
		      ONCE_PARAMS(once__pg_int8(number, consumer_id)));
}
