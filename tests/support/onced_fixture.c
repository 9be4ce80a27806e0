/*
 * onced_fixture.c - a topic, a database and a directory for onced, and what is
 * sent and found there. Its processes are in onced_process.c.
 *
 * The idea: a test waits for what the database says, never for a time.
 */
#include "onced_fixture.h"

#include <bytes.h>
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HEAVY_SIZE = 10000, /* of a value, */
	HEAVY_AT_ONCE = 100 /* of which a megabyte has so many */
};

static const char effect_sql[] =
	"CREATE TABLE effect (ordinal bigint GENERATED ALWAYS AS IDENTITY, "
	"msg_id text, biz_id text, partition integer, message_offset bigint, "
	"attempt integer, value text, "
	"at timestamptz NOT NULL DEFAULT clock_timestamp()); "
	"CREATE TABLE hot (id integer PRIMARY KEY, n bigint NOT NULL); "
	"INSERT INTO hot SELECT i, 0 FROM generate_series(0, 15) AS i";

/* ---- made and unmade ---- */

static void migrate(struct onced_fixture *fixture)
{
	struct onced_options options = { .name = "migrate" };
	struct onced onced;

	onced_init(&onced, fixture, &options);
	ck_assert_int_eq(onced_command(&onced, "migrate", NULL), 0);
	pg_fixture_run(&fixture->pg, effect_sql);
}

/* The database and the topic are there. */
static void init_rest(struct onced_fixture *fixture, int partitions)
{
	struct once_error err;

	ck_assert_msg(temp_dir_init(&fixture->dir, &err) == ONCE_OK, "%s",
		      err.text);
	fixture->partitions = partitions;
	fixture->shift = 0;
	fixture->sent = 0;
	fixture->monitor = NULL;
	migrate(fixture);
	fixture->monitor =
		monitor_create(&fixture->kafka, fixture->pg.conninfo);
}

void onced_fixture_init(struct onced_fixture *fixture, int partitions)
{
	pg_fixture_init(&fixture->pg);
	kafka_fixture_init(&fixture->kafka, partitions);
	init_rest(fixture, partitions);
}

void onced_fixture_init_at(struct onced_fixture *fixture, int partitions,
			   const char *conninfo)
{
	pg_fixture_init_at(&fixture->pg, conninfo);
	kafka_fixture_init(&fixture->kafka, partitions);
	init_rest(fixture, partitions);
}

void onced_fixture_init_on(struct onced_fixture *fixture, int partitions,
			   const char *bootstrap)
{
	pg_fixture_init(&fixture->pg);
	kafka_fixture_init_at(&fixture->kafka, bootstrap, partitions);
	init_rest(fixture, partitions);
}

void onced_fixture_init_mock(struct onced_fixture *fixture, int partitions)
{
	pg_fixture_init(&fixture->pg);
	kafka_fixture_init_mock(&fixture->kafka, partitions);
	init_rest(fixture, partitions);
}

void onced_fixture_init_with(struct onced_fixture *fixture, int partitions,
			     const char *conninfo, const char *bootstrap)
{
	pg_fixture_init_at(&fixture->pg, conninfo);
	kafka_fixture_init_at(&fixture->kafka, bootstrap, partitions);
	init_rest(fixture, partitions);
}

static void stop_at(struct onced_fixture *fixture, const char *fault)
{
	if (fault == NULL)
		return;
	onced_fixture_show_logs(fixture);
	ck_abort_msg("monitor: %s", fault);
}

void onced_fixture_without_monitor(struct onced_fixture *fixture)
{
	if (fixture->monitor == NULL)
		return;
	stop_at(fixture, monitor_judge(fixture->monitor));
	monitor_destroy(fixture->monitor);
	fixture->monitor = NULL;
}

void onced_fixture_begin_anew(struct onced_fixture *fixture)
{
	char group[sizeof(fixture->kafka.group)];

	onced_fixture_without_monitor(fixture);
	snprintf(group, sizeof(group), "%.80s-anew", fixture->kafka.group);
	memcpy(fixture->kafka.group, group, sizeof(group));
	pg_fixture_fini(&fixture->pg);
	pg_fixture_init(&fixture->pg);
	migrate(fixture);
}

void onced_fixture_fini(struct onced_fixture *fixture)
{
	onced_fixture_without_monitor(fixture);
	kafka_fixture_fini(&fixture->kafka);
	pg_fixture_fini(&fixture->pg);
	temp_dir_fini(&fixture->dir);
}

/* ---- messages ---- */

struct envelope {
	struct once_header headers[3];
	size_t header_count;
};

static void add_header(struct envelope *envelope, const char *name,
		       const char *value)
{
	struct once_header *header = &envelope->headers[envelope->header_count];

	if (value == NULL)
		return;
	header->name = name;
	header->value = bytes_text(value);
	envelope->header_count++;
}

static void fill_record(struct once_record *record, struct envelope *envelope,
			const struct letter *letter)
{
	add_header(envelope, "id", letter->msg_id);
	add_header(envelope, "biz", letter->biz_id);
	add_header(envelope, "act", letter->act);
	record->partition = letter->partition;
	record->value = bytes_text(letter->value);
	record->headers = envelope->headers;
	record->header_count = envelope->header_count;
}

static void note(struct onced_fixture *fixture, const struct letter *letters,
		 const struct once_record *records, size_t count)
{
	for (size_t i = 0; i < count && fixture->monitor != NULL; i++)
		monitor_note(fixture->monitor, records[i].partition,
			     records[i].offset, letters[i].msg_id,
			     letters[i].biz_id);
}

