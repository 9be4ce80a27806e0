/*
 * The first message of a refund goes to its order's partition, and one with
 * another amount behind it into the same: so it is known which of the two wins.
 * A mere repeat may overtake it through another partition; it makes no
 * difference which of them is handled.
 */
#include "ledger.h"

#include "error.h"
#include "text.h"

#include <stdlib.h>

enum {
	FARTHEST = 2500 /* messages between a refund and its repeat */
};

/* xorshift: the same numbers everywhere. */
static unsigned draw(uint64_t *state, unsigned limit)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (unsigned)(*state % limit);
}

static unsigned order_of(const struct entry *entry)
{
	return entry->number / 2 % DEMO_ORDERS;
}

static int32_t home_of(const struct entry *entry)
{
	return (int32_t)(order_of(entry) % DEMO_PARTITIONS);
}

static struct entry make_entry(enum entry_kind kind, unsigned number,
			       unsigned at)
{
	struct entry entry = {
		.kind = kind,
		.number = number,
		.at = at,
		.quantity = 1 + number % 3,
		.cents = 100 + number * 7919 % 9900,
		.offset = -1,
	};

	entry.partition = home_of(&entry);
	return entry;
}

static void add(struct ledger *ledger, struct entry entry)
{
	ledger->entries[ledger->count++] = entry;
}

static void add_repeats(struct ledger *ledger, enum entry_kind kind,
			unsigned count, uint64_t *state)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned number = i * (COUNT_FIRST / count);
		unsigned at = number + 1 + draw(state, FARTHEST);
		struct entry entry = make_entry(kind, number, at);

		entry.copy = kind == ENTRY_PUSHED ? 1 : 0;
		if (i % 2 == 1)
			entry.partition = (int32_t)draw(state, DEMO_PARTITIONS);
		add(ledger, entry);
	}
}

static void add_conflicts(struct ledger *ledger, uint64_t *state)
{
	for (unsigned i = 0; i < COUNT_CHANGED; i++) {
		unsigned number = i * (COUNT_FIRST / COUNT_CHANGED) + 7;
		unsigned at = number + 1 + draw(state, FARTHEST);
		struct entry entry = make_entry(ENTRY_CHANGED, number, at);

		entry.copy = i % 2 == 0 ? 0 : 2;
		entry.cents += 1;
		add(ledger, entry);
	}
}

static void add_hopeless(struct ledger *ledger)
{
	for (unsigned i = 0; i < COUNT_POISON; i++) {
		struct entry entry =
			make_entry(ENTRY_POISON, i, 2000 + 2500 * i);

		/* Less than nothing, or more than was paid. */
		entry.cents = i == 0 ? 100000000 : -100;
		add(ledger, entry);
	}
	for (unsigned i = 0; i < COUNT_KEYLESS; i++)
		add(ledger, make_entry(ENTRY_KEYLESS, i, 3000 + 3000 * i));
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

enum once_status ledger_init(struct ledger *ledger, struct once_error *err)
{
	uint64_t state = 88172645463325252u;

	ledger->count = 0;
	ledger->entries = calloc(COUNT_ALL, sizeof(struct entry));
	if (ledger->entries == NULL)
		return error_no_memory(err);
	for (unsigned i = 0; i < COUNT_FIRST; i++)
		add(ledger, make_entry(ENTRY_FIRST, i, i));
	add_repeats(ledger, ENTRY_AGAIN, COUNT_AGAIN, &state);
	add_repeats(ledger, ENTRY_PUSHED, COUNT_PUSHED, &state);
	add_conflicts(ledger, &state);
	add_hopeless(ledger);
	qsort(ledger->entries, ledger->count, sizeof(struct entry), compare);
	return ONCE_OK;
}

void ledger_fini(struct ledger *ledger)
{
	free(ledger->entries);
	ledger->entries = NULL;
	ledger->count = 0;
}

/* ---- as text ---- */

void entry_add_message_id(const struct entry *entry, struct text *text)
{
	if (entry->kind == ENTRY_KEYLESS && entry->number == 0)
		return;
	if (entry->kind == ENTRY_KEYLESS || entry->kind == ENTRY_POISON)
		text_addf(text, "x-%d-%u", (int)entry->kind, entry->number);
	else if (entry->copy == 0)
		text_addf(text, "m-%05u", entry->number);
	else
		text_addf(text, "m-%05u-%u", entry->number, entry->copy);
}

void entry_add_refund_no(const struct entry *entry, struct text *text)
{
	if (entry->kind == ENTRY_KEYLESS && entry->number > 0)
		return;
	text_addf(text, "%s-%05u", entry->kind < ENTRY_POISON ? "R" : "X",
		  entry->number +
			  10 * (unsigned)(entry->kind == ENTRY_KEYLESS));
}

void entry_add_value(const struct entry *entry, struct text *text)
{
	scoped_text struct text refund_no = { 0 };
	long long cents = llabs(entry->cents);

	text_adds(text, "{");
	entry_add_refund_no(entry, &refund_no);
	if (refund_no.size > 0)
		text_addf(text, "\"refund_no\":\"%s\",", refund_no.data);
	text_addf(text,
		  "\"order_no\":\"O-%05u\",\"sku\":\"S-%d-%u\","
		  "\"quantity\":%u,\"amount\":\"%s%lld.%02lld\"}",
		  order_of(entry), (int)home_of(entry),
		  order_of(entry) / DEMO_PARTITIONS % DEMO_SKUS,
		  entry->quantity, entry->cents < 0 ? "-" : "", cents / 100,
		  cents % 100);
}

static const char *word_of(enum entry_kind kind)
{
	static const char *const words[] = {
#define X(name, word, count, text) word,
		ENTRY_KIND_TABLE(X)
#undef X
	};

	return words[kind];
}

/* What is missing is empty here, and NULL for COPY. */
void ledger_add_rows(const struct ledger *ledger, struct text *text)
{
	for (size_t i = 0; i < ledger->count; i++) {
		const struct entry *entry = &ledger->entries[i];

		text_addf(text, "%s,%d,%lld,%lld,%u,", word_of(entry->kind),
			  (int)entry->partition, (long long)entry->offset,
			  (long long)entry->cents, entry->quantity);
		entry_add_message_id(entry, text);
		text_adds(text, ",");
		entry_add_refund_no(entry, text);
		text_adds(text, "\n");
	}
}
