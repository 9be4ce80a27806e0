/*
 * test_same.c - the same messages end the same way, one at a time or in
 * batches, with whatever prefilter. Keys and payloads are drawn from so few
 * that every way in which two messages can share them occurs.
 */
#include "marked.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNT = 400,
	MOST_OF_A_BATCH = 40,
	COUNT_IDS = 60,
	COUNT_OPERATIONS = 45,
	SEEDS = 6
};

struct setting {
	const char *name;
	size_t local_max_bytes;
	bool one_by_one;
	bool restarts; /* now and then */
	bool ahead;    /* each batch is prepared during the one before it */
	bool cut;      /* it has hardly any time, and somebody is in a hurry */
};

static const struct setting settings[] = {
	{ "one by one", 0, true, false, false, false },
	{ "no prefilter", 0, false, false, false, false },
	{ "no prefilter, ahead", 0, false, false, true, false },
	{ "no prefilter, cut", 0, false, false, false, true },
	{ "a prefilter too small", 1, false, false, false, false },
	{ "a prefilter", 1 << 20, false, false, false, false },
	{ "a prefilter, ahead", 1 << 20, false, false, true, false },
	{ "a prefilter, ahead, cut", 1 << 20, false, false, true, true },
	{ "a prefilter that is restarted", 1 << 20, false, true, false, false },
	{ "a prefilter that is restarted, ahead", 1 << 20, false, true, true,
	  false },
};

enum {
	COUNT_SETTINGS = sizeof(settings) / sizeof(settings[0])
};

static unsigned dice;

static unsigned draw(unsigned sides)
{
	dice = dice * 1103515245u + 12345u;
	return dice / 65536u % sides;
}

static void fill(struct mail *mail, struct once_strand *strand, unsigned seed)
{
	static const char *const values[] = { "a", "a", "a", "b" };

	dice = seed;
	mail_init(mail, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		char id[24];
		char biz[24];

		snprintf(id, sizeof(id), "m%u", draw(COUNT_IDS));
		snprintf(biz, sizeof(biz), "b%u", draw(COUNT_OPERATIONS));
		mail_set_id(mail, i, id);
		mail_set_biz(mail, i, biz);
		mail_set_value(mail, i, values[draw(4)]);
		mail_set_strand(mail, i, strand);
	}
}

/* What is run, and behind it what will be. */
struct course {
	struct trial *trial;
	struct once_item *items;
	size_t count;
	struct once_item *end;
	size_t next_count;
};

static size_t draw_count(const struct setting *setting,
			 const struct once_item *from,
			 const struct once_item *end)
{
	size_t count = setting->one_by_one ? 1 : 1 + draw(MOST_OF_A_BATCH);
	size_t left = (size_t)(end - from);

	return count < left ? count : left;
}

static void begin(struct course *course, struct trial *trial, struct mail *mail,
		  const struct setting *setting)
{
	course->trial = trial;
	course->items = mail->items;
	course->end = mail->items + COUNT;
	course->count = draw_count(setting, course->items, course->end);
}

/* Now and then it is another one that comes. */
static void prepare_next(void *arg)
{
	struct course *course = arg;
	struct once_item *next = course->items + course->count;
	size_t count = course->next_count;

	if (draw(4) == 0)
		count /= 2;
	if (count > 0)
		ck_assert_int_eq(once_session_prepare(course->trial->session,
						      next, count,
						      &course->trial->err),
				 ONCE_OK);
}

static int is_hurried(void *arg)
{
	(void)arg;
	return draw(6) == 0;
}

static bool is_pending(const struct once_item *items, size_t count)
{
	size_t i = 0;

	while (i < count && items[i].ending != ONCE_PENDING_ENDING)
		i++;
	return i < count;
}

static void run(struct marked *marked, struct mail *mail,
		const struct setting *setting,
		const struct once_prefilter_options *options)
{
	struct trial *trial = &marked->trial;
	static struct course course; /* as long-lived as what points to it */

	begin(&course, trial, mail, setting);
	if (setting->ahead) {
		trial->meanwhile = prepare_next;
		trial->meanwhile_arg = &course;
	}
	if (setting->cut) {
		trial->max_time_ms = 1;
		trial->hurry = is_hurried;
	}
	if (setting->ahead || setting->cut)
		marked_restart(marked, options);
	while (course.items < course.end) {
		course.next_count = draw_count(
			setting, course.items + course.count, course.end);
		while (is_pending(course.items, course.count))
			ck_assert_msg(once_session_run(trial->session,
						       course.items,
						       course.count, NULL,
						       &trial->err) == ONCE_OK,
				      "%s", trial->err.text);
		course.items += course.count;
		course.count = course.next_count;
		if (setting->restarts && draw(4) == 0)
			marked_restart(marked, options);
	}
}

/* What was the outcome, in a line for each message, and what is left. */
static char *tell(struct marked *marked, const struct mail *mail)
{
	static const char left_sql[] =
		"SELECT concat((SELECT string_agg(msg_id || value, ' ' "
		"ORDER BY msg_id, value) FROM effect), '|', (SELECT "
		"string_agg(message_offset || cause || "
		"encode(original_fingerprint, 'hex'), ' ' "
		"ORDER BY message_offset) FROM once.parked))";
	char *left = pg_fixture_get_text(&marked->trial.pg, left_sql);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < mail->count; i++) {
		const struct once_item *item = &mail->items[i];
		bool repeats = item->ending == ONCE_DUPLICATE_ENDING ||
			       item->ending == ONCE_CONFLICT_ENDING;

		fprintf(out, "%zu %s %s\n", i, once_ending_word(item->ending),
			repeats ? once_key_kind_word(item->key_kind) : "");
	}
	fputs(left, out);
	ck_assert_int_eq(fclose(out), 0);
	free(left);
	return text;
}

static char *run_setting(const struct setting *setting, unsigned seed)
{
	struct once_prefilter_options options = {
		.local_max_bytes = setting->local_max_bytes,
		.retention_ms = -1,
	};
	struct marked marked;
	struct mail mail;
	char *told;

	marked_init(&marked, NULL, &options);
	fill(&mail, &marked.strand, seed);
	run(&marked, &mail, setting, &options);
	told = tell(&marked, &mail);
	mail_fini(&mail);
	marked_fini(&marked);
	return told;
}

START_TEST(the_same_messages_end_the_same_way)
{
	unsigned seed = 77u + (unsigned)_i;
	char *wanted = run_setting(&settings[0], seed);

	for (size_t i = 1; i < COUNT_SETTINGS; i++) {
		char *told = run_setting(&settings[i], seed);
		size_t same = 0;

		while (told[same] != '\0' && told[same] == wanted[same])
			same++;
		ck_assert_msg(strcmp(told, wanted) == 0,
			      "%s, seed %u: …%.60s, not …%.60s",
			      settings[i].name, seed,
			      told + (same < 20 ? 0 : same - 20),
			      wanted + (same < 20 ? 0 : same - 20));
		free(told);
	}
	free(wanted);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("same");
	TCase *tcase = tcase_create("same");

	servers_need(NEED(PG));
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, the_same_messages_end_the_same_way, 0,
			    SEEDS);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
