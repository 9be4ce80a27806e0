/*
 * load.h - messages of all kinds, and what should become of each. Its value
 * says that: "done-plain-7", "reject-3"; and so does its biz_id, but for a
 * conflict, which has another's.
 */
#ifndef CHAOS_LOAD_H
#define CHAOS_LOAD_H

#include "dice.h"
#include "onced_fixture.h"

/* X(name, of a hundred, what it is) */
/* clang-format off */
#define LETTER_TABLE(X)                                                     \
	X(plain,     54, "a new operation")                                 \
	X(twins,      6, "a new operation, in two partitions at once")      \
	X(duplicate,  9, "the same message again, in any partition")        \
	X(repush,     9, "the same operation, by another message")          \
	X(conflict,   3, "the same operation, with another value")          \
	X(again,      2, "the same message, with another value")            \
	X(recover,    2, "fails twice, then takes effect")                  \
	X(pause,      2, "waits while it is told to")                       \
	X(hot,        5, "changes rows that others change, in any order")   \
	X(leave,      3, "leaves settings of the session changed")          \
	X(slow,       1, "takes its time")                                  \
	X(bomb,       1, "unpacks to far more than it is")                  \
	X(reject,     1, "is rejected")                                     \
	X(fail,       1, "fails, always")                                   \
	X(no_key,     1, "has no msg_id")
/* clang-format on */

enum letter_kind {
#define X(name, percent, text) LETTER_##name,
	LETTER_TABLE(X)
#undef X
	LETTER_KINDS
};

extern const char *const letter_names[LETTER_KINDS];

struct operation; /* private */

struct load {
	struct onced_fixture *fixture;
	struct dice dice;
	struct operation *operations; /* those that take effect */
	size_t count;
	size_t size;
	int64_t others;             /* those that don't */
	int64_t sent[LETTER_KINDS]; /* messages; of twins, pairs */
};

void load_init(struct load *load, struct onced_fixture *fixture, uint64_t seed);
/* Some messages; returns when Kafka has them. */
void load_send(struct load *load);
/* Everything became what it should: fails the test otherwise. */
void load_check(struct load *load);
void load_fini(struct load *load);

#endif
