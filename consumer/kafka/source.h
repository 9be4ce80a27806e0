/*
 * source.h - messages out of Kafka, and the group's offsets back.
 *
 * One thread makes every librdkafka call. It reads partitions, hands whole
 * parcels to lanes, takes their reports, and tells Kafka how far the database
 * is. The truth is the database's: a partition is read from where its row in
 * once.position stands.
 */
#ifndef ONCED_SOURCE_H
#define ONCED_SOURCE_H

#include "config.h"

#include <once/once.h>
#include <stdbool.h>

struct mailbox;
struct numbers;
struct source;
struct text;

struct source_options {
	const struct config *cfg;
	struct numbers *numbers;
	bool careful; /* fetch batch by batch: see kafka_memory.c */
};

/* Why it no longer reads. */
enum source_ending {
	SOURCE_RUNNING,
	SOURCE_STOPPED,  /* it was asked to; all is committed, the group left */
	SOURCE_FENCED,   /* another process has this instance_id */
	SOURCE_EXPELLED, /* its session had timed out; a new start is let in */
	SOURCE_FAILED    /* librdkafka says it can't go on */
};

/* Threads: main. In two steps, since lanes want its mailbox first. CONFIG: a
 * property is refused, or this librdkafka is one that loses messages. */
enum once_status source_create(const struct source_options *options,
			       struct source **ret_source,
			       struct once_error *err);
struct mailbox *source_reports(struct source *source);
/* `lanes`: cfg->lanes mailboxes that take orders; they outlive the thread. */
enum once_status source_start(struct source *source,
			      struct mailbox *const *lanes,
			      struct once_error *err);

/* Threads: main. Ask it to stop reading, let go of what is in flight, commit
 * and leave the group; doesn't wait. */
void source_stop(struct source *source);
/* Threads: any. */
enum source_ending source_ending(struct source *source);
/* Threads: any. The thread is gone, too: after SOURCE_STOPPED librdkafka may
 * take its time over its own memory, or never be done. */
bool source_has_ended(const struct source *source);
/* Threads: main. The thread must have ended. */
void source_destroy(struct source *source);

/* Threads: admin. Each adds what is wrong to `why`; true: nothing is. */
bool source_is_alive(struct source *source, struct text *why);
bool source_is_ready(struct source *source, struct text *why);
/* Has a broker answered lately? If Kafka is away, `why` says so. */
bool source_is_connected(struct source *source);
bool source_tell_away(struct source *source, struct text *why);
/* A JSON array of partitions. */
void source_describe(struct source *source, struct text *json);

const char *source_library_version(void);
/* Threads: main. What may not work with some brokers; NULL: nothing. */
const char *source_get_warning(const struct config *cfg);
/* config_property_check_f: what librdkafka says to a property. */
const char *source_check_property(void *arg, const char *name,
				  const char *value);
#endif
