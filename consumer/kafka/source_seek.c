/* A place in a topic ("earliest", a time) becomes offsets, and only while
 * nobody of the group reads: who reads would move on from where it is. */
#define _XOPEN_SOURCE 700 /* strptime() */
#include "source_seek_impl.h"

#include "clock.h"
#include "error.h"
#include "kafka_conf.h"
#include "kafka_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- "earliest", "latest", "group", "1042", "@2026-01-31T12:00:00Z",
 * "@1769860800000" */

enum place_kind {
	PLACE_EARLIEST,
	PLACE_LATEST,
	PLACE_GROUP,
	PLACE_OFFSET,
	PLACE_TIME
};

struct place {
	enum place_kind kind;
	int64_t number; /* an offset, or ms since 1970 */
};

static bool parse_number(const char *text, int64_t *ret_number)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*ret_number = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool parse_time(const char *text, int64_t *ret_time_ms)
{
	struct tm tm = { 0 };
	const char *end;

	if (parse_number(text, ret_time_ms))
		return true;
	end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (end == NULL || *end != '\0')
		return false;
	*ret_time_ms = (int64_t)timegm(&tm) * 1000;
	return true;
}

static enum once_status parse_place(const char *text, struct place *place,
				    struct once_error *err)
{
	place->kind = strcmp(text, "earliest") == 0 ? PLACE_EARLIEST
		      : strcmp(text, "latest") == 0 ? PLACE_LATEST
		      : strcmp(text, "group") == 0  ? PLACE_GROUP
		      : text[0] == '@'              ? PLACE_TIME
						    : PLACE_OFFSET;
	if ((place->kind == PLACE_TIME &&
	     !parse_time(text + 1, &place->number)) ||
	    (place->kind == PLACE_OFFSET &&
	     !parse_number(text, &place->number)))
		return error_set(err, ONCE_INVALID,
				 "--to \"%s\": write earliest, latest, group, "
				 "an offset, or a time in UTC such as "
				 "@2026-01-31T12:00:00Z (or @ and ms since "
				 "1970)",
				 text);
	return ONCE_OK;
}

/* ---- asking ---- */

enum once_status seek_not_answered(rd_kafka_resp_err_t error,
				   struct once_error *err)
{
	return error_set(err, ONCE_TRANSIENT, "Kafka doesn't answer: %s",
			 rd_kafka_err2str(error));
}

static enum once_status count_partitions(rd_kafka_t *rk, const char *topic,
					 size_t *ret_count,
					 struct once_error *err)
{
	rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
	const rd_kafka_metadata_t *metadata = NULL;
	rd_kafka_resp_err_t error =
		rd_kafka_metadata(rk, 0, handle, &metadata, SEEK_ASK_MS);
	enum once_status status = ONCE_OK;

	rd_kafka_topic_destroy(handle);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return seek_not_answered(error, err);
	*ret_count = metadata->topic_cnt == 1
			     ? (size_t)metadata->topics[0].partition_cnt
			     : 0;
	if (*ret_count == 0)
		status = error_set(err, ONCE_INVALID,
				   "Kafka has no topic \"%s\"", topic);
	rd_kafka_metadata_destroy(metadata);
	return status;
}

/* `ret_offset`: the first message of that time or later; the end, if all are
 * older. */
static enum once_status find_time(rd_kafka_t *rk, const char *topic,
				  int32_t partition, int64_t time_ms,
				  int64_t *ret_offset, struct once_error *err)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_resp_err_t error;

	rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
		time_ms;
	error = rd_kafka_offsets_for_times(rk, list, SEEK_ASK_MS);
	if (list->elems[0].offset >= 0)
		*ret_offset = list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return error == RD_KAFKA_RESP_ERR_NO_ERROR
		       ? ONCE_OK
		       : seek_not_answered(error, err);
}

