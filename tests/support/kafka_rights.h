/*
 * kafka_rights.h - what user "onced" may do on a broker that was made with a
 * password, see kafka_server_create_behind(). Both fail the test when they
 * can't.
 */
#ifndef TEST_KAFKA_RIGHTS_H
#define TEST_KAFKA_RIGHTS_H

#include "kafka_fixture.h"

void kafka_rights_grant(struct kafka_fixture *kafka,
			rd_kafka_ResourceType_t type, const char *name,
			rd_kafka_AclOperation_t operation);
void kafka_rights_revoke(struct kafka_fixture *kafka,
			 rd_kafka_ResourceType_t type, const char *name,
			 rd_kafka_AclOperation_t operation);

#endif
