/*
 * The way of a consumer, on a handle that never subscribes: the brokers that
 * are configured, the topics, and the brokers that lead their partitions, each
 * by the name that Kafka advertises. A name that only the cluster itself can
 * resolve is the usual reason why everything seems to be well and nothing
 * comes.
 *
 * librdkafka's error codes say that something failed; why, it says in its
 * complaints, of which the most telling are kept.
 */
#include "kafka_check_impl.h"

#include "clock.h"
#include "error.h"
#include "kafka_conf.h"
#include "kafka_range.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REACH_MS = 10000, /* for the first answer */
	SLICE_MS = 1000,
	LEADER_MS = 5000
};

void kafka_check_tell(struct kafka_check *check, enum once_status status,
		      const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	check->told(check->arg, status, text);
}

int kafka_check_left_ms(const struct kafka_check *check, int most_ms)
{
	int64_t left_ms = check->end_ms - clock_ms();

	if (left_ms < 0)
		return 0;
	return left_ms < most_ms ? (int)left_ms : most_ms;
}

/* ---- complaints ---- */

/* By a server that is there. That the wrong protocol is spoken, librdkafka can
 * only guess, and says so by the property's name. */
static bool is_refusal_by(int error, const char *reason)
{
	return error == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
	       error == RD_KAFKA_RESP_ERR__SSL ||
	       strstr(reason, "security.protocol") != NULL;
}

static void take_error(rd_kafka_t *rk, int error, const char *reason,
		       void *opaque)
{
	struct kafka_check *check = opaque;
	bool is_refusal = is_refusal_by(error, reason);

	(void)rk;
	if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		return;
	snprintf(check->reasons[check->reason_count++ % KAFKA_REASONS],
		 KAFKA_REASON_SIZE, "%s", reason);
	if (check->is_refused && !is_refusal)
		return;
	check->is_refused = is_refusal;
	snprintf(check->reason, sizeof(check->reason), "%s", reason);
}

/* The newest one about this broker; NULL: none. */
static const char *reason_of(const struct kafka_check *check, const char *host,
			     int port)
{
	size_t oldest = check->reason_count < KAFKA_REASONS
				? 0
				: check->reason_count - KAFKA_REASONS;
	char address[300];

	snprintf(address, sizeof(address), "%s:%d", host, port);
	for (size_t i = check->reason_count; i > oldest; i--) {
		const char *reason = check->reasons[(i - 1) % KAFKA_REASONS];

		if (strstr(reason, address) != NULL)
			return reason;
	}
	return NULL;
}

/* ---- the brokers that are configured ---- */

/* NULL: nobody has answered. */
static const rd_kafka_metadata_t *reach(struct kafka_check *check)
{
	int64_t end_ms = clock_ms() + kafka_check_left_ms(check, REACH_MS);
	const rd_kafka_metadata_t *metadata = NULL;
	rd_kafka_resp_err_t error;

	do {
		error = rd_kafka_metadata(check->rk, 1, NULL, &metadata,
					  SLICE_MS);
		rd_kafka_poll(check->rk, 10); /* it knows more than that */
	} while (error != RD_KAFKA_RESP_ERR_NO_ERROR && !check->is_refused &&
		 clock_ms() < end_ms);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return metadata;
	kafka_check_tell(check, ONCE_TRANSIENT,
			 "could not reach Kafka at \"%s\": %s; look at "
			 "kafka.brokers, at security.protocol, and at what the "
			 "brokers advertise",
			 check->cfg->kafka.brokers,
			 check->reason[0] == '\0' ? rd_kafka_err2str(error)
						  : check->reason);
	return NULL;
}

/* ---- the topics ---- */

static const rd_kafka_metadata_topic_t *find_topic(
	const rd_kafka_metadata_t *metadata, const char *name)
{
	for (int i = 0; i < metadata->topic_cnt; i++)
		if (strcmp(metadata->topics[i].topic, name) == 0)
			return &metadata->topics[i];
	return NULL;
}