void onced_fixture_send(struct onced_fixture *fixture,
			const struct letter *letters, size_t count)
{
	struct once_record *records = calloc(count, sizeof(*records));
	struct envelope *envelopes = calloc(count, sizeof(*envelopes));

	ck_assert(records != NULL && envelopes != NULL);
	for (size_t i = 0; i < count; i++)
		fill_record(&records[i], &envelopes[i], &letters[i]);
	kafka_fixture_produce(&fixture->kafka, records, count);
	note(fixture, letters, records, count);
	fixture->sent += (int64_t)count;
	free(envelopes);
	free(records);
}

struct texts {
	char msg_id[24];
	char biz_id[24];
	char value[24];
};

static struct letter number_letter(const struct onced_fixture *fixture,
				   struct texts *texts, int64_t number)
{
	struct letter letter = {
		.partition = (int32_t)((number + fixture->shift) %
				       fixture->partitions),
		.msg_id = texts->msg_id,
		.biz_id = texts->biz_id,
		.value = texts->value,
	};

	snprintf(texts->msg_id, sizeof(texts->msg_id), "m%" PRId64, number);
	snprintf(texts->biz_id, sizeof(texts->biz_id), "b%" PRId64, number);
	snprintf(texts->value, sizeof(texts->value), "v%" PRId64, number);
	return letter;
}

void onced_fixture_send_series(struct onced_fixture *fixture, int64_t first,
			       int64_t count)
{
	struct letter *letters = calloc((size_t)count, sizeof(*letters));
	struct texts *texts = calloc((size_t)count, sizeof(*texts));

	ck_assert(letters != NULL && texts != NULL);
	for (int64_t i = 0; i < count; i++)
		letters[i] = number_letter(fixture, &texts[i], first + i);
	onced_fixture_send(fixture, letters, (size_t)count);
	free(texts);
	free(letters);
}

void onced_fixture_send_heavy(struct onced_fixture *fixture, int megabytes,
			      const char *act)
{
	struct letter letters[HEAVY_AT_ONCE];
	struct texts texts[HEAVY_AT_ONCE];
	char value[HEAVY_SIZE + 1] = { 0 };

	memset(value, 'v', HEAVY_SIZE);
	for (int sent = 0; sent < megabytes; sent++) {
		for (int i = 0; i < HEAVY_AT_ONCE; i++) {
			letters[i] = number_letter(fixture, &texts[i],
						   sent * HEAVY_AT_ONCE + i);
			letters[i].value = value;
			letters[i].act = act;
		}
		onced_fixture_send(fixture, letters, HEAVY_AT_ONCE);
	}
}

static void make_path(const struct onced_fixture *fixture, const char *name,
		      char path[PATH_MAX])
{
	struct once_error err;

	ck_assert_msg(temp_dir_path(path, fixture->dir.path, name, &err) ==
			      ONCE_OK,
		      "%s", err.text);
}

void onced_fixture_put_file(struct onced_fixture *fixture, const char *name)
{
	char path[PATH_MAX];
	int fd;

	make_path(fixture, name, path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ne(fd, -1);
	close(fd);
}

void onced_fixture_remove_file(struct onced_fixture *fixture, const char *name)
{
	char path[PATH_MAX];

	make_path(fixture, name, path);
	ck_assert_int_eq(unlink(path), 0);
}

static bool is_there(void *arg)
{
	return access(arg, F_OK) == 0;
}

void onced_fixture_wait_for_file(struct onced_fixture *fixture,
				 const char *name, int64_t timeout_ms)
{
	char path[PATH_MAX];

	make_path(fixture, name, path);
	ck_assert_msg(wait_until(is_there, path, timeout_ms),
		      "there is no \"%s\" after %" PRId64 " ms", path,
		      timeout_ms);
}

/* ---- what came of them ---- */

struct wanted {
	struct onced_fixture *fixture;
	const char *sql;
	int64_t number;
	int64_t found;
};

static bool is_found(void *arg)
{
	struct wanted *wanted = arg;
	struct monitor *monitor = wanted->fixture->monitor;

	if (monitor != NULL)
		stop_at(wanted->fixture, monitor_find_fault(monitor));
	wanted->found = pg_fixture_get_int64(&wanted->fixture->pg, wanted->sql);
	return wanted->found == wanted->number;
}

void onced_fixture_wait_for(struct onced_fixture *fixture, const char *sql,
			    int64_t number, int64_t timeout_ms)
{
	struct wanted wanted = { fixture, sql, number, 0 };

	if (wait_until(is_found, &wanted, timeout_ms))
		return;
	onced_fixture_show_logs(fixture);
	ck_abort_msg("%s: is %" PRId64 " after %" PRId64 " ms, not %" PRId64,
		     sql, wanted.found, timeout_ms, number);
}

void onced_fixture_wait_for_all(struct onced_fixture *fixture,
				int64_t timeout_ms)
{
	onced_fixture_wait_for(
		fixture,
		"SELECT coalesce(sum(next_offset), 0) FROM once.position",
		fixture->sent, timeout_ms);
}

int64_t onced_fixture_position(struct onced_fixture *fixture, int32_t partition)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(max(next_offset), -1) FROM once.position "
		 "WHERE partition = %d",
		 (int)partition);
	return pg_fixture_get_int64(&fixture->pg, sql);
}

void onced_fixture_check_effects(struct onced_fixture *fixture, int64_t count)
{
	struct pg_fixture *pg = &fixture->pg;
	int64_t done = pg_fixture_get_int64(pg, "SELECT count(*) FROM effect");
	int64_t distinct = pg_fixture_get_int64(
		pg, "SELECT count(DISTINCT biz_id) FROM effect");

	if (done == count && distinct == count)
		return;
	onced_fixture_show_logs(fixture);
	ck_abort_msg("of %" PRId64 " operations %" PRId64 " took effect, "
		     "%" PRId64 " times",
		     count, distinct, done);
}
