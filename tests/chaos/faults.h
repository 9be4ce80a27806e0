/*
 * faults.h - what goes wrong, when and for how long, from one seed. At each
 * target there is one fault at a time; at several targets there may be several.
 */
#ifndef CHAOS_FAULTS_H
#define CHAOS_FAULTS_H

#include "dice.h"
#include "stage.h"

/* What a fault strikes. A member's number is added to FAULT_AT_MEMBER. */
enum fault_target {
	FAULT_AT_MEMBER,
	FAULT_AT_PG = FAULT_AT_MEMBER + STAGE_MEMBERS,
	FAULT_AT_KAFKA,
	FAULT_AT_HANDLER,
	FAULT_BEFORE_PG,
	FAULT_BEFORE_KAFKA,
	FAULT_TARGETS
};

/* X(name, target, how often, shortest ms, longest ms, what it is) */
/* clang-format off */
#define FAULT_TABLE(X)                                                         \
	X(killed,    FAULT_AT_MEMBER,  5,  100,  800, "SIGKILL")               \
	X(told,      FAULT_AT_MEMBER,  4,   50,  500, "SIGTERM, and its exit") \
	X(frozen,    FAULT_AT_MEMBER,  3,  200, 8000, "SIGSTOP, SIGCONT")      \
	X(at_point,  FAULT_AT_MEMBER,  5, 1000, 4000, "a point of fault.h")    \
	X(frozen_at, FAULT_AT_MEMBER,  4, 2500, 7000, "frozen at such a point") \
	X(stopped,   FAULT_AT_PG,      1,   50, 1500, "a fast shutdown")       \
	X(crashed,   FAULT_AT_PG,      1,   50, 1500, "an immediate shutdown") \
	X(destroyed, FAULT_AT_PG,      1,   50, 1500, "SIGKILL")               \
	X(stuck,     FAULT_AT_PG,      1,  100, 3000, "SIGSTOP, SIGCONT")      \
	X(unseated,  FAULT_AT_PG,      5,    0,  100, "a session terminated")  \
	X(hostile,   FAULT_AT_PG,      3,  200, 3000, "settings of its own")   \
	X(lost,      FAULT_AT_KAFKA,   1,  100, 3000, "SIGKILL")               \
	X(restarted, FAULT_AT_KAFKA,   1,    0,  500, "an orderly restart")    \
	X(locked_out, FAULT_AT_KAFKA,  1,  100, 3000, "another password")      \
	X(topic_denied, FAULT_AT_KAFKA, 1, 200, 4000, "READ on the topic")     \
	X(group_denied, FAULT_AT_KAFKA, 1, 200, 4000, "READ on the group")     \
	X(deleted,   FAULT_AT_KAFKA,   1,  200, 4000, "the other topic")       \
	X(busy,      FAULT_AT_HANDLER, 2,  200, 2000, "the handler pauses")    \
	X(pg_late,   FAULT_BEFORE_PG,  4,  200, 2000, "delays, then a cut")    \
	X(pg_frozen, FAULT_BEFORE_PG,  2,  200, 9000, "it holds all back")     \
	X(pg_deaf,   FAULT_BEFORE_PG,  2,  100, 2000, "answers are lost")      \
	X(pg_away,   FAULT_BEFORE_PG,  2,  100, 2000, "nobody gets through")   \
	X(pg_cut,    FAULT_BEFORE_PG,  3,    0,  100, "connections are cut")   \
	X(kafka_late,   FAULT_BEFORE_KAFKA, 2, 200, 2000, "as above")          \
	X(kafka_frozen, FAULT_BEFORE_KAFKA, 2, 200, 8000, "")                  \
	X(kafka_deaf,   FAULT_BEFORE_KAFKA, 2, 100, 4000, "")                  \
	X(kafka_away,   FAULT_BEFORE_KAFKA, 2, 100, 4000, "")                  \
	X(kafka_cut,    FAULT_BEFORE_KAFKA, 3,   0,  100, "")
/* clang-format on */

enum fault_name {
#define X(name, target, weight, shortest, longest, text) FAULT_##name,
	FAULT_TABLE(X)
#undef X
	FAULT_NAMES
};

extern const char *const fault_names[FAULT_NAMES];

struct trouble {
	bool is_there;
	enum fault_name name;
	int64_t until_ms;
};

struct faults {
	struct stage *stage;
	struct dice dice;
	struct dice details; /* of the next fault */
	bool only_members;
	int64_t begin_ms;
	int64_t next_ms;
	struct trouble troubles[FAULT_TARGETS];
	int64_t counts[FAULT_NAMES];
	int64_t fenced; /* members that fenced themselves; see stage.h */
};

void faults_init(struct faults *faults, struct stage *stage, uint64_t seed,
		 bool only_members);
/* Begin and end what is due. Each is told to stdout, with its time. Fails the
 * test when a process ends that nobody ended. */
void faults_go_on(struct faults *faults);
/* All is well again. */
void faults_cease(struct faults *faults);

#endif
