/*
 * ledger.h - what the demo sends and where it went: the truth that the database
 * is held against. The plan is the same each time.
 *
 * Ownership: a ledger owns its entries.
 */
#ifndef ONCED_LEDGER_H
#define ONCED_LEDGER_H

#include <once/types.h>

struct text;

#define DEMO_TOPIC "refunds"
#define DEMO_TENANT "demo"

enum {
	DEMO_PARTITIONS = 4,
	DEMO_ORDERS = 5000,
	DEMO_SKUS = 25 /* of each partition */
};

/* Kind, its word, how many, what a person calls them. */
/* clang-format off */
#define ENTRY_KIND_TABLE(X)                                               \
	X(FIRST,   "first",   10000, "refunds")                           \
	X(AGAIN,   "again",   3333,  "delivered again, same message-id")  \
	X(PUSHED,  "pushed",  500,   "pushed again, new message-id")      \
	X(CHANGED, "changed", 100,   "known key, another amount")         \
	X(POISON,  "poison",  3,     "poison: break a CHECK")             \
	X(KEYLESS, "keyless", 2,     "without a key")
/* clang-format on */

enum entry_kind {
#define X(name, word, count, text) ENTRY_##name,
	ENTRY_KIND_TABLE(X)
#undef X
};

enum {
#define X(name, word, count, text) COUNT_##name = (count),
	ENTRY_KIND_TABLE(X)
#undef X
#define X(name, word, count, text) +(count)
	COUNT_ALL = 0 ENTRY_KIND_TABLE(X)
#undef X
};

/* One message. */
struct entry {
	enum entry_kind kind;
	unsigned number; /* of the refund; of POISON and KEYLESS: its own */
	unsigned copy;   /* 0: under the first message-id of that refund */
	unsigned at;     /* order of sending */
	unsigned quantity;
	int64_t cents;
	int32_t partition;
	int64_t offset; /* -1: the broker hasn't said it */
};

struct ledger {
	struct entry *entries; /* in the order of sending */
	size_t count;
};

enum once_status ledger_init(struct ledger *ledger,
			     struct once_error *err) ONCE_MUST_CHECK;
void ledger_fini(struct ledger *ledger);

/* The message's parts as text, added to `text`; nothing is added for what it
 * doesn't have. */
void entry_add_message_id(const struct entry *entry, struct text *text);
void entry_add_refund_no(const struct entry *entry, struct text *text);
void entry_add_value(const struct entry *entry, struct text *text);

/* For COPY into the table `demo.sent`. */
void ledger_add_rows(const struct ledger *ledger, struct text *text);

#endif
