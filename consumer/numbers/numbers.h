/*
 * numbers.h - what onced counts, in verbs.
 *
 * Threads: any; what is said at a verb is who calls it.
 */
#ifndef ONCED_NUMBERS_H
#define ONCED_NUMBERS_H

#include <once/once.h>
#include <stdbool.h>

struct numbers;
struct text;

/* The names outlive it. NULL: no memory. */
struct numbers *numbers_create(const char *const *route_names, size_t count,
			       unsigned lanes, const char *librdkafka);
void numbers_destroy(struct numbers *numbers);

/* source: taken from Kafka, before anything is known of them */
void numbers_consumed(struct numbers *numbers, size_t route, const char *topic,
		      size_t count);
/* source: pulling messages and making parcels, or freeing them */
void numbers_fetch_took(struct numbers *numbers, int64_t ns);
/* source: a message was taken, but not ended: it will be taken again */
void numbers_returned(struct numbers *numbers, size_t route, const char *topic,
		      size_t count);
/* lane: after a run, when endings are committed and failures rolled back. No
 * message costs a lock, nor waits for another lane. */
void numbers_count_items(struct numbers *numbers, unsigned lane,
			 const struct once_item *items, size_t count);
/* lane: a parked message was taken up, and has ended; beside its ending */
void numbers_resumed(struct numbers *numbers, size_t route);
/* lane: once for each run; `unknown`: its last COMMIT wasn't answered */
void numbers_count_run(struct numbers *numbers, unsigned lane,
		       const struct once_run_stats *stats, bool unknown,
		       double seconds, size_t messages);
/* source: does a broker answer? */
void numbers_kafka_connected_set(struct numbers *numbers, bool connected);
/* source: `lag` -1: not known */
void numbers_partition_set(struct numbers *numbers, const char *topic,
			   int32_t partition, int64_t lag,
			   double oldest_inflight_seconds, bool halted);
void numbers_partition_remove(struct numbers *numbers, const char *topic,
			      int32_t partition);
/* source: what was handled last isn't in the log any more */
void numbers_anchor_gone(struct numbers *numbers, const char *topic);
/* source: Kafka's offset of the group is "none", "behind" or "ahead" */
void numbers_group_offset_strange(struct numbers *numbers, const char *topic,
				  const char *found);
/* lane 0: its transactions take turns, or don't; true: that is news */
bool numbers_turns_set(struct numbers *numbers, size_t route, bool takes);
/* lane 0, now and then */
void numbers_parked_set(struct numbers *numbers, size_t route,
			const struct once_parked_count *count);

/* admin: before the page is made; `view` NULL: there is no prefilter */
void numbers_prefilter_set(struct numbers *numbers,
			   const struct once_prefilter_view *view);
/* admin: before the page is made; what the system says of this process */
void numbers_process_set(struct numbers *numbers);
/* cleaner: how the log of a route stands */
void numbers_log_set(struct numbers *numbers, size_t route, double rows,
		     double oldest_seconds, double overdue_seconds);
/* cleaner: nothing of it is removed, for the database's clock may be wrong */
void numbers_log_set_in_doubt(struct numbers *numbers, size_t route,
			      bool in_doubt);
/* cleaner: the time of the newest message that a lane ended last, by Kafka; ms
 * since 1970, 0: none yet */
int64_t numbers_source_time(const struct numbers *numbers);
/* cleaner: so many rows were removed, and that is committed */
void numbers_log_deleted(struct numbers *numbers, size_t route, double count);

/* main: what became of all messages, in one line. A clean stop leaves nothing
 * in flight, so what comes in is what goes out. */
void numbers_log_sums(struct numbers *numbers, const char *text);

/* A route at a glance, since the process started. */
struct numbers_view {
	double consumed;
	double returned;
	double handled;
	double duplicates[ONCE_STAGE_DATABASE + 1]; /* by what stopped them */
	double conflicts;
	double dead;
	double retries;
	double postponed;
	double resumed;
	double parked_waiting; /* now, in the database */
	double parked_dead;
};

void numbers_get(struct numbers *numbers, size_t route,
		 const char *const *topics, size_t topic_count,
		 struct numbers_view *ret_view);
/* An array: for each route, its keys that came most often (repeated.h). */
void numbers_describe_repeated(struct numbers *numbers, struct text *json);

void numbers_render(struct numbers *numbers, bool open_metrics,
		    struct text *page);

#endif
