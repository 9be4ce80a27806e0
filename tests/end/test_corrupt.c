/*
 * test_corrupt.c - a batch that is damaged on the broker's disk: its partition
 * halts before it, the others go on, and a person says where it goes on.
 */
#include "kafka_server.h"
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <stdio.h>

enum {
	WAIT_MS = 50000,
	FROM_THE_END = 4 /* within the last record's value */
};

/* The last batch's, of a broker that is stopped. */
static void flip_a_byte(const struct kafka_server *server, const char *topic)
{
	char path[PATH_MAX + 300];
	FILE *file;
	int byte;

	snprintf(path, sizeof(path), "%s/%s-0/00000000000000000000.log",
		 server->data, topic);
	file = fopen(path, "r+e");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, -FROM_THE_END, SEEK_END), 0);
	byte = fgetc(file);
	ck_assert_int_ne(byte, EOF);
	ck_assert_int_eq(fseek(file, -FROM_THE_END, SEEK_END), 0);
	ck_assert_int_ne(fputc(byte ^ 0x55, file), EOF);
	fclose(file);
}

static void restart(struct kafka_server *server, struct onced_fixture *fixture)
{
	struct once_error err;

	kafka_server_stop(server);
	flip_a_byte(server, fixture->kafka.topic);
	ck_assert_msg(kafka_server_start(server, &err) == ONCE_OK, "%s",
		      err.text);
}

static void start(struct kafka_server *server, struct onced_fixture *fixture,
		  struct onced *onced)
{
	struct once_error err;

	ck_assert_msg(kafka_server_create(server, NULL, &err) == ONCE_OK, "%s",
		      err.text);
	onced_fixture_init_on(fixture, 2, server->bootstrap);
	onced_init(onced, fixture, NULL);
	onced_fixture_send_series(fixture, 0, 10);
}

/* Offsets 0 to 4 are good, 5 to 9 damaged, 10 to 14 good. */
START_TEST(a_damaged_batch_halts_its_partition_alone)
{
	struct onced_fixture fixture;
	struct kafka_server server;
	struct onced onced;
	const char *seek[] = { "seek",        "-c", NULL,   "--topic", NULL,
			       "--partition", "0",  "--to", "10",      NULL };

	start(&server, &fixture, &onced);
	onced_fixture_send_series(&fixture, 10, 10);
	restart(&server, &fixture);
	onced_fixture_send_series(&fixture, 20, 10);
	ck_assert_int_eq(onced_command(&onced, "keys", NULL), 1);
	onced_check_output(&onced, "[0] halts: what stands at offset 5 can't "
				   "be read");
	onced_start(&onced, NULL);
	onced_wait_until_not_ready(
		&onced, "the batch at offset 5 can't be read", WAIT_MS);
	onced_wait_until_not_ready(&onced, "onced seek --topic", WAIT_MS);
	onced_fixture_wait_for(&fixture,
			       "SELECT next_offset FROM once.position "
			       "WHERE partition = 1",
			       15, WAIT_MS);
	onced_fixture_check_effects(&fixture, 20);
	ck_assert_int_eq(onced_fixture_position(&fixture, 0), 5);
	ck_assert_int_eq(onced_stop(&onced), 0);

	onced_fixture_without_monitor(&fixture); /* five are passed over */
	seek[2] = onced.config;
	seek[4] = fixture.kafka.topic;
	ck_assert_int_eq(onced_call(&onced, seek), 0);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 25);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
	kafka_server_destroy(&server);
}
END_TEST

/* It is read again only to be compared. */
START_TEST(a_handled_batch_that_is_damaged_later_halts_nothing)
{
	struct onced_fixture fixture;
	struct kafka_server server;
	struct onced onced;

	start(&server, &fixture, &onced);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	restart(&server, &fixture);
	onced_fixture_send_series(&fixture, 10, 10);
	onced_start(&onced, NULL);
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	onced_fixture_check_effects(&fixture, 20);
	onced_wait_until_ready(&onced, WAIT_MS);
	ck_assert_int_ge(
		onced_get_metric(&onced, "onced_anchor_gone_total", NULL), 1);
	ck_assert_int_eq(onced_stop(&onced), 0);
	onced_fixture_fini(&fixture);
	kafka_server_destroy(&server);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("corrupt");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tests, a_damaged_batch_halts_its_partition_alone);
	tcase_add_test(tests,
		       a_handled_batch_that_is_damaged_later_halts_nothing);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
