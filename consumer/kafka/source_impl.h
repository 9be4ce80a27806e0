/*
 * source_impl.h - the source from within. Its parts:
 *
 *	source.c           the thread: what wakes it, what it does then
 *	source_consumer.c  librdkafka's handle, and what it says of itself
 *	source_memory.c    how much may wait to be handled
 *	source_open.c      where a partition starts
 *	source_anchor.c    is this the log that we were in?
 *	source_identity.c  has its topic the id that it had?
 *	source_absent.c    when the last handled message is missing
 *	source_assign.c    which partitions librdkafka reads
 *	source_pull.c      messages into parcels
 *	source_refill.c    queues that are empty too soon
 *	source_rest.c      queues of partitions that wait for long
 *	source_reports.c   what lanes say
 *	source_offsets.c   what Kafka is told
 *	source_look.c      what Kafka believes
 *	source_watch.c     data that doesn't come
 *	source_contact.c   does any broker answer at all?
 *	source_subscribed.c  is each topic there, and may it be read?
 *	source_rebalance.c partitions that come and go
 *	source_view.c      what others may know
 *
 * Threads: the source's, but for what is said at a field.
 */
#ifndef ONCED_SOURCE_IMPL_H
#define ONCED_SOURCE_IMPL_H

#include "kafka_memory.h"
#include "log_event.h"
#include "mailbox.h"
#include "partition.h"
#include "source.h"

#include <pthread.h>
#include <stdatomic.h>

struct partition_view {
	const char *topic; /* the partition's, which stays */
	int32_t number;
	enum partition_state state;
	enum partition_watched watched;
	int64_t handled_next;
	int64_t committed_next;
	int64_t lag; /* -1: not known */
	int64_t busy_ms;
	char why[PARTITION_WHY_SIZE];
};

/* A topic of the configuration. */
struct source_topic {
	const char *name;
	unsigned refused;          /* answers in a row that weren't good */
	rd_kafka_resp_err_t error; /* mutex; NO_ERROR: as far as is known */
	struct log_party lacking;
};

/* A lane as the source sees it. */
struct source_lane {
	struct mailbox *orders;
	size_t parcels; /* in its hands */
};

struct source {
	struct source_options options;
	struct source_lane *lanes; /* options.cfg->lanes of them */
	rd_kafka_t *rk;
	struct kafka_memory memory;
	int wake_fd; /* an eventfd: queues, reports and stop write to it */
	struct mailbox reports;
	pthread_t thread;
	bool started;

	struct source_partition *partitions;
	size_t parcels_out;          /* in the hands of lanes */
	rd_kafka_message_t **pulled; /* room for the largest parcel */
	bool incremental;            /* rebalances name only what changes */
	int64_t ready_since_ms; /* a partition waits to be assigned; 0: none */
	int64_t assign_at_ms;   /* not before: it was refused */
	bool stored;            /* since the last commit */
	bool answered;          /* the last question what Kafka believes */
	int64_t looked_at_ms;
	int64_t watched_at_ms;
	int64_t ask_after_ms; /* why nothing comes: one hasn't answered */
	rd_kafka_queue_t *identities; /* answers; NULL: nobody has asked yet */
	bool identifying;             /* and waiting for one */
	int64_t identify_at_ms;
	rd_kafka_queue_t *policies;  /* answers; NULL: nobody has asked yet */
	const char *policy_of;       /* the topic asked for now; NULL: none */
	int64_t ask_policy_at_ms;    /* not before */
	rd_kafka_queue_t *contacts;  /* answers; NULL: nobody has asked yet */
	bool asking;                 /* and waiting for one */
	int64_t ask_contact_at_ms;   /* not before */
	int64_t answered_at_ms;      /* when a broker did; 0: none has yet */
	int64_t unanswered_since_ms; /* the first question since; 0: none */
	int64_t kept_contact_at_ms;  /* looked whether there is an answer */
	int64_t said_at_ms;          /* `last_words` */
	int64_t too_large_at_ms; /* an answer was, for librdkafka; 0: none */
	size_t too_large_bytes;  /* 0: not known */
	struct source_topic *topics; /* those of all routes */
	size_t topic_count;
	size_t counted_topics;  /* of them, before the group is joined */
	size_t partition_count; /* that they have */
	struct log_party outage;
	int64_t told_outage_ms;
	size_t asked_topic; /* the one that was asked for last */
	int64_t ask_topic_at_ms;
	bool group_hidden; /* its offsets may not be read */
	bool committing;   /* and waiting for the answer */
	int64_t committed_at_ms;
	int64_t published_at_ms;
	int64_t rested_at_ms;
	int64_t returned_at_ms; /* partitions that had rested */

	atomic_bool stopping;
	atomic_int ending;        /* enum source_ending */
	atomic_bool left;         /* the thread has ended */
	atomic_llong moved_at_ms; /* the loop's last turn */
	atomic_bool joined;       /* has had an assignment */
	atomic_bool timed_out; /* its session in the group, and not back yet */

	atomic_bool connected;      /* a broker has answered lately */
	atomic_llong away_since_ms; /* 0: it isn't */
	atomic_bool group_denied;

	pthread_mutex_t mutex;
	struct partition_view *views;   /* mutex */
	size_t view_count;              /* mutex */
	char trouble[ONCE_REASON_SIZE]; /* mutex; "": none */
	char last_words[512];           /* mutex; librdkafka's last error */
};

/* source.c */
/* For answers, which wake the thread. */
rd_kafka_queue_t *source_make_queue(struct source *source);

/* source_consumer.c */
enum once_status source_make_consumer(struct source *source,
				      struct once_error *err);
/* The handle that has asked joins no group: another one does. */
enum once_status source_join(struct source *source, size_t partitions,
			     struct once_error *err);
