/*
 * outage.c - what tests of a failing database have in common.
 *
 * The idea: to a consumer every outage looks alike when it is over: as if there
 * had been none.
 */
#include "outage.h"

#include <check.h>
#include <clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	LOAD = 20 /* messages at a time */
};

void outage_create_server(struct pg_server *server, const char *const *settings)
{
	struct once_error err;

	ck_assert_msg(pg_server_create(server, settings, &err) == ONCE_OK, "%s",
		      err.text);
}

void outage_create_standby(struct pg_server *server,
			   const struct pg_server *primary)
{
	struct once_error err;

	ck_assert_msg(pg_server_create_standby(server, primary, &err) ==
			      ONCE_OK,
		      "%s", err.text);
}

void outage_start_server(struct pg_server *server)
{
	struct once_error err;

	ck_assert_msg(pg_server_start(server, &err) == ONCE_OK, "%s", err.text);
}

void outage_send_for(struct onced_fixture *fixture, int64_t ms)
{
	const struct timespec pause = { 0, 20000000 };
	int64_t deadline_ms = clock_ms() + ms;

	while (clock_ms() < deadline_ms) {
		onced_fixture_send_series(fixture, fixture->sent, LOAD);
		nanosleep(&pause, NULL);
	}
}

void outage_check_that_nothing_happened(struct onced *onced)
{
	struct onced_fixture *fixture = onced->fixture;
	struct pg_fixture *pg = &fixture->pg;

	onced_fixture_wait_for_all(fixture, OUTAGE_WAIT_MS);
	onced_fixture_check_effects(fixture, fixture->sent);
	ck_assert_int_eq(
		pg_fixture_get_int64(pg, "SELECT max(attempt) FROM effect"), 1);
	ck_assert_int_eq(
		pg_fixture_get_int64(pg, "SELECT count(*) FROM once.parked"),
		0);
	onced_wait_until_ready(onced, OUTAGE_WAIT_MS);
	ck_assert_int_eq(onced_stop(onced), 0);
	for (int i = 0; i < fixture->partitions; i++) {
		int64_t position = onced_fixture_position(fixture, i);

		if (position > 0)
			ck_assert_int_eq(
				kafka_fixture_get_committed(&fixture->kafka, i),
				position);
	}
}

long outage_get_memory_kb(const struct onced *onced)
{
	char path[64];
	char *status;
	char *line;
	long kb;

	snprintf(path, sizeof(path), "/proc/%d/status",
		 (int)onced->process.pid);
	status = read_file(path);
	line = status == NULL ? NULL : strstr(status, "VmHWM:");
	ck_assert_ptr_nonnull(line);
	kb = strtol(line + 6, NULL, 10);
	free(status);
	return kb;
}
