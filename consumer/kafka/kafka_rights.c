/*
 * What a consumer needs at a cluster with rights: READ on its group and on each
 * topic; and DESCRIBE_CONFIGS on the topics, without which one kind of fault
 * can't be seen.
 *
 * READ is what a broker asks for at a commit, before it looks whether there is
 * such a partition; so an offset for a partition that no topic has is
 * committed, and the answer is either that there is none, or who may not.
 * Nothing is stored.
 */
#include "kafka_check_impl.h"

#include "clock.h"
#include "kafka_policy.h"
#include "scope.h"
#include "text.h"

#include <stdint.h>

enum {
	GROUP_MS = 8000,
	GROUP_PAUSE_MS = 200,
	COMMIT_MS = 4000,
	CONFIGS_MS = 2000,
	NO_PARTITION = INT32_MAX - 1
};

static void tell_group(struct kafka_check *check)
{
	kafka_check_tell(check, ONCE_DENIED,
			 "this user may not consume as group \"%s\"; grant it "
			 "READ on the group",
			 check->cfg->kafka.group);
}

/* ---- the group's coordinator ---- */

static rd_kafka_resp_err_t error_of_group(rd_kafka_event_t *event)
{
	const rd_kafka_DescribeConsumerGroups_result_t *result;
	const rd_kafka_ConsumerGroupDescription_t **groups;
	const rd_kafka_error_t *error;
	size_t count = 0;

	if (event == NULL)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return rd_kafka_event_error(event);
	result = rd_kafka_event_DescribeConsumerGroups_result(event);
	groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
	if (count == 0)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	error = rd_kafka_ConsumerGroupDescription_error(groups[0]);
	return error == NULL ? RD_KAFKA_RESP_ERR_NO_ERROR
			     : rd_kafka_error_code(error);
}

static rd_kafka_resp_err_t ask_coordinator(struct kafka_check *check,
					   int timeout_ms)
{
	const char *group = check->cfg->kafka.group;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(check->rk);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
		check->rk, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
	rd_kafka_event_t *event;
	rd_kafka_resp_err_t error;

	(void)rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms,
							NULL, 0);
	rd_kafka_DescribeConsumerGroups(check->rk, &group, 1, options, queue);
	event = rd_kafka_queue_poll(queue, timeout_ms);
	error = error_of_group(event);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_queue_destroy(queue);
	return error;
}

static bool may_pass(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
	       error == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
	       error == RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
}

/* A cluster makes the topic of its groups when it is first asked for one. */
static rd_kafka_resp_err_t wait_for_coordinator(struct kafka_check *check)
{
	int64_t end_ms = clock_ms() + kafka_check_left_ms(check, GROUP_MS);
	rd_kafka_resp_err_t error;
	int64_t left_ms;

	do {
		left_ms = end_ms - clock_ms();
		error = ask_coordinator(check, left_ms < 0 ? 0 : (int)left_ms);
		if (!may_pass(error))
			break;
		rd_kafka_poll(check->rk, GROUP_PAUSE_MS);
	} while (clock_ms() < end_ms);
	return error;
}

/* What else it may say of the group, such as that it has never been, is well.
 * false: a commit would have no answer. */
static bool check_group(struct kafka_check *check)
{
	rd_kafka_resp_err_t error = wait_for_coordinator(check);

	/* It never lets go of such a question, nor of the handle then. */
	check->never_ends = error == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		tell_group(check);
		return false;
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__DESTROY:
	case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
	case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
	case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
		kafka_check_tell(check, ONCE_TRANSIENT,
				 "could not reach the coordinator of group "
				 "\"%s\": %s",
				 check->cfg->kafka.group,
				 rd_kafka_err2str(error));
		return false;
	default:
		return true;
	}
}

/* ---- READ ---- */

static rd_kafka_topic_partition_list_t *list_probes(
	const struct kafka_check *check)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)check->topic_count);

	for (size_t i = 0; i < check->topic_count; i++)
		rd_kafka_topic_partition_list_add(list, check->topics[i],
						  NO_PARTITION)
			->offset = 0;
	return list;
}

static void judge_probes(struct kafka_check *check,
			 const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; list != NULL && i < list->cnt; i++) {
		rd_kafka_resp_err_t error = list->elems[i].err;

		if (error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) {
			tell_group(check);
			return;
		}
		if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			kafka_check_tell(check, ONCE_DENIED,
					 "this user may not read topic \"%s\"; "
					 "grant it READ on the topic",
					 list->elems[i].topic);
	}
}

static void check_read(struct kafka_check *check)
{
	rd_kafka_topic_partition_list_t *list = list_probes(check);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(check->rk);
	rd_kafka_event_t *event = NULL;

	if (rd_kafka_commit_queue(check->rk, list, queue, NULL, NULL) ==
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		event = rd_kafka_queue_poll(
			queue, kafka_check_left_ms(check, COMMIT_MS));
	if (event != NULL) {
		judge_probes(check, rd_kafka_event_topic_partition_list(event));
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(queue);
	rd_kafka_topic_partition_list_destroy(list);
}

/* ---- DESCRIBE_CONFIGS ---- */

static void check_configs(struct kafka_check *check)
{
	scoped_text struct text hidden = { 0 };
	rd_kafka_queue_t *queue = rd_kafka_queue_new(check->rk);

	for (size_t i = 0; i < check->topic_count; i++) {
		int timeout_ms = kafka_check_left_ms(check, CONFIGS_MS);
		enum kafka_policy policy;

		if (timeout_ms == 0)
			break;
		kafka_policy_ask(check->rk, check->topics[i], timeout_ms,
				 queue);
		policy = kafka_policy_take(
			rd_kafka_queue_poll(queue, timeout_ms));
		if (policy == KAFKA_POLICY_UNANSWERED)
			break;
		if (policy == KAFKA_POLICY_HIDDEN)
			text_addf(&hidden, "%s\"%s\"",
				  hidden.size == 0 ? "" : ", ",
				  check->topics[i]);
	}
	rd_kafka_queue_destroy(queue);
	if (hidden.size > 0 && !hidden.broken)
		kafka_check_tell(check, ONCE_OK,
				 "this user may not read the configuration of "
				 "topic %s, so a topic that was deleted and "
				 "made again isn't noticed in every case; "
				 "grant DESCRIBE_CONFIGS on it",
				 hidden.data);
}

void kafka_check_rights(struct kafka_check *check)
{
	if (check_group(check) && check->topic_count > 0)
		check_read(check);
	check_configs(check);
}
