/*
 * test_agree.c - the same messages end the same way, whatever happens on their
 * way: two processes that take two partitions from each other, restarts, lost
 * connections, lost transactions, with marks in both prefilters. What is right
 * is what one process without prefilters makes of them, one at a time.
 *
 * The idea to hold: what is lost is the end of the database's history, with the
 * tenures that began there; so the journey goes on from an older place, and the
 * marks of what came after it are lies.
 */
#include "redis_server.h"
#include "servers.h"
#include "suite.h"
#include "trial.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNT = 250,
	MOST_OF_A_BATCH = 20,
	COUNT_IDS = 50,
	COUNT_OPERATIONS = 40,
	MOST_LOSSES = 8,
	SEEDS = 6
};

struct process_of_ours {
	struct once_prefilter *prefilter;
	struct once_session *session;
	struct once_strand strands[2];
	size_t at;       /* the message that comes next, as it believes */
	bool was_robbed; /* since it ran, the other one has taken all */
};

static struct redis_server redis;
static struct trial trial;
static struct mail mail;
static struct process_of_ours both[2];
static size_t saved_at;
static bool is_saved;
static int losses;
static bool has_filters;
static int partitions;
static unsigned dice;

static unsigned draw(unsigned sides)
{
	dice = dice * 1103515245u + 12345u;
	return dice / 65536u % sides;
}

/* ---- the routes ---- */

static enum once_verdict act(void *self, const struct once_message *msg,
			     struct once_call *call)
{
	(void)self;
	once_send(call, "INSERT INTO effect VALUES ($1, $2)",
		  ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
			      ONCE_TEXT(once_value(msg))));
	if (is_text(once_value(msg), "reject"))
		return ONCE_REJECT;
	if (is_text(once_value(msg), "retry") && partitions == 1 &&
	    once_attempt(call) < 3)
		return ONCE_RETRY;
	if (is_text(once_value(msg), "a"))
		once_set_result(call, once_msg_id(msg));
	return ONCE_DONE;
}

static enum once_verdict answer(void *self, const struct once_message *msg,
				struct once_bytes result,
				struct once_call *call)
{
	char place[32];

	(void)self;
	snprintf(place, sizeof(place), "%d/%d", (int)once_partition(msg),
		 (int)once_offset(msg));
	once_send(call, "INSERT INTO answer VALUES ($1, $2)",
		  ONCE_PARAMS(ONCE_TEXT(bytes(place)), ONCE_TEXT(result)));
	return ONCE_DONE;
}

static const struct once_handler answering = { ONCE_HANDLER_ABI_FIELDS,
					       .name = "answering",
					       .handle = act,
					       .duplicate = answer };
static const struct once_handler silent = { ONCE_HANDLER_ABI_FIELDS,
					    .name = "silent", .handle = act };

/* Three share a scope: with and without operations, and two fingerprints. */
static void init_trial(void)
{
	struct once_route_options routes[TRIAL_ROUTES];

	for (int i = 0; i < TRIAL_ROUTES; i++) {
		routes[i] = trial_route();
		routes[i].handler = &silent;
	}
	routes[0].handler = &answering;
	routes[1].name = "messages";
	routes[1].biz_id = NULL;
	routes[2].name = "fields";
	routes[2].fingerprint = "{header:biz}";
	routes[3].name = "none";
	routes[3].scope = "group/none";
	routes[3].fingerprint = "none";
	trial_init(&trial, routes, TRIAL_ROUTES);
	once_session_destroy(trial.session);
	trial.session = NULL;
	pg_fixture_run(&trial.pg, "CREATE TABLE answer (place text, "
				  "result text)");
}

static void fill_mail(void)
{
	static const char *const values[] = { "a", "a",     "b",
					      "b", "retry", "reject" };
	int64_t offsets[2] = { 0, 0 };

	mail_init(&mail, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		struct once_item *item = &mail.items[i];
		char id[24];
		char biz[24];

		snprintf(id, sizeof(id), "m%u", draw(COUNT_IDS));
		snprintf(biz, sizeof(biz), "b%u", draw(COUNT_OPERATIONS));
		mail_set_id(&mail, i, id);
		mail_set_biz(&mail, i, biz);
		mail_set_value(&mail, i, values[draw(6)]);
		item->route = draw(6) < 3 ? 0 : 1 + draw(3);
		item->record.partition = (int32_t)draw((unsigned)partitions);
		item->record.offset = offsets[item->record.partition]++;
	}
}

/* ---- the processes ---- */

