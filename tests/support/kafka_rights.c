/* Through librdkafka's admin API, as the fixture's producer, who may do all. */
#include "kafka_rights.h"

#include <check.h>

enum {
	ADMIN_MS = 30000
};

static const char principal[] = "User:onced";

static void hear(rd_kafka_queue_t *queue, const char *what, const char *name)
{
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ADMIN_MS);

	ck_assert_ptr_nonnull(event);
	ck_assert_msg(rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR,
		      "could not %s a right on \"%s\": %s", what, name,
		      rd_kafka_event_error_string(event));
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(queue);
}

void kafka_rights_grant(struct kafka_fixture *kafka,
			rd_kafka_ResourceType_t type, const char *name,
			rd_kafka_AclOperation_t operation)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	char error[256];
	rd_kafka_AclBinding_t *right = rd_kafka_AclBinding_new(
		type, name, RD_KAFKA_RESOURCE_PATTERN_LITERAL, principal, "*",
		operation, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, error,
		sizeof(error));

	ck_assert_msg(right != NULL, "%s", error);
	rd_kafka_CreateAcls(kafka->rk, &right, 1, NULL, queue);
	rd_kafka_AclBinding_destroy(right);
	hear(queue, "grant", name);
}

void kafka_rights_revoke(struct kafka_fixture *kafka,
			 rd_kafka_ResourceType_t type, const char *name,
			 rd_kafka_AclOperation_t operation)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->rk);
	char error[256];
	rd_kafka_AclBindingFilter_t *right = rd_kafka_AclBindingFilter_new(
		type, name, RD_KAFKA_RESOURCE_PATTERN_LITERAL, principal, "*",
		operation, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, error,
		sizeof(error));

	ck_assert_msg(right != NULL, "%s", error);
	rd_kafka_DeleteAcls(kafka->rk, &right, 1, NULL, queue);
	rd_kafka_AclBinding_destroy(right);
	hear(queue, "revoke", name);
}
