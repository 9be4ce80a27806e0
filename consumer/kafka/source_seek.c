/* A place in a topic ("earliest", a time) becomes offsets, and only while
 * nobody of the group reads: who reads would move on from where it is. */
#define _XOPEN_SOURCE 700 /* strptime() */
#include "source_seek.h"

#include "error.h"
#include "kafka_conf.h"
#include "kafka_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ASK_MS = 10000
};

/* ---- "earliest", "latest", "1042", "@2026-01-31T12:00:00Z", "@1769860800000"
 */

enum place_kind {
	PLACE_EARLIEST,
	PLACE_LATEST,
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
		      : text[0] == '@'              ? PLACE_TIME
						    : PLACE_OFFSET;
	if ((place->kind == PLACE_TIME &&
	     !parse_time(text + 1, &place->number)) ||
	    (place->kind == PLACE_OFFSET &&
	     !parse_number(text, &place->number)))
		return error_set(err, ONCE_INVALID,
				 "--to \"%s\": write earliest, latest, an "
				 "offset, or a time in UTC such as "
				 "@2026-01-31T12:00:00Z (or @ and ms since "
				 "1970)",
				 text);
	return ONCE_OK;
}

/* ---- asking ---- */

static enum once_status not_answered(rd_kafka_resp_err_t error,
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
		rd_kafka_metadata(rk, 0, handle, &metadata, ASK_MS);
	enum once_status status = ONCE_OK;

	rd_kafka_topic_destroy(handle);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return not_answered(error, err);
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
	error = rd_kafka_offsets_for_times(rk, list, ASK_MS);
	if (list->elems[0].offset >= 0)
		*ret_offset = list->elems[0].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return error == RD_KAFKA_RESP_ERR_NO_ERROR ? ONCE_OK
						   : not_answered(error, err);
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

static enum once_status find_offset(rd_kafka_t *rk, const char *topic,
				    int32_t partition,
				    const struct place *place,
				    int64_t *ret_offset, struct once_error *err)
{
	int64_t first;
	int64_t end;
	rd_kafka_resp_err_t error =
		kafka_ask_range(rk, topic, partition, ASK_MS, &first, &end);

	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return not_answered(error, err);
	*ret_offset = place->kind == PLACE_EARLIEST ? first : end;
	if (place->kind == PLACE_TIME)
		return find_time(rk, topic, partition, place->number,
				 ret_offset, err);
	if (place->kind != PLACE_OFFSET)
		return ONCE_OK;
	*ret_offset = place->number;
	return check_offset(topic, partition, place->number, first, end, err);
}

/* -1 where a partition isn't asked for. */
static enum once_status find_offsets(rd_kafka_t *rk,
				     const struct seek_request *request,
				     const struct place *place,
				     int64_t *offsets, size_t count,
				     struct once_error *err)
{
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < count && status == ONCE_OK; i++) {
		offsets[i] = -1;
		if (request->partition < 0 || (size_t)request->partition == i)
			status = find_offset(rk, request->topic, (int32_t)i,
					     place, &offsets[i], err);
	}
	return status;
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
	event = rd_kafka_queue_poll(queue, ASK_MS);
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

static enum once_status ask(rd_kafka_t *rk, const char *group,
			    const struct seek_request *request,
			    const struct place *place, int64_t **ret_offsets,
			    size_t *ret_count, struct once_error *err)
{
	enum once_status status =
		count_partitions(rk, request->topic, ret_count, err);

	if (status == ONCE_OK)
		status = check_partition(request, *ret_count, err);
	if (status == ONCE_OK)
		status = check_members(rk, group, err);
	if (status != ONCE_OK)
		return status;
	*ret_offsets = calloc(*ret_count, sizeof(**ret_offsets));
	if (*ret_offsets == NULL)
		return error_no_memory(err);
	return find_offsets(rk, request, place, *ret_offsets, *ret_count, err);
}

enum once_status source_find_offsets(const struct config *cfg,
				     const struct seek_request *request,
				     int64_t **ret_offsets, size_t *ret_count,
				     struct once_error *err)
{
	struct place place = { 0 };
	enum once_status status = parse_place(request->to, &place, err);
	rd_kafka_conf_t *conf;
	rd_kafka_t *rk;
	char text[400];

	*ret_offsets = NULL;
	if (status != ONCE_OK)
		return status;
	conf = kafka_conf_create(cfg, NULL, err);
	if (conf == NULL)
		return ONCE_CONFIG;
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
	if (rk == NULL) {
		rd_kafka_conf_destroy(conf);
		return error_set(err, ONCE_CONFIG,
				 "could not make a consumer: %s", text);
	}
	status = ask(rk, cfg->kafka.group, request, &place, ret_offsets,
		     ret_count, err);
	rd_kafka_destroy(rk);
	return status;
}