static void open_one(struct process_of_ours *one)
{
	struct once_prefilter_options options = {
		.local_max_bytes = draw(3) == 0 ? 1 : 1 << 16,
		.redis_url = redis.url,
		.redis_timeout_ms = 10000,
		.redis_ttl_ms = 3600000,
		.retention_ms = -1,
	};
	const struct once_route *routes[TRIAL_ROUTES];
	struct once_session_options session = {
		.conninfo = trial.pg.conninfo,
		.application_name = "agree",
		.routes = routes,
		.route_count = TRIAL_ROUTES,
		.isolation = (enum once_isolation)draw(3),
		.max_messages = draw(2) == 0 ? 0 : 1 + draw(8),
	};

	for (int i = 0; i < TRIAL_ROUTES; i++)
		routes[i] = trial.routes[i];
	one->prefilter = NULL;
	if (has_filters)
		ck_assert_int_eq(once_prefilter_create(
					 &options, &one->prefilter, &trial.err),
				 ONCE_OK);
	session.prefilter = one->prefilter;
	ck_assert_int_eq(
		once_session_create(&session, &one->session, &trial.err),
		ONCE_OK);
}

static void close_one(struct process_of_ours *one)
{
	once_session_destroy(one->session);
	once_prefilter_destroy(one->prefilter);
}

static void take(struct process_of_ours *one, size_t at)
{
	struct process_of_ours *other = &both[one == both];
	struct once_position position;

	for (int i = 0; i < 2; i++) {
		while (once_session_take_position(one->session, "g", "t", i,
						  &position,
						  &trial.err) != ONCE_OK)
			ck_assert_int_eq(trial.err.status, ONCE_TRANSIENT);
		one->strands[i] = (struct once_strand){ "g",
							"t",
							i,
							position.next_offset,
							position.attempts,
							position.tenure };
	}
	one->at = at;
	one->was_robbed = false;
	other->was_robbed = true;
}

/* ---- a batch ---- */

static bool is_final(const struct once_item *item)
{
	return item->ending == ONCE_HANDLED_ENDING ||
	       item->ending == ONCE_DUPLICATE_ENDING ||
	       item->ending == ONCE_CONFLICT_ENDING ||
	       item->ending == ONCE_DEAD_ENDING;
}

/* true: some of them aren't final. */
static bool prepare(struct process_of_ours *one, size_t at, size_t count)
{
	bool is_first[2] = { true, true };
	bool some = false;

	for (size_t i = at; i < at + count; i++) {
		struct once_item *item = &mail.items[i];
		int32_t number = item->record.partition;

		if (is_final(item))
			continue;
		some = true;
		item->ending = ONCE_PENDING_ENDING;
		item->strand = &one->strands[number];
		item->attempt =
			is_first[number] ? item->strand->attempts + 1 : 1;
		is_first[number] = false;
	}
	return some;
}

static void forget(size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++)
		mail.items[i].ending = ONCE_PENDING_ENDING;
}

static enum once_status run(struct process_of_ours *one, size_t at,
			    size_t count)
{
	enum once_status status = ONCE_OK;

	while (status == ONCE_OK && prepare(one, at, count))
		status = once_session_run(one->session, mail.items + at, count,
					  NULL, &trial.err);
	return status;
}

static size_t draw_count(size_t at)
{
	size_t count = has_filters ? 1 + draw(MOST_OF_A_BATCH) : 1;

	return count < COUNT - at ? count : COUNT - at;
}

/* Until it is done, by whoever has to take anew. */
static size_t go_on(struct process_of_ours *one, size_t at)
{
	size_t count = draw_count(at);
	enum once_status status = run(one, at, count);

	while (status != ONCE_OK) {
		ck_assert_msg(status == ONCE_TRANSIENT || status == ONCE_FENCED,
			      "status %d: %s", (int)status, trial.err.text);
		if (status == ONCE_FENCED)
			take(one, at);
		status = run(one, at, count);
	}
	one->at = at + count;
	return at + count;
}

/* ---- what happens ---- */

static void save(size_t at)
{
	pg_fixture_run(&trial.pg,
		       "SET client_min_messages = warning;"
		       "DROP SCHEMA IF EXISTS saved CASCADE;"
		       "CREATE SCHEMA saved;"
		       "CREATE TABLE saved.log AS TABLE once.consume_log;"
		       "CREATE TABLE saved.tenure AS TABLE once.tenure;"
		       "CREATE TABLE saved.position AS TABLE once.position;"
		       "CREATE TABLE saved.parked AS TABLE once.parked;"
		       "CREATE TABLE saved.effect AS TABLE effect;"
		       "CREATE TABLE saved.answer AS TABLE answer");
	is_saved = true;
	saved_at = at;
}

static void end_backends(void)
{
	pg_fixture_run(&trial.pg,
		       "SELECT pg_terminate_backend(pid, 10000) "
		       "FROM pg_stat_activity WHERE application_name = 'agree' "
		       "AND datname = current_database()");
}

static void lose(void)
{
	end_backends();
	pg_fixture_run(&trial.pg,
		       "DELETE FROM once.consume_log; DELETE FROM once.tenure;"
		       "DELETE FROM once.position; DELETE FROM once.parked;"
		       "DELETE FROM effect; DELETE FROM answer;"
		       "INSERT INTO once.consume_log SELECT * FROM saved.log;"
		       "INSERT INTO once.tenure SELECT * FROM saved.tenure;"
		       "INSERT INTO once.position SELECT * FROM saved.position;"
		       "INSERT INTO once.parked SELECT * FROM saved.parked;"
		       "INSERT INTO effect SELECT * FROM saved.effect;"
		       "INSERT INTO answer SELECT * FROM saved.answer");
	losses++;
}

