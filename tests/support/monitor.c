/*
 * monitor.c - the thread of monitor.h.
 *
 * The idea: what Kafka was told is read before the positions, so a position
 * that moves meanwhile can't raise a false alarm; positions and endings are
 * read in one snapshot, for one transaction has written both. A message is
 * looked at once, in the round that finds the position behind it, and once more
 * at the end.
 */
#include "monitor.h"

#include "monitor_queries.h"
#include "process.h"

#include <check.h>
#include <clock.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <scope.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PARTITIONS = 64,
	ROUND_MS = 200,
	KAFKA_MS = 1000,
	LAST_MS = 20000, /* that servers may take to answer at the end */
	FAULT_SIZE = 1024
};

/* What is known of a partition. */
struct view {
	int64_t committed; /* in Kafka; -1: nothing, or not asked */
	int64_t position;  /* -1: no row yet */
	size_t judged;     /* messages of `sent` that had an ending */
	struct sent_list sent;
};

struct monitor {
	pthread_t thread;
	pthread_mutex_t mutex; /* of `sent` and all below */
	pthread_cond_t wake;
	bool stopping;
	bool ignores_effects;
	bool is_faulty;
	char fault[FAULT_SIZE]; /* written once, before is_faulty */
	/* The thread's own. */
	struct kafka_fixture kafka; /* names only */
	rd_kafka_t *rk;
	struct monitor_session session;
	struct view views[PARTITIONS];
};

__attribute__((format(printf, 2, 3))) static void find_fault(
	struct monitor *monitor, const char *format, ...)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&monitor->mutex);
	va_list args;

	(void)lock;
	if (monitor->is_faulty)
		return;
	va_start(args, format);
	vsnprintf(monitor->fault, sizeof(monitor->fault), format, args);
	va_end(args);
	monitor->is_faulty = true;
	fprintf(stderr, "monitor: %s\n", monitor->fault);
}

/* ---- Kafka ---- */

static rd_kafka_t *open_client(const struct kafka_fixture *kafka)
{
	const char *const properties[][2] = {
		{ "bootstrap.servers", kafka->bootstrap },
		{ "group.id", kafka->group },
		{ "reconnect.backoff.ms", "50" },
		{ "reconnect.backoff.max.ms", "200" },
		{ "log_level", "0" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;

	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		rd_kafka_conf_set(conf, properties[i][0], properties[i][1],
				  NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	return rk;
}

/* Where messages are known to be. */
static rd_kafka_topic_partition_list_t *list_partitions(struct monitor *monitor)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&monitor->mutex);
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(PARTITIONS);

	(void)lock;
	for (int i = 0; i < PARTITIONS; i++)
		if (monitor->views[i].sent.count > 0)
			rd_kafka_topic_partition_list_add(
				list, monitor->kafka.topic, i);
	return list;
}

static void read_committed(struct monitor *monitor)
{
	rd_kafka_topic_partition_list_t *list = list_partitions(monitor);
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;

	if (list->cnt > 0)
		error = rd_kafka_committed(monitor->rk, list, KAFKA_MS);
	for (int i = 0; i < PARTITIONS; i++)
		monitor->views[i].committed = -1;
	for (int i = 0; i < list->cnt && error == 0; i++)
		if (list->elems[i].err == 0)
			monitor->views[list->elems[i].partition].committed =
				list->elems[i].offset;
	rd_kafka_topic_partition_list_destroy(list);
}

/* ---- a round ---- */

/* False: the database doesn't answer. What it refuses is a fault: a monitor
 * that can't see must not look like one that saw nothing. */
static bool is_answered(struct monitor *monitor, enum monitor_answer answer)
{
	if (answer == MONITOR_REFUSED)
		find_fault(monitor, "it can't ask: %s", monitor->session.error);
	return answer == MONITOR_OK;
}

static void see_position(struct monitor *monitor, int partition,
			 int64_t position)
{
	struct view *view = &monitor->views[partition];
	int64_t committed = view->committed < 0 ? 0 : view->committed;

	if (position < view->position)
		find_fault(monitor,
			   "partition %d: the position went back from %" PRId64
			   " to %" PRId64,
			   partition, view->position, position);
	if (committed > (position < 0 ? 0 : position))
		find_fault(monitor,
			   "partition %d: Kafka was told %" PRId64
			   ", but the position is %" PRId64,
			   partition, committed, position);
	view->position = position;
}

static bool read_positions(struct monitor *monitor)
{
	int64_t positions[PARTITIONS];

	for (int i = 0; i < PARTITIONS; i++)
		positions[i] = -1;
	if (!is_answered(monitor,
			 monitor_session_read_positions(
				 &monitor->session, monitor->kafka.group,
				 monitor->kafka.topic, positions, PARTITIONS)))
		return false;
	for (int i = 0; i < PARTITIONS; i++)
		see_position(monitor, i, positions[i]);
	return true;
}

/* Messages of one producer are noted in the order of their offsets, but not all
 * before the next round: a late one is found by the next look. */
static bool judge_some(struct monitor *monitor, int partition)
{
	struct view *view = &monitor->views[partition];
	struct sent_text text = { 0 };
	struct unended unended = { 0 };
	enum monitor_answer answer = MONITOR_OK;
	size_t end;

	pthread_mutex_lock(&monitor->mutex);
	end = sent_list_write(&view->sent, &text, view->judged, view->position);
	pthread_mutex_unlock(&monitor->mutex);
	if (end > view->judged)
		answer = monitor_session_find_unended(
			&monitor->session, monitor->kafka.topic, partition,
			&text, &unended);
	sent_text_fini(&text);
	if (!is_answered(monitor, answer))
		return false;
	if (unended.count > 0)
		find_fault(monitor,
			   "partition %d: %" PRId64 " messages before the "
			   "position %" PRId64 " have not ended, the first of "
			   "them at %" PRId64,
			   partition, unended.count, view->position,
			   unended.first);
	view->judged = end;
	return true;
}

static bool judge_partition(struct monitor *monitor, int partition)
{
	const struct view *view = &monitor->views[partition];
	size_t before;

	do {
		before = view->judged;
		if (!judge_some(monitor, partition))
			return false;
	} while (view->judged > before);
	return true;
}

static bool judge_partitions(struct monitor *monitor)
{
	for (int i = 0; i < PARTITIONS; i++)
		if (!judge_partition(monitor, i))
			return false;
	return true;
}

/* Nothing is seen, or all of it from one moment. */
static bool look(struct monitor *monitor)
{
	struct monitor_session *session = &monitor->session;

	read_committed(monitor);
	return is_answered(monitor, monitor_session_begin(session)) &&
	       read_positions(monitor) && judge_partitions(monitor) &&
	       is_answered(monitor, monitor_session_end(session));
}

static struct timespec round_end(void)
{
	int64_t at_ns = clock_ns() + (int64_t)ROUND_MS * 1000000;

	return (struct timespec){ at_ns / 1000000000, at_ns % 1000000000 };
}

/* False: it is over. */
static bool rest(struct monitor *monitor)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&monitor->mutex);
	struct timespec until = round_end();

	while (!monitor->stopping &&
	       pthread_cond_timedwait(&monitor->wake, lock, &until) !=
		       ETIMEDOUT)
		;
	return !monitor->stopping;
}

