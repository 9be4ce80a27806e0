/*
 * stage.h - all that faults can strike: a PostgreSQL and a Kafka of the test's
 * own, a proxy before each, and three processes of onced that reach both by
 * way of these. The test itself goes past the proxies.
 */
#ifndef CHAOS_STAGE_H
#define CHAOS_STAGE_H

#include "kafka_server.h"
#include "onced_fixture.h"
#include "pg_server.h"
#include "proxy.h"

#define STAGE_PASSWORD "right"

enum {
	STAGE_MEMBERS = 3,
	STAGE_PARTITIONS = 4
};

struct stage_options {
	bool is_static;  /* instance_ids: a killed one returns at once */
	bool is_ordered; /* order: partition, not none */
};

struct member {
	struct onced onced;
	int64_t unknown; /* commits without an answer, earlier lives */
};

struct stage {
	struct proxy to_pg;
	struct proxy to_kafka;
	struct pg_server pg;
	struct kafka_server kafka;
	bool kafka_is_up;
	bool is_static;
	struct onced_fixture fixture;
	struct member members[STAGE_MEMBERS];
	char conninfo[640];
	char brokers[32];
	char extra[128]; /* a topic that comes and goes, always empty */
};

void stage_open(struct stage *stage, const struct stage_options *options);
/* The monitor judges. */
void stage_close(struct stage *stage);

/* `fault`: as onced_start() takes it. */
void stage_start_member(struct stage *stage, int number, const char *fault);
/* It has ended with `code`, for it fenced itself: a librdkafka whose session
 * timed out joins again under its instance_id while it still speaks as the
 * member that it was (its issue 3437), and takes the answer for another
 * process. */
bool stage_has_fenced_itself(struct stage *stage, int number, int code);
/* Ask for what dies with the process; then it may be killed. */
void stage_note_member(struct stage *stage, int number);
void stage_start_pg(struct stage *stage);
void stage_start_kafka(struct stage *stage, const char *password);
/* Commits without an answer, as far as anybody heard. */
int64_t stage_count_unknown(struct stage *stage);

#endif