/* Who was robbed and doesn't know it changes nothing. */
static void let_a_zombie_try(struct process_of_ours *zombie)
{
	size_t count = draw_count(zombie->at);
	enum once_status status = ONCE_TRANSIENT;

	if (!zombie->was_robbed || count == 0)
		return;
	struct once_item *kept = malloc(count * sizeof(*kept));

	ck_assert_ptr_nonnull(kept);
	memcpy(kept, mail.items + zombie->at, count * sizeof(*kept));
	forget(zombie->at, count);
	for (int i = 0; i < 3 && status == ONCE_TRANSIENT; i++)
		status = run(zombie, zombie->at, count);
	ck_assert_msg(status == ONCE_FENCED, "status %d: %s", (int)status,
		      trial.err.text);
	memcpy(mail.items + zombie->at, kept, count * sizeof(*kept));
	free(kept);
}

static size_t let_it_be_lost(struct process_of_ours *one, size_t at)
{
	bool knows = draw(2) == 0 || saved_at != at;

	lose();
	both[0].was_robbed = both[1].was_robbed = false;
	forget(saved_at, COUNT - saved_at);
	if (knows)
		take(one, saved_at);
	return saved_at;
}

/* Who goes on. */
static struct process_of_ours *let_happen(struct process_of_ours *one,
					  size_t *at)
{
	struct process_of_ours *other = &both[one == both];

	if (draw(6) == 0)
		save(*at);
	switch (draw(9)) {
	case 0:
		end_backends();
		break;
	case 1:
		take(one, *at);
		break;
	case 2:
	case 3:
		take(other, *at);
		if (draw(2) == 0)
			let_a_zombie_try(one);
		if (is_saved && losses < MOST_LOSSES && draw(3) == 0)
			*at = let_it_be_lost(other, *at);
		return other;
	case 4:
		close_one(one);
		open_one(one);
		take(one, *at);
		break;
	case 5:
		if (is_saved && losses < MOST_LOSSES)
			*at = let_it_be_lost(one, *at);
		break;
	default:
		break;
	}
	return one;
}

static void travel(void)
{
	static const int64_t zeros[] = { 0, 0 };
	struct process_of_ours *one = &both[0];

	open_one(&both[0]);
	open_one(&both[1]);
	ck_assert_int_eq(once_session_create_positions(one->session, "g", "t",
						       zeros, 2, &trial.err),
			 ONCE_OK);
	take(one, 0);
	both[1].was_robbed = false;
	is_saved = false;
	losses = 0;
	for (size_t at = 0; at < COUNT;) {
		at = go_on(one, at);
		if (has_filters && at < COUNT)
			one = let_happen(one, &at);
	}
	close_one(&both[0]);
	close_one(&both[1]);
}

/* ---- what comes of it ---- */

static char *tell(void)
{
	static const char left_sql[] =
		"SELECT concat((SELECT string_agg(msg_id || value, ' ' "
		"ORDER BY msg_id, value) FROM effect), '|', (SELECT "
		"string_agg(concat(partition, '/', message_offset, cause, "
		"encode(original_fingerprint, 'hex')), ' ' "
		"ORDER BY partition, message_offset) FROM once.parked), '|', "
		"(SELECT string_agg(concat(place, '=', result), ' ' "
		"ORDER BY place) FROM answer))";
	char *left = pg_fixture_get_text(&trial.pg, left_sql);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < mail.count; i++) {
		const struct once_item *item = &mail.items[i];
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

static char *tell_of(bool filters, unsigned seed)
{
	char *told;

	has_filters = filters;
	partitions = seed % 2 == 0 ? 1 : 2;
	dice = seed;
	init_trial();
	fill_mail();
	travel();
	told = tell();
	mail_fini(&mail);
	trial_fini(&trial);
	return told;
}

START_TEST(whatever_happens_the_messages_end_the_same_way)
{
	unsigned seed = 1000u + (unsigned)_i;
	char *wanted = tell_of(false, seed);
	char *told = tell_of(true, seed);
	size_t same = 0;

	while (told[same] != '\0' && told[same] == wanted[same])
		same++;
	ck_assert_msg(strcmp(told, wanted) == 0, "seed %u: …%.80s, not …%.80s",
		      seed, told + (same < 20 ? 0 : same - 20),
		      wanted + (same < 20 ? 0 : same - 20));
	free(told);
	free(wanted);
}
END_TEST

static void set_up(void)
{
	struct once_error err;

	ck_assert_msg(redis_server_create(&redis, &err) == ONCE_OK, "%s",
		      err.text);
}

static void tear_down(void)
{
	redis_server_destroy(&redis);
}

int main(void)
{
	Suite *suite = suite_create("agree");
	TCase *tcase = tcase_create("agree");

	servers_need(NEED(PG) | NEED(REDIS));
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase,
			    whatever_happens_the_messages_end_the_same_way, 0,
			    SEEDS);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