void source_serve_consumer(struct source *source);

/* source_memory.c */
/* Of the next topic; asks Kafka, on a handle that is in no group yet. true: all
 * are counted. */
bool source_count_partitions(struct source *source);
void source_divide_memory(struct source *source, size_t partitions);
/* After an assignment: is it as was reckoned with? */
void source_check_memory(struct source *source);

/* source_open.c */
void source_open(struct source *source, struct source_partition *partition);
void source_resolve_starts(struct source *source);
void source_halt(struct source *source, struct source_partition *partition,
		 const char *why);
void source_order(struct source_partition *partition, enum order_kind kind,
		  struct parcel *parcel);

/* source_anchor.c */
/* Before it is read: what has to come first? */
void source_start_proof(struct source_partition *partition,
			const struct once_position *position);
/* The first message. false: it is from another log, and the partition halts. */
bool source_prove(struct source *source, struct source_partition *partition,
		  const rd_kafka_message_t *rkm);
/* The anchor can't be had: read on without it. */
void source_open_past_anchor(struct source *source,
			     struct source_partition *partition);
/* The log may be another one by now: read the anchor again, soon. */
void source_suspect(struct source *source, struct source_partition *partition,
		    const char *why);
void source_halt_other_log(struct source *source,
			   struct source_partition *partition,
			   const char *what);
/* `pulled` was, when Kafka was seen to know the group's offset. */
void source_take_witness(struct source_partition *partition,
			 const struct once_anchor *pulled);
void source_keep_anchor(struct source_partition *partition,
			const rd_kafka_message_t *rkm);

/* source_identity.c */
/* It is opened: by which id has its topic been known? */
void source_expect_identity(struct source *source,
			    struct source_partition *partition,
			    const struct once_position *position);
void source_identify(struct source *source);

/* source_absent.c */
void source_judge_absent(struct source *source);

/* source_assign.c */
/* The answer to partitions that came: nothing of them is read yet. */
void source_acknowledge(struct source *source);
/* Read those that are ready from where their position says. */
void source_assign_ready(struct source *source);
/* The answer to partitions that go: those that are leaving aren't read. */
void source_unassign(struct source *source);

/* source_pull.c */
void source_pull(struct source *source);
/* What lies in its queue, without a change of where it is read from. */
void source_drop_queued(struct source *source,
			struct source_partition *partition);
/* The lane has ended all of a parcel. */
void source_fit_parcel(const struct source *source,
		       struct source_partition *partition, size_t count);
/* It has come home, ended or not. */
void source_free_parcel(struct source *source, const struct address *address,
			struct parcel *parcel);
void source_forget_ahead(struct source_partition *partition);

/* source_refill.c */
void source_refill(struct source *source);

/* source_rest.c */
void source_rest_on_timer(struct source *source);

/* source_reports.c */
void source_take_reports(struct source *source);

/* source_offsets.c */
/* To be called before messages are pulled: see there. */
void source_check_position(struct source *source,
			   struct source_partition *partition);
/* All before it has ended, or is nothing that anybody handles. */
int64_t source_ended_next(struct source *source,
			  const struct source_partition *partition);
void source_store_offsets(struct source *source);
/* Tell Kafka of an offset that lies before what it was told. */
void source_rewind_offset(struct source *source,
			  const struct source_partition *partition,
			  int64_t offset);
void source_commit_on_timer(struct source *source);
void source_commit_now(struct source *source);
void source_note_commit(rd_kafka_t *rk, rd_kafka_resp_err_t error,
			rd_kafka_topic_partition_list_t *list, void *opaque);

/* source_look.c */
void source_look_on_timer(struct source *source);

/* source_watch.c */
void source_watch_on_timer(struct source *source);
/* Its topic may not be read, */
void source_note_denied(struct source_partition *partition);
/* and may be again. */
void source_note_allowed(struct source_partition *partition);

/* source_contact.c */
void source_keep_contact(struct source *source);
/* A broker was asked something, */
void source_note_question(struct source *source);
/* or has answered, whatever it said. */
void source_note_answer(struct source *source);
/* Whether Kafka is away is judged anew, and told when that is news. */
void source_judge_contact(struct source *source);
/* What librdkafka says of a connection. */
void source_note_last_words(struct source *source, const char *text);

/* source_subscribed.c */
enum once_status source_list_topics(struct source *source,
				    struct once_error *err);
void source_ask_for_topics(struct source *source);
/* NO_ERROR: it is there. Sure: what was said needs no second answer. */
void source_note_topic(struct source *source, const char *topic,
		       rd_kafka_resp_err_t error, bool sure);
/* Threads: any. Adds a line for each topic that isn't read, and the group. */
bool source_are_topics_good(struct source *source, struct text *why);

/* source_rebalance.c */
/* The queue that its messages will come on. What librdkafka has of a partition
 * is made anew when its topic was away for a while, or hidden. */
void source_take_queue(struct source *source,
		       struct source_partition *partition);
void source_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t error,
		      rd_kafka_topic_partition_list_t *list, void *opaque);
/* What closing the consumer in the middle of a rebalance has left to us. */
void source_let_go(struct source *source);
struct source_partition *source_find(struct source *source, const char *topic,
				     int32_t number);

/* The group has taken it away, and it isn't closed yet. */
bool source_is_leaving(const struct source_partition *partition);

/* source_view.c */
void source_publish(struct source *source);
void source_publish_on_timer(struct source *source);
void source_set_trouble(struct source *source, const char *text);
/* Kafka answers: the trouble is over. */
void source_flow_is_back(struct source *source);

#define PARTITION_FIELDS(partition) \
	LOG_FIELDS(LOG_TEXT("topic", (partition)->topic), \
		   LOG_NUMBER("partition", (partition)->number))

#endif
