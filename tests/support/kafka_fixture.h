/*
 * kafka_fixture.h - a topic and a group name of a test's own. All functions
 * fail the test when they can't do what they say.
 *
 * For a checked fixture or the test itself: librdkafka's threads don't survive
 * the fork that Check makes for each test.
 */
#ifndef TEST_KAFKA_FIXTURE_H
#define TEST_KAFKA_FIXTURE_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <once/once.h>

struct kafka_fixture {
	rd_kafka_t *rk;      /* a producer */
	char bootstrap[256]; /* brokers */
	char topic[96];
	char group[96];

	rd_kafka_t *host;              /* of the mock cluster; NULL: none */
	rd_kafka_mock_cluster_t *mock; /* NULL: a real broker */
};

/* A new topic on the shared broker, and a group that never was. */
void kafka_fixture_init(struct kafka_fixture *kafka, int partitions);
/* The same on a broker of the test's own. */
void kafka_fixture_init_at(struct kafka_fixture *kafka, const char *bootstrap,
			   int partitions);
/* On a mock cluster in this process, for errors that no broker can be asked
 * for.
 */
void kafka_fixture_init_mock(struct kafka_fixture *kafka, int partitions);
/* Delete the topic. */
void kafka_fixture_fini(struct kafka_fixture *kafka);

/* More topics. `settings`: "name=value", NULL-terminated; may be NULL. Returns
 * when each partition can be written to. */
void kafka_fixture_create_topic(struct kafka_fixture *kafka, const char *topic,
				int partitions, const char *const *settings);
void kafka_fixture_delete_topic(struct kafka_fixture *kafka, const char *topic);

/* Write records (topic NULL: the fixture's) and wait for the broker's
 * acknowledgements; each record's offset is filled in. time_ms 0: now. */
void kafka_fixture_produce(struct kafka_fixture *kafka,
			   struct once_record *records, size_t count);
/* From now on what is written is compressed, and a record may have 100 MB. */
void kafka_fixture_compress(struct kafka_fixture *kafka);
/* One record without headers; `key` and `value` may be NULL. Its offset. */
int64_t kafka_fixture_put(struct kafka_fixture *kafka, int32_t partition,
			  const char *key, const char *value);

/* What the group has committed for a partition of the topic; -1: nothing. */
int64_t kafka_fixture_get_committed(struct kafka_fixture *kafka,
				    int32_t partition);
/* The offset behind the last record. */
int64_t kafka_fixture_get_end(struct kafka_fixture *kafka, int32_t partition);

#endif
