/*
 * load.c - draws messages and remembers them.
 *
 * The idea: who wins must not depend on who is first. Whatever has an
 * operation's value may come from anywhere; what contradicts it stands behind
 * it in its own partition, and only where the operation can't stand aside.
 */
#include "load.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DRAWS = 12, /* at a time */
	LETTERS = DRAWS * 2,
	ID = 40,
	BOMB_SIZE = 4 * 1024 * 1024
};

struct operation {
	int32_t partition; /* of its first message */
	bool is_firm;      /* handled where it stands: it can be contradicted */
	const char *act;
};

const char *const letter_names[LETTER_KINDS] = {
#define X(name, percent, text) #name,
	LETTER_TABLE(X)
#undef X
};

/* What is sent together. */
struct post {
	struct letter letters[LETTERS];
	char ids[LETTERS][3][ID];
	char *bombs[LETTERS]; /* values of those that are; else NULL */
	size_t count;
	size_t old; /* operations that Kafka has already */
};

void load_init(struct load *load, struct onced_fixture *fixture, uint64_t seed)
{
	memset(load, 0, sizeof(*load));
	load->fixture = fixture;
	load->dice.state = seed;
	kafka_fixture_compress(&fixture->kafka);
}

void load_fini(struct load *load)
{
	free(load->operations);
	load->operations = NULL;
}

/* ---- drawing ---- */

static int32_t draw_partition(struct load *load)
{
	return (int32_t)dice_roll(&load->dice, 0,
				  load->fixture->partitions - 1);
}

static enum letter_kind draw_kind(struct load *load)
{
	static const int percents[] = {
#define X(name, percent, text) percent,
		LETTER_TABLE(X)
#undef X
	};
	int64_t rest = dice_roll(&load->dice, 0, 99);
	int kind = 0;

	while (kind < LETTER_KINDS - 1 && rest >= percents[kind])
		rest -= percents[kind++];
	return (enum letter_kind)kind;
}

static size_t add_operation(struct load *load, bool is_firm, const char *act)
{
	if (load->count == load->size) {
		load->size = load->size * 2 + 1024;
		load->operations =
			realloc(load->operations,
				load->size * sizeof(struct operation));
		ck_assert_ptr_nonnull(load->operations);
	}
	load->operations[load->count] =
		(struct operation){ draw_partition(load), is_firm, act };
	return load->count++;
}

/* ---- writing ---- */

/* Message `msg_id` (NULL: none) of operation `biz_id`. */
static void add_letter(struct post *post, int32_t partition, const char *msg_id,
		       const char *biz_id, const char *value, const char *act)
{
	char(*ids)[ID] = post->ids[post->count];
	struct letter *letter = &post->letters[post->count++];

	snprintf(ids[0], ID, "%s", msg_id == NULL ? "" : msg_id);
	snprintf(ids[1], ID, "%s", biz_id);
	snprintf(ids[2], ID, "%s", value);
	*letter = (struct letter){ partition, msg_id == NULL ? NULL : ids[0],
				   ids[1], act, ids[2] };
}

/* What a letter has as its value, with spaces behind it. */
static void fill_bomb(struct post *post, size_t at)
{
	struct letter *letter = &post->letters[at];
	char *value = malloc(BOMB_SIZE + 1);

	ck_assert_ptr_nonnull(value);
	memset(value, ' ', BOMB_SIZE);
	memcpy(value, letter->value, strlen(letter->value));
	value[BOMB_SIZE] = '\0';
	letter->value = post->bombs[at] = value;
}

/* "done-recover-7é": another encoding would make another key of it. */
static void name_operation(const struct load *load, size_t number,
			   char name[ID])
{
	const char *act = load->operations[number].act;

	snprintf(name, ID, "done-%s-%zué", act == NULL ? "plain" : act, number);
}

/* A message of an operation that takes effect; its first has its name. */
static void add_message(struct load *load, struct post *post, size_t number,
			int32_t partition, bool is_first)
{
	const char *act = load->operations[number].act;
	char biz_id[ID];
	char msg_id[ID];

	name_operation(load, number, biz_id);
	if (is_first)
		snprintf(msg_id, ID, "%s", biz_id);
	else
		snprintf(msg_id, ID, "by-%" PRId64 "-%zu", load->fixture->sent,
			 post->count);
	add_letter(post, partition, msg_id, biz_id, biz_id, act);
	if (act == letter_names[LETTER_bomb])
		fill_bomb(post, post->count - 1);
}

static void add_new(struct load *load, struct post *post, bool is_firm,
		    const char *act)
{
	size_t number = add_operation(load, is_firm, act);

	add_message(load, post, number, load->operations[number].partition,
		    true);
}

static void add_twins(struct load *load, struct post *post)
{
	size_t number = add_operation(load, true, NULL);
	int32_t partition = load->operations[number].partition;

	add_message(load, post, number, partition, true);
	add_message(load, post, number,
		    (partition + 1) % load->fixture->partitions, false);
}

