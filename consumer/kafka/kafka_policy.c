/* A topic's cleanup.policy, which a broker tells those who may describe its
 * configuration. */
#include "kafka_policy.h"

#include <string.h>

void kafka_policy_ask(rd_kafka_t *rk, const char *topic, int timeout_ms,
		      rd_kafka_queue_t *queue)
{
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
		rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	rd_kafka_ConfigResource_t *resource =
		rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);

	(void)rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms,
							NULL, 0);
	rd_kafka_DescribeConfigs(rk, &resource, 1, options, queue);
	rd_kafka_ConfigResource_destroy(resource);
	rd_kafka_AdminOptions_destroy(options);
}

static enum kafka_policy policy_of_error(rd_kafka_resp_err_t error)
{
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
		return KAFKA_POLICY_HIDDEN;
	default:
		return KAFKA_POLICY_UNANSWERED;
	}
}

static enum kafka_policy policy_of(const rd_kafka_ConfigResource_t *resource)
{
	size_t count = 0;
	const rd_kafka_ConfigEntry_t **entries =
		rd_kafka_ConfigResource_configs(resource, &count);

	for (size_t i = 0; i < count; i++) {
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);

		if (strcmp(rd_kafka_ConfigEntry_name(entries[i]),
			   "cleanup.policy") == 0 &&
		    value != NULL)
			return strstr(value, "compact") != NULL
				       ? KAFKA_POLICY_COMPACTED
				       : KAFKA_POLICY_WHOLE;
	}
	return KAFKA_POLICY_HIDDEN;
}

static enum kafka_policy read_event(rd_kafka_event_t *event)
{
	const rd_kafka_DescribeConfigs_result_t *result =
		rd_kafka_event_DescribeConfigs_result(event);
	const rd_kafka_ConfigResource_t **resources;
	size_t count = 0;

	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return policy_of_error(rd_kafka_event_error(event));
	if (result == NULL)
		return KAFKA_POLICY_UNANSWERED;
	resources = rd_kafka_DescribeConfigs_result_resources(result, &count);
	if (count == 0)
		return KAFKA_POLICY_UNANSWERED;
	if (rd_kafka_ConfigResource_error(resources[0]) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return policy_of_error(
			rd_kafka_ConfigResource_error(resources[0]));
	return policy_of(resources[0]);
}

enum kafka_policy kafka_policy_take(rd_kafka_event_t *event)
{
	enum kafka_policy policy = KAFKA_POLICY_UNANSWERED;

	if (event != NULL) {
		policy = read_event(event);
		rd_kafka_event_destroy(event);
	}
	return policy;
}
