/*
 * test_memory.c - what couldn't be given to the server, since there was no
 * memory for it, is not taken for nothing; and a batch needs no more memory for
 * answers than its largest call.
 */
#include "pg_fixture.h"
#include "servers.h"
#include "suite.h"

#include "trial.h"

#include <call.h>
#include <pg_array.h>
#include <pg_impl.h>

static struct pg_fixture fixture;
static struct once__pg *pg;

static void set_up(void)
{
	struct once__pg_options options = { 0 };
	struct once_error err;

	pg_fixture_init(&fixture);
	options.conninfo = fixture.conninfo;
	ck_assert_msg(once__pg_open(&options, &pg, &err) == ONCE_OK, "%s",
		      err.text);
}

static void tear_down(void)
{
	once__pg_close(pg);
	pg_fixture_fini(&fixture);
}

/* NULL would be no rows: no claims, and no effects, and a COMMIT. */
START_TEST(an_array_that_could_not_be_built_fails_its_statement)
{
	static const char sql[] = "SELECT count(*) FROM unnest($1::bytea[])";
	struct once__pg_array array = { 0 };

	once__pg_array_init(&array, ONCE__PG_BYTEA);
	once__pg_array_add(&array, (struct once_bytes){ "row", 3 });
	array.buffer.broken = true; /* as text_add() does */
	once__pg_begin(pg);
	ck_assert_ptr_null(
		once__pg_exec(pg, ONCE__PG_OURS, sql,
			      ONCE_PARAMS(once__pg_array_param(&array))));
	ck_assert_str_eq(once__pg_failure(pg)->sqlstate, "53200");
	ck_assert_int_eq(once__pg_failure(pg)->class, ONCE__PG_SERVER);
	once__pg_array_fini(&array);
}
END_TEST

/* Or it would be inserted as NULL. */
START_TEST(an_element_of_an_array_that_could_not_be_built_fails_too)
{
	struct once__pg_array array = { 0 };
	struct once_param param = { { NULL, 0 }, 0 };
	size_t place = 0;

	once__pg_array_init(&array, ONCE__PG_TEXT);
	once__pg_array_add(&array, (struct once_bytes){ "row", 3 });
	param.value = once__pg_array_next(&array, &place);
	ck_assert_uint_eq(param.value.size, 3);
	param.value = once__pg_array_next(&array, &place); /* behind it */
	once__pg_begin(pg);
	once__pg_send(pg, ONCE__PG_OURS, "SELECT $1::text", &param, 1);
	ck_assert_str_eq(once__pg_failure(pg)->sqlstate, "53200");
	array.buffer.broken = true;
	place = 0;
	param.value = once__pg_array_next(&array, &place);
	ck_assert_ptr_null(param.value.data);
	ck_assert_uint_eq(param.value.size, ONCE__PG_NOT_MADE);
	once__pg_array_fini(&array);
}
END_TEST

/* ---- the rows that handlers ask for ---- */

static struct trial trial;
static size_t kept[3]; /* when each call begins */

static enum once_verdict read_much(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	static const char sql[] = "SELECT repeat('x', 1000000)";
	const struct once_rows *rows;

	(void)self;
	kept[once_offset(msg)] = call->pg->kept_count;
	for (int i = 0; i < 2; i++) {
		rows = once_exec(call, sql, NULL, 0);
		ck_assert_ptr_nonnull(rows);
	}
	ck_assert_uint_eq(once_rows_get(rows, 0, 0).size, 1000000);
	return ONCE_DONE;
}

static const struct once_handler reading = { ONCE_HANDLER_ABI_FIELDS,
					     .name = "reading",
					     .handle = read_much };

/* Those of the batch's own, which say who was there before, are still needed:
 * its message 1 repeats what was handled before. */
START_TEST(the_rows_of_a_call_end_with_it)
{
	struct once_route_options route = trial_route();
	struct mail mail;

	route.handler = &reading;
	trial_init(&trial, &route, 1);
	mail_init(&mail, 1);
	mail_set_id(&mail, 0, "m1");
	mail_set_biz(&mail, 0, "b1");
	trial_run(&trial, &mail, ONCE_OK);
	mail_fini(&mail);
	mail_init(&mail, 3);
	trial_run(&trial, &mail, ONCE_OK);
	ck_ending(mail.items[1], ONCE_DUPLICATE_ENDING);
	ck_assert_uint_gt(kept[0], 0);
	ck_assert_uint_eq(kept[2], kept[0]);
	mail_fini(&mail);
	trial_fini(&trial);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG));
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests,
		       an_array_that_could_not_be_built_fails_its_statement);
	tcase_add_test(
		tests,
		an_element_of_an_array_that_could_not_be_built_fails_too);
	tcase_add_test(tests, the_rows_of_a_call_end_with_it);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
