/*
 * stage.h - one way to get a topic's messages handled, and what is told of it.
 */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include "bench.h"
#include "page.h"
#include "topic.h"
#include "usage.h"

enum prefilter {
	PREFILTER_NONE,
	PREFILTER_LOCAL,
	PREFILTER_REDIS,
	PREFILTER_REDIS_HUNG /* all the time */
};

enum log_state {
	LOG_EMPTY,
	LOG_FILLED /* as if all messages of the section's first topic had been
		      handled */
};

/* From the first tenth of the messages to the ninth: neither the start nor the
 * partitions that end last are a part of it. */
struct outcome {
	int64_t messages;
	int64_t took_ns;
	double program_s; /* of a processor, in that time */
	double postgres_s;
	double kafka_s;
	struct usage_machine machine;
	int64_t peak_kib; /* of onced; 0: it didn't run */
	struct page page; /* of onced, less that of the first tenth */
	int64_t booked;   /* refunds that it made of an empty log, in all */
};

struct scenario;

/* Handle the messages of the topic, and tell how that went. */
typedef void stage_f(struct bench *bench, const struct scenario *scenario,
		     const struct topic *topic, struct outcome *ret_outcome);

/* Zero is: the first topic, an empty log, all settings of onced as they come,
 * and 2 lanes. */
struct scenario {
	const char *name;
	const char *against; /* the name of its yardstick; NULL: none */
	stage_f *run;
	int topic; /* of the section's topics */
	enum log_state log;
	/* for those that have them */
	int lanes;
	int max_messages;       /* of a transaction */
	const char *write;      /* how the handler does; NULL: "send" */
	const char *durability; /* NULL: "database" */
	const char *max_memory; /* of messages fetched; NULL: "192MiB" */
	enum prefilter prefilter;
};

/* With the defaults written in. NULL: all of them. */
struct scenario scenario_of(const struct scenario *scenario);

/* ---- the stages ---- */

/* onced, as a user runs it. */
stage_f stage_onced;
/* The ceiling: a consumer that reads the topic, checks nothing, and copies.
 * With a log like this one, and as many messages in a transaction, it can
 * hardly be done faster. */
stage_f stage_ceiling;
/* What people write by hand: a transaction for each message. */
stage_f stage_single;
/* librdkafka reads, and nothing is done with it: more no consumer can take. */
stage_f stage_read;

#endif
