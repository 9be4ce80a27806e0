/*
 * test_dev.c - `onced dev`: a handler is tried with nothing set up, by its
 * user's own configuration, and nothing is left behind.
 */
#include "alone.h"
#include "suite.h"

#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <scope.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	START_MS = 60000,
	HANDLED_MS = 30000,
	STOP_MS = 20000,
	SECONDS = 120
};

/* It names servers that aren't there, and what only they would need. */
static const char config[] = "kafka:\n"
			     "  brokers: 127.0.0.1:1\n"
			     "  group: dev\n"
			     "  properties: [security.protocol=SASL_SSL]\n"
			     "database:\n"
			     "  conninfo: host=/nowhere\n"
			     "retention: forever\n"
			     "admin:\n"
			     "  listen: \"\"\n"
			     "handlers:\n"
			     "  - name: refund\n"
			     "    topics: [refunds, more]\n"
			     "    plugin: %s/handlers/refund.so\n"
			     "    biz_id: \"{json:/refund_no}\"\n";

static const char goods[] = "INSERT INTO orders VALUES ('O-1', 100);"
			    "INSERT INTO stock VALUES ('S-1', 0);";

static FILE *open_in(const struct alone *alone, const char *name)
{
	char path[PATH_MAX];
	struct once_error err;
	FILE *file;

	ck_assert(temp_dir_path(path, alone->dir.path, name, &err) == ONCE_OK);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	return file;
}

static void write_files(const struct alone *alone, const char *more_sql)
{
	char path[PATH_MAX];
	FILE *file = open_in(alone, "onced.yaml");
	scoped_free char *tables = NULL;

	fprintf(file, config, getenv("ONCE_TEST_BUILD"));
	fclose(file);
	snprintf(path, sizeof(path), "%s/handlers/refund.sql",
		 getenv("ONCE_TEST_SOURCE"));
	tables = read_file(path);
	ck_assert_ptr_nonnull(tables);
	file = open_in(alone, "tables.sql");
	fprintf(file, "%s%s", tables, more_sql);
	fclose(file);
}

static void start_dev(struct alone *alone, const char *sql_file)
{
	const char *argv[] = { getenv("ONCE_TEST_ONCED"), "dev", "--sql",
			       sql_file, NULL };

	alone_start(alone, argv, NULL);
}

/* What stands behind `label` on its line. */
static char *find_printed(const struct alone *alone, const char *label)
{
	scoped_free char *output = read_file(alone->output);
	const char *at = output == NULL ? NULL : strstr(output, label);

	ck_assert_ptr_nonnull(at);
	at += strlen(label);
	at += strspn(at, " ");
	return strndup(at, strcspn(at, "\n"));
}

static rd_kafka_t *create_producer(const char *brokers)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;
	char text[200];

	ck_assert_int_eq(rd_kafka_conf_set(conf, "bootstrap.servers", brokers,
					   text, sizeof(text)),
			 RD_KAFKA_CONF_OK);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	ck_assert_ptr_nonnull(rk);
	return rk;
}

static void send_twice(const char *brokers, const char *topic,
		       const char *value)
{
	rd_kafka_t *rk = create_producer(brokers);
	/* clang-format off */
	const rd_kafka_vu_t parts[] = {
		{ RD_KAFKA_VTYPE_TOPIC, { .cstr = topic } },
		{ RD_KAFKA_VTYPE_VALUE, { .mem = { (void *)(uintptr_t)value,
						   strlen(value) } } },
		{ RD_KAFKA_VTYPE_HEADER, { .header = { "message-id", "m-1",
						       3 } } },
		{ RD_KAFKA_VTYPE_MSGFLAGS, { .i = RD_KAFKA_MSG_F_COPY } },
	};
	/* clang-format on */

	for (int i = 0; i < 2; i++)
		ck_assert_ptr_null(rd_kafka_produceva(
			rk, parts, sizeof(parts) / sizeof(parts[0])));
	ck_assert_int_eq(rd_kafka_flush(rk, HANDLED_MS), 0);
	rd_kafka_destroy(rk);
}

struct question {
	PGconn *conn;
	const char *sql;
};

static bool is_true(void *arg)
{
	const struct question *question = arg;
	PGresult *res = PQexec(question->conn, question->sql);
	bool yes =
		PQntuples(res) == 1 && strcmp(PQgetvalue(res, 0, 0), "t") == 0;

	PQclear(res);
	return yes;
}

START_TEST(a_message_is_handled_once_with_nothing_set_up)
{
	static const char value[] =
		"{\"refund_no\":\"R-1\",\"order_no\":\"O-1\","
		"\"sku\":\"S-1\",\"quantity\":1,"
		"\"amount\":\"9.90\"}";
	struct question question = {
		.sql = "SELECT (SELECT sum(next_offset) FROM once.position) = 2 "
		       "AND (SELECT refunded FROM orders) = 9.90"
	};
	scoped_free char *brokers = NULL;
	scoped_free char *conninfo = NULL;
	struct alone alone;

	alone_init(&alone);
	write_files(&alone, goods);
	start_dev(&alone, "tables.sql");
	alone_wait_for_output(&alone, "Ctrl-C", START_MS);
	brokers = find_printed(&alone, "broker ");
	conninfo = find_printed(&alone, "database ");
	send_twice(brokers, "more", value);
	question.conn = PQconnectdb(conninfo);
	ck_assert(wait_until(is_true, &question, HANDLED_MS));
	PQfinish(question.conn);
	process_signal(&alone.process, SIGTERM);
	ck_assert_int_eq(alone_wait(&alone, STOP_MS), 0);
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

START_TEST(a_killed_one_leaves_nothing_behind)
{
	struct alone alone;

	alone_init(&alone);
	write_files(&alone, goods);
	start_dev(&alone, "tables.sql");
	alone_wait_for_output(&alone, "Ctrl-C", START_MS);
	process_kill(&alone.process);
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

START_TEST(wrong_sql_is_refused_by_file_and_place)
{
	struct alone alone;

	alone_init(&alone);
	write_files(&alone, "CREATE TABEL t ();");
	start_dev(&alone, "tables.sql");
	ck_assert_int_eq(alone_wait(&alone, START_MS), 78);
	alone_check_output(&alone, "tables.sql");
	alone_check_output(&alone, "syntax error at or near \"TABEL\"");
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

START_TEST(a_missing_sql_file_is_named)
{
	struct alone alone;

	alone_init(&alone);
	write_files(&alone, "");
	start_dev(&alone, "none.sql");
	ck_assert_int_eq(alone_wait(&alone, START_MS), 78);
	alone_check_output(&alone, "could not read \"none.sql\": No such file");
	alone_check_nothing_is_left(&alone);
	alone_fini(&alone);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dev");
	TCase *tests = tcase_create("all");

	tcase_set_timeout(tests, SECONDS);
	tcase_add_test(tests, a_message_is_handled_once_with_nothing_set_up);
	tcase_add_test(tests, a_killed_one_leaves_nothing_behind);
	tcase_add_test(tests, wrong_sql_is_refused_by_file_and_place);
	tcase_add_test(tests, a_missing_sql_file_is_named);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
