/*
 * sample.h - reads messages of topics as onced would, and leaves no trace: no
 * group, no offset.
 *
 * What is there when it is opened is read, and nothing later: up to the last
 * stable offset, so that an open transaction ends it, too.
 *
 * Threads: main.
 */
#ifndef ONCED_SAMPLE_H
#define ONCED_SAMPLE_H

#include "config.h"

/* Offsets have gaps (compaction, transactions), so a range of them holds as
 * many messages, or fewer. */
struct sample_partition {
	const char *topic;
	int32_t partition;
	int64_t first; /* that Kafka has */
	int64_t from;  /* is read from here */
	int64_t end;   /* to before this */
	int64_t next;
	bool is_done;
	char fault[256]; /* why it couldn't be read to its end; "" */
};

struct sample;

/* Ask Kafka what the topics hold, and choose what to read: the newest of each
 * partition, evenly, `most` offsets in all (-1: all there are). `topics` and
 * `cfg` outlive it. TRANSIENT: no broker answers. CONFIG: a topic isn't there,
 * or may not be read. */
enum once_status sample_open(const struct config *cfg,
			     const char *const *topics, size_t topic_count,
			     int64_t most, struct sample **ret_sample,
			     struct once_error *err);
void sample_close(struct sample *sample);

/* As they stand. They live as long as the sample. */
const struct sample_partition *sample_partitions(const struct sample *sample,
						 size_t *ret_count);

/* How many offsets of it are to be read. */
int64_t sample_offsets(const struct sample *sample);

/* Given each message, those of one partition in order. `number`: the index of
 * its partition. What isn't OK ends the reading. */
typedef enum once_status sample_take_f(void *arg, size_t number,
				       const struct once_record *record,
				       struct once_error *err);

/* All of it. TRANSIENT: Kafka has fallen silent. A partition that can't be read
 * to its end has a fault, and the others go on. */
enum once_status sample_read(struct sample *sample, sample_take_f *take,
			     void *arg, struct once_error *err);

#endif