/* The list of all topics leaves out those that may not be seen; asked for one
 * of them, a broker says so. */
static rd_kafka_resp_err_t ask_for_topic(struct kafka_check *check,
					 const char *name)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(check->rk, name, NULL);
	const rd_kafka_metadata_t *metadata = NULL;
	rd_kafka_resp_err_t error;

	if (topic == NULL)
		return rd_kafka_last_error();
	error = rd_kafka_metadata(check->rk, 0, topic, &metadata,
				  kafka_check_left_ms(check, LEADER_MS));
	if (metadata != NULL) {
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    metadata->topic_cnt == 1)
			error = metadata->topics[0].err;
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(topic);
	return error;
}

static void tell_missing(struct kafka_check *check, const char *name)
{
	rd_kafka_resp_err_t error = ask_for_topic(check, name);

	if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		kafka_check_tell(check, ONCE_DENIED,
				 "this user may not see topic \"%s\"; grant it "
				 "READ and DESCRIBE on the topic",
				 name);
	else
		kafka_check_tell(check, ONCE_CONFIG,
				 "Kafka has no topic \"%s\", or this user may "
				 "not see it; create it, correct "
				 "handlers[].topics, or grant READ and "
				 "DESCRIBE on the topic",
				 name);
}

static void check_topics(struct kafka_check *check,
			 const rd_kafka_metadata_t *metadata)
{
	const struct config *cfg = check->cfg;

	for (size_t i = 0; i < cfg->route_count; i++)
		for (size_t k = 0; k < cfg->routes[i].topic_count; k++) {
			const char *name = cfg->routes[i].topics[k];
			const rd_kafka_metadata_topic_t *topic =
				find_topic(metadata, name);

			if (topic == NULL ||
			    topic->err != RD_KAFKA_RESP_ERR_NO_ERROR)
				tell_missing(check, name);
			else
				check->topics[check->topic_count++] = name;
		}
}

static void check_memory(struct kafka_check *check,
			 const rd_kafka_metadata_t *metadata)
{
	struct kafka_memory memory;
	struct once_error err;
	size_t partitions = 0;

	for (size_t i = 0; i < check->topic_count; i++)
		partitions += (size_t)find_topic(metadata, check->topics[i])
				      ->partition_cnt;
	kafka_memory_divide(check->cfg, partitions, false, &memory);
	if (kafka_memory_check(check->cfg, &memory, &err) != ONCE_OK)
		kafka_check_tell(check, ONCE_CONFIG, "%s", err.text);
}

/* ---- the brokers that lead ---- */

struct led {
	const char *topic; /* one of its partitions; NULL: none of ours */
	int32_t partition;
	int count; /* of ours */
};

static int index_of_broker(const rd_kafka_metadata_t *metadata, int32_t id)
{
	for (int i = 0; i < metadata->broker_cnt; i++)
		if (metadata->brokers[i].id == id)
			return i;
	return -1;
}

static void share_out(struct kafka_check *check,
		      const rd_kafka_metadata_t *metadata,
		      const rd_kafka_metadata_topic_t *topic, struct led *led)
{
	for (int i = 0; i < topic->partition_cnt; i++) {
		const rd_kafka_metadata_partition_t *partition =
			&topic->partitions[i];
		int broker = index_of_broker(metadata, partition->leader);

		if (broker < 0) {
			kafka_check_tell(check, ONCE_TRANSIENT,
					 "%s[%d] has no leader now: no broker "
					 "that has it is up",
					 topic->topic, (int)partition->id);
			continue;
		}
		led[broker].topic = topic->topic;
		led[broker].partition = partition->id;
		led[broker].count++;
	}
}