/* -1: the group has committed none. */
static enum once_status find_committed(rd_kafka_t *rk, const char *topic,
				       int32_t partition, int64_t *ret_offset,
				       struct once_error *err)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_resp_err_t error;

	rd_kafka_topic_partition_list_add(list, topic, partition);
	error = rd_kafka_committed(rk, list, SEEK_ASK_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = list->elems[0].err;
	*ret_offset = list->elems[0].offset >= 0 ? list->elems[0].offset : -1;
	rd_kafka_topic_partition_list_destroy(list);
	return error == RD_KAFKA_RESP_ERR_NO_ERROR
		       ? ONCE_OK
		       : seek_not_answered(error, err);
}

static enum once_status check_offset(const char *topic, int32_t partition,
				     int64_t offset, int64_t first, int64_t end,
				     struct once_error *err)
{
	if (offset >= first && offset <= end)
		return ONCE_OK;
	return error_set(err, ONCE_INVALID,
			 "%s[%d] has no offset %lld, Kafka has %lld to %lld",
			 topic, (int)partition, (long long)offset,
			 (long long)first, (long long)end);
}

/* What a retention remembers for sure; 0: forever. */
static enum once_status find_remembered(const struct seeking *seeking,
					int32_t partition, int64_t end,
					int64_t *ret_offset,
					struct once_error *err)
{
	int64_t retention_ms = seeking->cfg->retention_ms;
	int64_t time_ms = clock_unix_ms() - retention_ms;

	*ret_offset = 0;
	if (retention_ms < 0 || time_ms < 0)
		return ONCE_OK;
	*ret_offset = end;
	return find_time(seeking->rk, seeking->request->topic, partition,
			 time_ms, ret_offset, err);
}

static enum once_status find_offset(const struct seeking *seeking,
				    int32_t partition,
				    const struct place *place, int64_t first,
				    int64_t end, int64_t *ret_offset,
				    struct once_error *err)
{
	const char *topic = seeking->request->topic;
	enum once_status status = ONCE_OK;

	*ret_offset = place->kind == PLACE_EARLIEST ? first : end;
	if (place->kind == PLACE_TIME)
		return find_time(seeking->rk, topic, partition, place->number,
				 ret_offset, err);
	if (place->kind == PLACE_GROUP)
		status = find_committed(seeking->rk, topic, partition,
					ret_offset, err);
	else if (place->kind == PLACE_OFFSET)
		*ret_offset = place->number;
	if (status != ONCE_OK || *ret_offset < 0)
		return status;
	return check_offset(topic, partition, *ret_offset, first, end, err);
}

static enum once_status find_place(struct seeking *seeking, int32_t partition,
				   const struct place *place,
				   struct once_error *err)
{
	struct seek_place *found = &seeking->places[partition];
	struct seek_range *range = &seeking->ranges[partition];
	enum once_status status;
	rd_kafka_resp_err_t error =
		kafka_ask_range(seeking->rk, seeking->request->topic, partition,
				SEEK_ASK_MS, &range->first, &range->end);

	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return seek_not_answered(error, err);
	status = find_offset(seeking, partition, place, range->first,
			     range->end, &found->offset, err);
	if (status != ONCE_OK)
		return status;
	return find_remembered(seeking, partition, range->end,
			       &found->remembered, err);
}

static enum once_status check_any(const struct seeking *seeking,
				  struct once_error *err)
{
	for (size_t i = 0; i < seeking->count; i++)
		if (seeking->places[i].offset >= 0)
			return ONCE_OK;
	return error_set(err, ONCE_INVALID,
			 "group \"%s\" has no offset in Kafka for \"%s\"",
			 seeking->cfg->kafka.group, seeking->request->topic);
}

static enum once_status find_places(struct seeking *seeking,
				    const struct place *place,
				    struct once_error *err)
{
	int32_t only = seeking->request->partition;
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < seeking->count && status == ONCE_OK; i++) {
		seeking->places[i].offset = -1;
		if (only < 0 || (size_t)only == i)
			status = find_place(seeking, (int32_t)i, place, err);
	}
	return status == ONCE_OK ? check_any(seeking, err) : status;
}

