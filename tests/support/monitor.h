/*
 * monitor.h - a second pair of eyes: a thread of the test that asks Kafka and
 * the database again and again, through clients of its own, whether the promise
 * holds while onced runs:
 *
 *	what Kafka was told is not ahead of the position
 *	a position never goes back
 *	each message before the position has an ending: a claim of one of its
 *	keys, or a parked row
 *	each claim has one effect, and no operation has two (at the end)
 *
 * A server that is down is asked again later. What breaks is kept, and written
 * to stderr at once, for the test may die of something else.
 */
#ifndef TEST_MONITOR_H
#define TEST_MONITOR_H

#include "kafka_fixture.h"

#include <stdbool.h>

struct monitor;

/* The database has its schema. Ownership: the caller's; give it to
 * monitor_destroy(). */
struct monitor *monitor_create(const struct kafka_fixture *kafka,
			       const char *conninfo) ONCE_MUST_CHECK;
/* A message is in Kafka; from now on it must end. The keys may be NULL. */
void monitor_note(struct monitor *monitor, int32_t partition, int64_t offset,
		  const char *msg_id, const char *biz_id);
/* The handler writes no table `effect`: it isn't looked at. */
void monitor_ignore_effects(struct monitor *monitor);
/* What is broken, with the numbers; NULL: nothing so far. The monitor's, and
 * never changed. */
const char *monitor_find_fault(struct monitor *monitor);
/* End the thread and look at all of it once more. What is broken, or NULL. */
const char *monitor_judge(struct monitor *monitor);
/* NULL is allowed. */
void monitor_destroy(struct monitor *monitor);

#endif