/* It contradicts an operation that stands before it. */
static void add_contradiction(struct load *load, struct post *post,
			      size_t number, bool has_its_msg_id)
{
	char msg_id[ID];
	char biz_id[ID];
	char value[ID];

	name_operation(load, number, biz_id);
	snprintf(value, ID, "conflict-%" PRId64, load->others++);
	snprintf(msg_id, ID, "%s", has_its_msg_id ? biz_id : value);
	add_letter(post, load->operations[number].partition, msg_id, biz_id,
		   value, NULL);
}

static void add_outcast(struct load *load, struct post *post, const char *kind,
			const char *act)
{
	char id[ID];

	snprintf(id, ID, "%s-%" PRId64, kind, load->others++);
	add_letter(post, draw_partition(load), act == NULL ? NULL : id, id, id,
		   act);
}

/* One that Kafka has, or a new one where there is none that will do. */
static void add_related(struct load *load, struct post *post,
			enum letter_kind kind)
{
	size_t number = 0;

	if (post->old > 0)
		number = (size_t)dice_roll(
			&load->dice,
			post->old > 500 ? (int64_t)post->old - 500 : 0,
			(int64_t)post->old - 1);
	if (post->old == 0)
		kind = LETTER_plain;
	else if (kind != LETTER_repush && !load->operations[number].is_firm)
		kind = LETTER_duplicate;
	load->sent[kind]++;
	if (kind == LETTER_plain)
		add_new(load, post, true, NULL);
	else if (kind == LETTER_duplicate || kind == LETTER_repush)
		add_message(load, post, number, draw_partition(load),
			    kind == LETTER_duplicate);
	else
		add_contradiction(load, post, number, kind == LETTER_again);
}

static void add_some(struct load *load, struct post *post)
{
	enum letter_kind kind = draw_kind(load);
	const char *name = letter_names[kind];

	switch (kind) {
	case LETTER_duplicate:
	case LETTER_repush:
	case LETTER_conflict:
	case LETTER_again:
		add_related(load, post, kind);
		return;
	case LETTER_twins:
		add_twins(load, post);
		break;
	case LETTER_recover:
	case LETTER_pause:
	case LETTER_hot:
	case LETTER_leave:
	case LETTER_slow:
	case LETTER_bomb:
		add_new(load, post, false, name);
		break;
	case LETTER_reject:
	case LETTER_fail:
		add_outcast(load, post, name, name);
		break;
	case LETTER_no_key:
		add_outcast(load, post, name, NULL);
		break;
	case LETTER_plain:
	case LETTER_KINDS:
		add_new(load, post, true, NULL);
	}
	load->sent[kind]++;
}

void load_send(struct load *load)
{
	struct post post = { .old = load->count };

	for (int i = 0; i < DRAWS; i++)
		add_some(load, &post);
	onced_fixture_send(load->fixture, post.letters, post.count);
	for (size_t i = 0; i < post.count; i++)
		free(post.bombs[i]);
}

/* ---- what became of it ---- */

static void check_number(struct load *load, const char *sql, int64_t wanted)
{
	int64_t found = pg_fixture_get_int64(&load->fixture->pg, sql);

	if (found == wanted)
		return;
	onced_fixture_show_logs(load->fixture);
	ck_abort_msg("%s: is %" PRId64 ", not %" PRId64, sql, found, wanted);
}

/* Each of them, wherever it stood, and for this cause. */
static void check_parked(struct load *load, const char *kind, const char *cause,
			 int64_t wanted)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM once.parked WHERE state = 'dead' "
		 "AND convert_from(value, 'UTF8') LIKE '%s-%%' "
		 "AND cause = '%s'",
		 kind, cause);
	check_number(load, sql, wanted);
}

void load_check(struct load *load)
{
	int64_t conflicts =
		load->sent[LETTER_conflict] + load->sent[LETTER_again];

	onced_fixture_check_effects(load->fixture, (int64_t)load->count);
	check_number(load,
		     "SELECT count(*) FROM effect WHERE rtrim(value) <> biz_id "
		     "OR biz_id NOT LIKE 'done-%'",
		     0);
	check_parked(load, "conflict", "conflict", conflicts);
	check_parked(load, "reject", "rejected", load->sent[LETTER_reject]);
	check_parked(load, "fail", "attempts", load->sent[LETTER_fail]);
	check_parked(load, "no_key", "bad_key", load->sent[LETTER_no_key]);
	check_number(load, "SELECT count(*) FROM once.parked",
		     conflicts + load->sent[LETTER_reject] +
			     load->sent[LETTER_fail] +
			     load->sent[LETTER_no_key]);
	check_number(load, "SELECT sum(n) FROM hot",
		     2 * load->sent[LETTER_hot]);
	/* No attempt was counted for what wasn't a message's fault. */
	check_number(load,
		     "SELECT count(*) FROM effect WHERE attempt <> "
		     "CASE WHEN biz_id LIKE 'done-recover-%' THEN 3 ELSE 1 END",
		     0);
}
