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
#include "scope.h"
#include "text.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	TURN_MS = 100
}; /* the longest sleep: timers are coarser */

/* ---- events of the consumer as a whole ---- */

static void end_fatally(struct source *source)
{
	char text[256];
	rd_kafka_resp_err_t error =
		rd_kafka_fatal_error(source->rk, text, sizeof(text));
	enum source_ending ending = SOURCE_FAILED;
	const char *why = "";

	if (error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID &&
	    atomic_load(&source->timed_out)) {
		ending = SOURCE_EXPELLED;
		why = "the session in the group had timed out, and its return "
		      "under the same instance_id was refused; start again: ";
	} else if (error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
		ending = SOURCE_FENCED;
		why = "another process has taken this instance_id: ";
	}
	log_error(NULL, "%s%s", why, text);
	atomic_store(&source->ending, ending);
}

/* Who comes back after a time-out may be fenced by what it said of itself
 * before (librdkafka issue 3437); nobody else has its name. */
static void watch_log(const rd_kafka_t *rk, int level, const char *facility,
		      const char *text)
{
	struct source *source = rd_kafka_opaque(rk);

	if (source != NULL && strcmp(facility, "SESSTMOUT") == 0)
		atomic_store(&source->timed_out, true);
	kafka_conf_log(rk, level, facility, text);
}

/* Told once, and over when the topic is assigned. */
static bool is_of_topic(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	       error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
	       error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* What a person has to mend isn't hidden behind what passes by itself. */
static void note_trouble(struct source *source, const rd_kafka_message_t *rkm)
{
	bool passing = !is_of_topic(rkm->err);

	log_warning(NULL, "%s", rd_kafka_message_errstr(rkm));
	if (passing && source->trouble[0] != '\0' && !source->passing)
		return;
	source_set_trouble(source, rd_kafka_message_errstr(rkm));
	source->passing = passing;
}

/* Takes the message. */
static void meet_event(struct source *source, rd_kafka_message_t *rkm)
{
	struct source_partition *partition;

	if (rkm->err == RD_KAFKA_RESP_ERR__FATAL) {
		end_fatally(source);
	} else if (rkm->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		note_trouble(source, rkm);
	} else {
		/* Never seen: every partition has a queue of its own. */
		partition = source_find(source, rd_kafka_topic_name(rkm->rkt),
					rkm->partition);
		log_error(NULL, "a message came past its partition's queue; "
				"opening the partition again");
		if (partition != NULL && partition->state == PARTITION_RUNNING)
			source_open(source, partition);
	}
	rd_kafka_message_destroy(rkm);
}

static void serve_consumer(struct source *source)
{
	rd_kafka_message_t *rkm;

	while ((rkm = rd_kafka_consumer_poll(source->rk, 0)) != NULL)
		meet_event(source, rkm);
}

static void note_error(rd_kafka_t *rk, int error, const char *reason,
		       void *opaque)
{
	struct source *source = opaque;

	(void)rk;
	if (error == RD_KAFKA_RESP_ERR__FATAL)
		end_fatally(source);
	else
		log_info(LOG_FIELDS(LOG_TEXT("from", "librdkafka")), "%s",
			 reason);
}

/* ---- the consumer ---- */

static rd_kafka_t *create_consumer(struct source *source,
				   struct once_error *err)
{
	rd_kafka_conf_t *conf =
		kafka_conf_create(source->options.cfg, &source->memory, err);
	rd_kafka_t *rk;
	char text[400];

	if (conf == NULL)
		return NULL;
	rd_kafka_conf_set_opaque(conf, source);
	rd_kafka_conf_set_log_cb(conf, watch_log);
	rd_kafka_conf_set_rebalance_cb(conf, source_rebalance);
	rd_kafka_conf_set_offset_commit_cb(conf, source_note_commit);
	rd_kafka_conf_set_error_cb(conf, note_error);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	if (rk == NULL) {
		rd_kafka_conf_destroy(conf);
		error_set(err, ONCE_CONFIG, "could not make a consumer: %s",
			  text);
		return NULL;
	}
	rd_kafka_poll_set_consumer(rk);
	return rk;
}

static void wake_on_events(struct source *source)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(source->rk);

	rd_kafka_queue_io_event_enable(queue, source->wake_fd,
				       "\1\0\0\0\0\0\0\0", 8);
	rd_kafka_queue_destroy(queue);
}

static enum once_status open_consumer(struct source *source,
				      struct once_error *err)
{
	source->rk = create_consumer(source, err);
	if (source->rk == NULL)
		return ONCE_CONFIG;
	wake_on_events(source);
	return kafka_conf_check(source->rk, err);
}

static rd_kafka_topic_partition_list_t *list_topics(const struct config *cfg)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(8);

	for (size_t i = 0; i < cfg->route_count; i++)
		for (size_t k = 0; k < cfg->routes[i].topic_count; k++)
			rd_kafka_topic_partition_list_add(
				list, cfg->routes[i].topics[k],
				RD_KAFKA_PARTITION_UA);
	return list;
}

static enum once_status subscribe(struct source *source, struct once_error *err)
{
	rd_kafka_topic_partition_list_t *list =
		list_topics(source->options.cfg);
	rd_kafka_resp_err_t error = rd_kafka_subscribe(source->rk, list);

	rd_kafka_topic_partition_list_destroy(list);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG, "could not subscribe: %s",
			 rd_kafka_err2str(error));
}

/* The handle that has asked joins no group. */
static enum once_status join(struct source *source, size_t partitions,
			     struct once_error *err)
{
	enum once_status status;

	source_divide_memory(source, partitions);
	rd_kafka_destroy(source->rk);
	source->rk = NULL;
	status = open_consumer(source, err);
	if (status == ONCE_OK)
		status = subscribe(source, err);
	return status;
}

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

static void turn(struct source *source)
{
	serve_consumer(source);
	source_take_reports(source);
	source_resolve_starts(source);
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
	size_t partitions;

	while (is_running(source) &&
	       !source_count_partitions(source, &partitions)) {
		serve_consumer(source); /* it tells why there is no answer */
		source_publish_on_timer(source);
	}
	if (!is_running(source) || join(source, partitions, &err) == ONCE_OK)
		return;
	log_error(NULL, "%s", err.text);
	atomic_store(&source->ending, SOURCE_FAILED);
}

static void *run_source(void *arg)
{
	struct source *source = arg;
	int running = SOURCE_RUNNING;

	join_when_answered(source);
	while (is_running(source)) {
		turn(source);
		sleep_until_woken(source);
	}
	if (source->rk != NULL)
		rd_kafka_consumer_close(source->rk); /* source_rebalance() */
	source_let_go(source);
	if (source->rk != NULL &&
	    atomic_load(&source->ending) == SOURCE_RUNNING) {
		wait_for_parcels(source);
		rd_kafka_destroy(source->rk);
		source->rk = NULL;
	}
	atomic_compare_exchange_strong(&source->ending, &running,
				       SOURCE_STOPPED);
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
	kafka_memory_divide(options->cfg, 1, &source->memory);
	if (status == ONCE_OK)
		status = open_consumer(source, err);
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
	free(source->pulled);
	free(source);
}