/* ---- the group's members ---- */

static size_t count_members(const rd_kafka_event_t *event)
{
	const rd_kafka_DescribeConsumerGroups_result_t *result =
		rd_kafka_event_DescribeConsumerGroups_result(
			(rd_kafka_event_t *)(uintptr_t)event);
	const rd_kafka_ConsumerGroupDescription_t **groups;
	size_t count = 0;

	if (result == NULL)
		return 0;
	groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
	return count == 0 ? 0
			  : rd_kafka_ConsumerGroupDescription_member_count(
				    groups[0]);
}

static enum once_status check_members(rd_kafka_t *rk, const char *group,
				      struct once_error *err)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
	rd_kafka_event_t *event;
	size_t count;

	rd_kafka_DescribeConsumerGroups(rk, &group, 1, NULL, queue);
	event = rd_kafka_queue_poll(queue, SEEK_ASK_MS);
	count = event == NULL ? 0 : count_members(event);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
	if (count == 0)
		return ONCE_OK;
	return error_set(err, ONCE_FENCED,
			 "group \"%s\" has %zu members; stop all of them first "
			 "(one that was killed, or has an instance_id, counts "
			 "until its session.timeout.ms is over)",
			 group, count);
}

/* ---- all of it ---- */

static enum once_status check_partition(const struct seek_request *request,
					size_t count, struct once_error *err)
{
	if (request->partition < 0 || (size_t)request->partition < count)
		return ONCE_OK;
	return error_set(err, ONCE_INVALID,
			 "\"%s\" has no partition %d, it has 0 to %zu",
			 request->topic, (int)request->partition, count - 1);
}

static enum once_status ask(struct seeking *seeking, const struct place *place,
			    struct once_error *err)
{
	const struct seek_request *request = seeking->request;
	enum once_status status = count_partitions(seeking->rk, request->topic,
						   &seeking->count, err);

	if (status == ONCE_OK)
		status = check_partition(request, seeking->count, err);
	if (status == ONCE_OK)
		status = check_members(seeking->rk, seeking->cfg->kafka.group,
				       err);
	if (status != ONCE_OK)
		return status;
	seeking->places = calloc(seeking->count, sizeof(*seeking->places));
	seeking->ranges = calloc(seeking->count, sizeof(*seeking->ranges));
	if (seeking->places == NULL || seeking->ranges == NULL)
		return error_no_memory(err);
	status = find_places(seeking, place, err);
	return status == ONCE_OK ? seek_compare_logs(seeking, err) : status;
}

/* It commits nothing, and is told of the ends of partitions. */
static enum once_status make_consumer(struct seeking *seeking,
				      struct once_error *err)
{
	rd_kafka_conf_t *conf = kafka_conf_create(seeking->cfg, NULL, err);
	char text[400];

	if (conf == NULL)
		return ONCE_CONFIG;
	(void)rd_kafka_conf_set(conf, "enable.partition.eof", "true", NULL, 0);
	seeking->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	if (seeking->rk != NULL)
		return ONCE_OK;
	rd_kafka_conf_destroy(conf);
	return error_set(err, ONCE_CONFIG, "could not make a consumer: %s",
			 text);
}

enum once_status source_find_places(const struct config *cfg,
				    const struct seek_request *request,
				    struct seek_place **ret_places,
				    size_t *ret_count, struct once_error *err)
{
	struct seeking seeking = { .cfg = cfg, .request = request };
	struct place place = { 0 };
	enum once_status status = parse_place(request->to, &place, err);

	if (status == ONCE_OK)
		status = make_consumer(&seeking, err);
	if (status == ONCE_OK)
		status = ask(&seeking, &place, err);
	if (seeking.rk != NULL)
		rd_kafka_destroy(seeking.rk);
	free(seeking.ranges);
	*ret_places = seeking.places;
	*ret_count = seeking.count;
	return status;
}
