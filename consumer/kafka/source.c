/*
 * The source thread. It sleeps on one eventfd that librdkafka's queues, the
 * lanes' reports and a stop all write to, and then does everything that can be
 * done without waiting.
 */
#include "source_impl.h"

#include "clock.h"
#include "error.h"
#include "kafka_conf.h"
#include "log.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	TURN_MS = 100 /* the longest sleep: timers are coarser */
};

/* ---- the loop ---- */

static void sleep_until_woken(struct source *source)
{
	struct pollfd fd = { source->wake_fd, POLLIN, 0 };
	uint64_t count;

	if (poll(&fd, 1, TURN_MS) > 0 &&
	    read(source->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_error(NULL, "could not read the eventfd");
}

static bool is_running(struct source *source)
{
	return atomic_load(&source->ending) == SOURCE_RUNNING &&
	       !atomic_load(&source->stopping);
}

rd_kafka_queue_t *source_make_queue(struct source *source)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(source->rk);

	rd_kafka_queue_io_event_enable(queue, source->wake_fd,
				       "\1\0\0\0\0\0\0\0", 8);
	return queue;
}

static void turn(struct source *source)
{
	source_serve_consumer(source);
	source_keep_contact(source);
	source_ask_for_topics(source);
	source_take_reports(source);
	source_resolve_starts(source);
	source_identify(source);
	source_judge_absent(source);
	source_rest_on_timer(source);
	source_assign_ready(source);
	source_pull(source);
	source_refill(source);
	source_commit_on_timer(source);
	source_watch_on_timer(source);
	source_publish_on_timer(source);
}

/* All messages must be back before the handle can be destroyed. */
static void wait_for_parcels(struct source *source)
{
	while (source->parcels_out > 0) {
		sleep_until_woken(source);
		source_take_reports(source);
	}
}

static void join_when_answered(struct source *source)
{
	struct once_error err;

	source_note_question(source);
	while (is_running(source) && !source_count_partitions(source)) {
		source_serve_consumer(
			source); /* it tells why there is no answer */
		source_judge_contact(source);
		source_publish_on_timer(source);
		source_note_question(source);
	}
	if (!is_running(source) ||
	    source_join(source, source->partition_count, &err) == ONCE_OK)
		return;
	log_error(NULL, "%s", err.text);
	atomic_store(&source->ending, SOURCE_FAILED);
}

/* Out of the group, with all messages back: nobody waits for the rest, and the
 * rest may never come. After a topic has vanished, librdkafka 2.0.2 doesn't
 * return from rd_kafka_destroy(); so it is called last. */
static void leave(struct source *source)
{
	int running = SOURCE_RUNNING;

	if (source->rk != NULL)
		rd_kafka_consumer_close(source->rk); /* source_rebalance() */
	source_let_go(source);
	if (atomic_load(&source->ending) != SOURCE_RUNNING)
		return;
	wait_for_parcels(source);
	if (!atomic_compare_exchange_strong(&source->ending, &running,
					    SOURCE_STOPPED))
		return;
	if (source->rk == NULL)
		return;
	if (source->contacts != NULL)
		rd_kafka_queue_destroy(source->contacts);
	if (source->policies != NULL)
		rd_kafka_queue_destroy(source->policies);
	if (source->identities != NULL)
		rd_kafka_queue_destroy(source->identities);
	rd_kafka_destroy(source->rk);
	source->rk = NULL;
}

static void *run_source(void *arg)
{
	struct source *source = arg;

	join_when_answered(source);
	while (is_running(source)) {
		turn(source);
		sleep_until_woken(source);
	}
	leave(source);
	atomic_store(&source->left, true);
	return NULL;
}

/* ---- made and unmade by main ---- */

enum once_status source_create(const struct source_options *options,
			       struct source **ret_source,
			       struct once_error *err)
{
	struct source *source = calloc(1, sizeof(*source));
	enum once_status status =
		kafka_conf_check_version(rd_kafka_version(), err);

	if (source == NULL)
		return error_no_memory(err);
	source->options = *options;
	source->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	mailbox_init(&source->reports, source->wake_fd);
	pthread_mutex_init(&source->mutex, NULL);
	atomic_store(&source->moved_at_ms, clock_ms());
	source->pulled =
		calloc(PARCEL_MOST_BATCHES * options->cfg->batch.max_messages,
		       sizeof(rd_kafka_message_t *));
	if (status == ONCE_OK && source->pulled == NULL)
		status = error_no_memory(err);
	kafka_memory_divide(options->cfg, 1, options->careful, &source->memory);
	if (status == ONCE_OK)
		status = source_list_topics(source, err);
	if (status == ONCE_OK)
		status = source_make_consumer(source, err);
	if (status != ONCE_OK) {
		source_destroy(source);
		return status;
	}
	*ret_source = source;
	return ONCE_OK;
}

struct mailbox *source_reports(struct source *source)
{
	return &source->reports;
}

static struct source_lane *list_lanes(struct mailbox *const *orders,
				      unsigned count)
{
	struct source_lane *lanes = calloc(count, sizeof(*lanes));

	for (unsigned i = 0; lanes != NULL && i < count; i++)
		lanes[i].orders = orders[i];
	return lanes;
}

enum once_status source_start(struct source *source,
			      struct mailbox *const *lanes,
			      struct once_error *err)
{
	source->lanes = list_lanes(lanes, source->options.cfg->lanes);
	if (source->lanes == NULL)
		return error_no_memory(err);
	if (pthread_create(&source->thread, NULL, run_source, source) != 0)
		return error_set(err, ONCE_TRANSIENT,
				 "could not start a thread");
	source->started = true;
	return ONCE_OK;
}

void source_stop(struct source *source)
{
	uint64_t one = 1;

	atomic_store(&source->stopping, true);
	if (write(source->wake_fd, &one, sizeof(one)) < 0)
		return; /* full: it is awake */
}

enum source_ending source_ending(struct source *source)
{
	return (enum source_ending)atomic_load(&source->ending);
}

bool source_has_ended(const struct source *source)
{
	return atomic_load(&source->left);
}

/* It waits for parcels alone; what else lanes had to say has come too late. */
static void free_late_reports(struct source *source)
{
	struct mail *mail = mailbox_take(&source->reports, 0);

	while (mail != NULL) {
		struct mail *next = mail->next;

		free(mail);
		mail = next;
	}
}

void source_destroy(struct source *source)
{
	if (source == NULL)
		return;
	if (source->started)
		pthread_join(source->thread, NULL);
	free_late_reports(source);
	if (source->rk != NULL && !source->started)
		rd_kafka_destroy(source->rk);
	while (source->partitions != NULL) {
		struct source_partition *partition = source->partitions;

		source->partitions = partition->next;
		partition_destroy(partition);
	}
	mailbox_fini(&source->reports);
	pthread_mutex_destroy(&source->mutex);
	close(source->wake_fd);
	free(source->lanes);
	free(source->views);
	free(source->topics);
	free(source->pulled);
	free(source);
}
