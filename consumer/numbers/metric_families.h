/*
 * metric_families.h - the one table of what onced counts. Users' dashboards
 * hold us to these names.
 */
#ifndef ONCED_METRIC_FAMILIES_H
#define ONCED_METRIC_FAMILIES_H

/* clang-format off */

/* X(ID, name, TYPE, bounds, help, labels…); a counter's name gets "_total" on
 * the page.
 * For each route: consumed + resumed = handled + intercepts + backstop hits +
 * conflicts + dead + postponed + returned + in flight. */
#define METRIC_FAMILY_TABLE(X)                                                 \
	X(CONSUMED, "onced_consumed", COUNTER, NULL,                           \
	  "Messages taken from Kafka.", "route", "topic")                      \
	X(RETURNED, "onced_returned", COUNTER, NULL,                           \
	  "Messages taken and given back before they ended.", "route", "topic") \
	X(HANDLED, "onced_handled", COUNTER, NULL,                             \
	  "Messages claimed, handled and committed.", "route")                 \
	X(INTERCEPTS, "onced_intercepts", COUNTER, NULL,                       \
	  "Duplicates stopped before the database.", "route", "stage", "key")  \
	X(BACKSTOP_HITS, "onced_backstop_hits", COUNTER, NULL,                 \
	  "Duplicates stopped by the database's unique key.", "route", "key")  \
	X(CONFLICTS, "onced_conflicts", COUNTER, NULL,                         \
	  "Messages with a known key and another payload.", "route", "key")    \
	X(UNPROVEN, "onced_prefilter_unproven", COUNTER, NULL,                 \
	  "Prefilter hits that proved nothing, and went to the database.",     \
	  "route", "stage")                                                    \
	X(PREFILTER_ERRORS, "onced_prefilter_errors", COUNTER, NULL,           \
	  "Failures of a prefilter.", "stage")                                 \
	X(CIRCUIT_OPEN, "onced_prefilter_circuit_open", GAUGE, NULL,           \
	  "1: the prefilter isn't asked until it answers again.", "stage")     \
	X(DEAD, "onced_dead", COUNTER, NULL,                                   \
	  "Messages parked dead.", "route", "reason")                          \
	X(POSTPONED, "onced_postponed", COUNTER, NULL,                         \
	  "Messages parked until their next attempt.", "route")                \
	X(RESUMED, "onced_resumed", COUNTER, NULL,                             \
	  "Parked messages taken up again, and ended.", "route")               \
	X(RETRIES, "onced_retries", COUNTER, NULL,                             \
	  "Attempts after the first.", "route", "cause")                       \
	X(PAUSED, "onced_paused", COUNTER, NULL,                               \
	  "Times that a message was put off without an attempt.", "route", "cause") \
	X(TRANSACTIONS, "onced_transactions", COUNTER, NULL,                   \
	  "Transactions by how they ended.", "result")                         \
	X(REPEATED, "onced_repeated", COUNTER, NULL,                           \
	  "Transactions repeated for a deadlock or the like.", NULL)           \
	X(TAKES_TURNS, "onced_takes_turns", GAUGE, NULL,                       \
	  "1: its transactions met deadlocks, and run one after the other.", "route") \
	X(TRANSACTION_SECONDS, "onced_transaction_seconds", HISTOGRAM, second_bounds, \
	  "One run of a batch, all its transactions included.", NULL)          \
	X(BATCH_MESSAGES, "onced_batch_messages", HISTOGRAM, message_bounds,   \
	  "Messages in a batch.", NULL)                                        \
	X(HANDLER_SECONDS, "onced_handler_seconds", HISTOGRAM, handler_bounds, \
	  "One message in its handler.", "route")                              \
	X(MESSAGE_AGE, "onced_message_age_seconds", HISTOGRAM, age_bounds,     \
	  "Kafka's time of a message until its commit, of those handled.", "route") \
	X(KAFKA_CONNECTED, "onced_kafka_connected", GAUGE, NULL,               \
	  "1: a broker has answered within 15 s.", NULL)                       \
	X(PARTITION_LAG, "onced_partition_lag", GAUGE, NULL,                   \
	  "Messages behind the end of the partition.", "topic", "partition")   \
	X(OLDEST_INFLIGHT, "onced_partition_oldest_inflight_seconds", GAUGE, NULL, \
	  "How long the oldest unended message is here.", "topic", "partition") \
	X(HALTED, "onced_partition_halted", GAUGE, NULL,                       \
	  "1: a person has to say how to go on.", "topic", "partition")        \
	X(ANCHOR_GONE, "onced_anchor_gone", COUNTER, NULL,                     \
	  "Openings where the last handled message couldn't be compared.", "topic") \
	X(GROUP_OFFSET_STRANGE, "onced_group_offset_strange", COUNTER, NULL,   \
	  "Kafka's offset of the group was not the one that we left.", "topic", "found") \
	X(LANE_BUSY, "onced_lane_busy_seconds", COUNTER, NULL,                 \
	  "Time a lane has spent in batches.", "lane")                         \
	X(STAGE_SECONDS, "onced_stage_seconds", COUNTER, NULL,                 \
	  "Time spent on a stage of the messages' way, by all threads.", "stage") \
	X(PARKED, "onced_parked", GAUGE, NULL,                                 \
	  "Messages set aside in the database.", "route", "state")             \
	X(LOG_ROWS, "onced_log_rows", GAUGE, NULL,                             \
	  "Rows of the log, about.", "route")                                  \
	X(LOG_OLDEST, "onced_log_oldest_age_seconds", GAUGE, NULL,             \
	  "Age of the oldest row of the log.", "route")                        \
	X(LOG_IN_DOUBT, "onced_log_clock_in_doubt", GAUGE, NULL,               \
	  "1: nothing of the log is removed, the database's clock may be wrong.", "route") \
	X(LOG_OVERDUE, "onced_log_overdue_seconds", GAUGE, NULL,               \
	  "How far the removal of old rows is behind; 0: nothing is left to remove.", "route") \
	X(LOG_DELETED, "onced_log_deleted", COUNTER, NULL,                     \
	  "Rows of the log that this process has removed.", "route")           \
	X(PROCESS_CPU, "process_cpu_seconds", COUNTER, NULL,                   \
	  "Time of processors, user and system.", NULL)                        \
	X(PROCESS_RESIDENT, "process_resident_memory_bytes", GAUGE, NULL,      \
	  "Memory that is in the machine.", NULL)                              \
	X(PROCESS_VIRTUAL, "process_virtual_memory_bytes", GAUGE, NULL,        \
	  "Addresses that are taken.", NULL)                                   \
	X(PROCESS_THREADS, "process_threads", GAUGE, NULL,                     \
	  "Threads.", NULL)                                                    \
	X(PROCESS_OPEN_FDS, "process_open_fds", GAUGE, NULL,                   \
	  "File descriptors that are open.", NULL)                             \
	X(PROCESS_MAX_FDS, "process_max_fds", GAUGE, NULL,                     \
	  "File descriptors that may be open.", NULL)                          \
	X(PROCESS_START, "process_start_time_seconds", GAUGE, NULL,            \
	  "When it was started, in seconds since 1970.", NULL)                 \
	X(BUILD_INFO, "onced_build_info", GAUGE, NULL,                         \
	  "1; the versions are in the labels.", "version", "librdkafka", "libpq")

/* X(ID, word): the stages that take time: "fetch" is the source's, the others
 * the lanes'. */
#define TIMED_STAGE_TABLE(X)       \
	X(FETCH, "fetch")         \
	X(KEYS, "keys")           \
	X(PREFILTER, "prefilter") \
	X(CLAIM, "claim")         \
	X(HANDLER, "handler")     \
	X(COMMIT, "commit")
/* clang-format on */

enum timed_stage {
#define X(id, word) TIMED_##id,
	TIMED_STAGE_TABLE(X)
#undef X
	TIMED_COUNT
};

enum metric {
#define X(id, name, type, bounds, help, ...) METRIC_##id,
	METRIC_FAMILY_TABLE(X)
#undef X
	METRIC_FAMILY_COUNT
};

#endif
