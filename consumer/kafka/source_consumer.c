/*
 * librdkafka's handle. The first one only asks how many partitions there are;
 * the one that joins the group is made for so many.
 */
#include "source_impl.h"

#include "error.h"
#include "kafka_conf.h"
#include "log.h"
#include "log_event.h"

#include <string.h>
#include <syslog.h>

/* ---- what it says ---- */

static void end_fatally(struct source *source)
{
	char text[256];
	rd_kafka_resp_err_t error =
		rd_kafka_fatal_error(source->rk, text, sizeof(text));
	enum source_ending ending = SOURCE_FAILED;
	int running = SOURCE_RUNNING;
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
	atomic_compare_exchange_strong(&source->ending, &running, (int)ending);
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

/* Of one of our topics, which are asked for as well. */
static bool is_of_topic(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	       error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
	       error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

/* What a topic or the group lacks is told for as long as it lasts; the rest
 * passes by itself. */
static void note_trouble(struct source *source, const rd_kafka_message_t *rkm)
{
	if (rkm->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		atomic_store(&source->group_denied, true);
	if (is_of_topic(rkm->err) && rkm->rkt != NULL) {
		source_note_topic(source, rd_kafka_topic_name(rkm->rkt),
				  rkm->err, true);
		return;
	}
	log_often(rd_kafka_err2name(rkm->err), 1, LOG_LEVEL_WARNING, NULL, "%s",
		  rd_kafka_message_errstr(rkm));
	source_set_trouble(source, rd_kafka_message_errstr(rkm));
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

void source_serve_consumer(struct source *source)
{
	rd_kafka_message_t *rkm;

	while ((rkm = rd_kafka_consumer_poll(source->rk, 0)) != NULL)
		meet_event(source, rkm);
}

/* What breaks a connection is in its log as well. */
static bool is_logged_by_librdkafka(int error)
{
	return error == RD_KAFKA_RESP_ERR__TRANSPORT ||
	       error == RD_KAFKA_RESP_ERR__RESOLVE ||
	       error == RD_KAFKA_RESP_ERR__SSL ||
	       error == RD_KAFKA_RESP_ERR__AUTHENTICATION;
}

static void note_error(rd_kafka_t *rk, int error, const char *reason,
		       void *opaque)
{
	struct source *source = opaque;

	if (error == RD_KAFKA_RESP_ERR__FATAL) {
		end_fatally(source);
		return;
	}
	if (!is_logged_by_librdkafka(error))
		kafka_conf_log(rk, LOG_ERR, "ERROR", reason);
	if (error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		source_note_last_words(source, reason);
}

/* ---- made, and in the group ---- */

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

/* The user's, where he has set them. */
static void read_limits(struct source *source)
{
	struct kafka_memory *memory = &source->memory;

	memory->queue_values =
		1024 *
		kafka_conf_get_number(source->rk, "queued.max.messages.kbytes");
	memory->queue_count =
		kafka_conf_get_number(source->rk, "queued.min.messages");
}

enum once_status source_make_consumer(struct source *source,
				      struct once_error *err)
{
	source->rk = create_consumer(source, err);
	if (source->rk == NULL)
		return ONCE_CONFIG;
	read_limits(source);
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

enum once_status source_join(struct source *source, size_t partitions,
			     struct once_error *err)
{
	enum once_status status;

	source_divide_memory(source, partitions);
	rd_kafka_destroy(source->rk);
	source->rk = NULL;
	status = source_make_consumer(source, err);
	if (status == ONCE_OK)
		status = subscribe(source, err);
	return status;
}