static void *watch(void *arg)
{
	struct monitor *monitor = arg;

	while (rest(monitor))
		look(monitor);
	return NULL;
}

/* ---- from outside ---- */

static void init_wake(pthread_cond_t *wake)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(wake, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct monitor *monitor_create(const struct kafka_fixture *kafka,
			       const char *conninfo)
{
	struct monitor *monitor = calloc(1, sizeof(*monitor));

	ck_assert_ptr_nonnull(monitor);
	monitor->kafka = *kafka;
	monitor->rk = open_client(kafka);
	for (int i = 0; i < PARTITIONS; i++)
		monitor->views[i].position = -1;
	monitor_session_init(&monitor->session, conninfo);
	pthread_mutex_init(&monitor->mutex, NULL);
	init_wake(&monitor->wake);
	ck_assert_int_eq(pthread_create(&monitor->thread, NULL, watch, monitor),
			 0);
	return monitor;
}

void monitor_note(struct monitor *monitor, int32_t partition, int64_t offset,
		  const char *msg_id, const char *biz_id)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&monitor->mutex);

	(void)lock;
	ck_assert_int_lt(partition, PARTITIONS);
	sent_list_add(&monitor->views[partition].sent, offset, msg_id, biz_id);
}

void monitor_ignore_effects(struct monitor *monitor)
{
	monitor->ignores_effects = true;
}

const char *monitor_find_fault(struct monitor *monitor)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&monitor->mutex);

	(void)lock;
	return monitor->is_faulty ? monitor->fault : NULL;
}

static void stop(struct monitor *monitor)
{
	pthread_mutex_lock(&monitor->mutex);
	monitor->stopping = true;
	pthread_cond_signal(&monitor->wake);
	pthread_mutex_unlock(&monitor->mutex);
	pthread_join(monitor->thread, NULL);
}

static bool judge_effects(struct monitor *monitor)
{
	char *wrong = NULL;
	bool is_known = is_answered(
		monitor,
		monitor_session_find_wrong(&monitor->session,
					   !monitor->ignores_effects, &wrong));

	if (wrong != NULL)
		find_fault(monitor, "%s", wrong);
	free(wrong);
	return is_known;
}

static bool judge_all(void *arg)
{
	struct monitor *monitor = arg;

	for (int i = 0; i < PARTITIONS; i++)
		monitor->views[i].judged = 0;
	return monitor_find_fault(monitor) != NULL ||
	       (look(monitor) && judge_effects(monitor));
}

const char *monitor_judge(struct monitor *monitor)
{
	if (!monitor->stopping)
		stop(monitor);
	if (!wait_until(judge_all, monitor, LAST_MS) &&
	    monitor_find_fault(monitor) == NULL)
		find_fault(monitor, "the database didn't answer at the end: %s",
			   monitor->session.error);
	return monitor_find_fault(monitor);
}

void monitor_destroy(struct monitor *monitor)
{
	if (monitor == NULL)
		return;
	if (!monitor->stopping)
		stop(monitor);
	for (int i = 0; i < PARTITIONS; i++)
		sent_list_fini(&monitor->views[i].sent);
	monitor_session_fini(&monitor->session);
	rd_kafka_destroy(monitor->rk);
	pthread_cond_destroy(&monitor->wake);
	pthread_mutex_destroy(&monitor->mutex);
	free(monitor);
}