static void check_broker(struct kafka_check *check,
			 const rd_kafka_metadata_broker_t *broker,
			 const struct led *led, int share_ms)
{
	int64_t end_ms = clock_ms() + share_ms;
	const char *reason = NULL;
	rd_kafka_resp_err_t error;
	int64_t first;
	int64_t end;

	do {
		error = kafka_ask_range(check->rk, led->topic, led->partition,
					SLICE_MS, &first, &end);
		rd_kafka_poll(check->rk, 10);
		reason = reason_of(check, broker->host, broker->port);
	} while ((error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
		  error == RD_KAFKA_RESP_ERR__TRANSPORT) &&
		 reason == NULL && clock_ms() < end_ms);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR ||
	    error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		return;
	kafka_check_tell(check, ONCE_TRANSIENT,
			 "could not reach broker %d, which leads %d of the "
			 "partitions, by its advertised name \"%s:%d\": %s",
			 (int)broker->id, led->count, broker->host,
			 broker->port,
			 reason == NULL ? rd_kafka_err2str(error) : reason);
}

/* Those that aren't there take their share of the time; the others don't. */
static void check_leaders(struct kafka_check *check,
			  const rd_kafka_metadata_t *metadata)
{
	int count = metadata->broker_cnt;
	struct led *led = calloc((size_t)count + 1, sizeof(*led));

	if (led == NULL)
		return;
	for (size_t i = 0; i < check->topic_count; i++)
		share_out(check, metadata,
			  find_topic(metadata, check->topics[i]), led);
	for (int i = 0; i < count; i++)
		if (led[i].topic != NULL)
			check_broker(check, &metadata->brokers[i], &led[i],
				     kafka_check_left_ms(check, LEADER_MS) / 2);
	free(led);
}

/* ---- all of it ---- */

static void run(struct kafka_check *check)
{
	const rd_kafka_metadata_t *metadata = reach(check);

	if (metadata == NULL)
		return;
	check_topics(check, metadata);
	check_memory(check, metadata);
	check_leaders(check, metadata);
	kafka_check_rights(check);
	rd_kafka_metadata_destroy(metadata);
}

static size_t count_topics(const struct config *cfg)
{
	size_t count = 0;

	for (size_t i = 0; i < cfg->route_count; i++)
		count += cfg->routes[i].topic_count;
	return count;
}

static enum once_status open_handle(struct kafka_check *check,
				    struct once_error *err)
{
	enum once_status status =
		kafka_conf_check_version(rd_kafka_version(), err);
	rd_kafka_conf_t *conf;
	char text[400];

	if (status != ONCE_OK)
		return status;
	check->topics =
		calloc(count_topics(check->cfg) + 1, sizeof(*check->topics));
	conf = kafka_conf_create(check->cfg, NULL, err);
	if (check->topics == NULL || conf == NULL)
		return conf == NULL ? ONCE_CONFIG : error_no_memory(err);
	/* Nobody is to take it for the member of that name. */
	(void)rd_kafka_conf_set(conf, "group.instance.id", "", NULL, 0);
	rd_kafka_conf_set_opaque(conf, check);
	rd_kafka_conf_set_error_cb(conf, take_error);
	check->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	if (check->rk != NULL)
		return ONCE_OK;
	rd_kafka_conf_destroy(conf);
	return error_set(err, ONCE_CONFIG, "could not make a consumer: %s",
			 text);
}

void kafka_check(const struct config *cfg, int timeout_ms, kafka_check_f *told,
		 void *arg)
{
	struct kafka_check check = { .cfg = cfg,
				     .told = told,
				     .arg = arg,
				     .end_ms = clock_ms() + timeout_ms };
	struct once_error err;
	enum once_status status = open_handle(&check, &err);

	if (status == ONCE_OK)
		run(&check);
	else
		kafka_check_tell(&check, status, "%s", err.text);
	if (check.rk != NULL && !check.never_ends)
		rd_kafka_destroy_flags(check.rk,
				       RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	free(check.topics);
}
