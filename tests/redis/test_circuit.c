/* A Redis that fails, in every way that we know: nobody waits for it longer
 * than once, and nobody has to do anything when it is back. */
#include "bytes.h"
#include "impostor.h"
#include "lined.h"
#include "servers.h"
#include "suite.h"

#include <check.h>
#include <clock.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct redis_server server;
static struct lined line;

static void start(const char *const *settings, int64_t timeout_ms)
{
	lined_start(&server, settings);
	lined_init(&line, server.url, timeout_ms);
}

static void stop(void)
{
	lined_fini(&line);
	redis_server_destroy(&server);
}

/* Has a line that works, which would be frozen out by a slow start. */
static void start_used(void)
{
	start(NULL, LINED_PATIENT_MS);
	lined_set(&line, "key", "value");
	lined_check(&line, "key", "value");
	lined_fini(&line);
	lined_init(&line, server.url, LINED_TIMEOUT_MS);
}

static bool get_fails(void)
{
	struct once_bytes got;

	return !lined_get(&line, "key", &got);
}

#define CALLS 300
#define CALL_MS 5

/* Less than 5 ms each, of many: one alone may meet a busy machine. */
static void check_calls_return_at_once(void)
{
	int64_t began_ms = clock_ms();

	for (int i = 0; i < CALLS && once__circuit_is_open(line.circuit); i++) {
		get_fails();
		lined_set(&line, "key", "value");
		lined_tend(&line);
	}
	ck_assert_int_lt(clock_ms() - began_ms, CALLS * CALL_MS);
}

/* Goes on as before, with what Redis has. */
static void check_works(void)
{
	lined_set(&line, "after", "value");
	for (int i = 0; get_fails(); i++) {
		ck_assert_int_lt(i, 100); /* a busy machine */
		lined_await(&line, false);
	}
	lined_set(&line, "after", "value");
	lined_say(&server, "PING", "PONG");
}

/* ---- a server that fails ---- */

START_TEST(a_stopped_redis_is_noticed_once_and_comes_back_by_itself)
{
	start_used();
	redis_server_kill(&server);
	ck_assert(get_fails());
	lined_check_open(&line, "could not connect: Connection refused");
	check_calls_return_at_once();
	lined_restart(&server);
	lined_await(&line, false);
	check_works();
	stop();
}
END_TEST

START_TEST(a_frozen_redis_is_waited_for_once_and_comes_back_by_itself)
{
	int64_t began_ms;

	start_used();
	ck_assert(!get_fails() || once__circuit_is_open(line.circuit));
	lined_await(&line, false);
	redis_server_freeze(&server);
	began_ms = clock_ms();
	ck_assert(get_fails());
	ck_assert_int_ge(clock_ms() - began_ms, LINED_TIMEOUT_MS);
	lined_check_open(&line, "no answer within 100 ms");
	check_calls_return_at_once();
	redis_server_thaw(&server);
	lined_await(&line, false);
	check_works();
	stop();
}
END_TEST

START_TEST(values_that_redis_does_not_take_are_kept_within_bounds)
{
	static char large[1024 * 1024];
	const struct once_bytes key = bytes_text("key");
	const struct once_bytes value = bytes_of(large, sizeof(large));
	int sent = 0;

	start_used();
	lined_await(&line, false);
	redis_server_freeze(&server);
	for (; !once__circuit_is_open(line.circuit) && sent < 100; sent++)
		once__redis_set(line.redis, &key, &value, &(int64_t){ 60000 },
				1);
	ck_assert_int_ge(sent, 16);
	lined_check_open(&line, "too slowly");
	redis_server_thaw(&server);
	lined_await(&line, false);
	check_works();
	stop();
}
END_TEST

START_TEST(silence_about_values_is_noticed_without_a_get)
{
	start_used();
	lined_await(&line, false);
	redis_server_freeze(&server);
	lined_set(&line, "key", "value");
	lined_await(&line, true);
	lined_check_open(&line, "no answer within 5000 ms");
	redis_server_thaw(&server);
	lined_await(&line, false);
	check_works();
	stop();
}
END_TEST

/* Writing to a unix socket whose other end is gone raises SIGPIPE, at once. */
START_TEST(values_sent_to_a_redis_that_has_died_do_not_kill_the_process)
{
	static char large[8 * 1024 * 1024];
	const struct once_bytes key = bytes_text("key");
	const struct once_bytes value = bytes_of(large, sizeof(large));
	char url[PATH_MAX + 16];

	signal(SIGPIPE, SIG_DFL);
	start_used();
	lined_fini(&line);
	snprintf(url, sizeof(url), "unix://%s", server.socket);
	lined_init(&line, url, LINED_TIMEOUT_MS);
	redis_server_freeze(&server);
	once__redis_set(line.redis, &key, &value, &(int64_t){ 60000 }, 1);
	lined_check_faultless(&line);
	redis_server_kill(&server);
	lined_tend(&line);
	lined_check_open(&line, "connection");
	stop();
}
END_TEST

START_TEST(a_line_that_slept_through_an_outage_begins_anew)
{
	struct lined sleeper;
	struct once_bytes got;
	uint64_t errors;

	start(NULL, 1000);
	lined_init_beside(&sleeper, &line);
	lined_check(&line, "key", NULL);
	ck_assert(lined_get(&sleeper, "key", &got));
	redis_server_freeze(&server);
	lined_set(&sleeper, "key", "value"); /* will never be answered */
	ck_assert(get_fails());
	redis_server_kill(&server);
	lined_restart(&server);
	lined_await(&line, false);
	errors = lined_errors(&line);
	ck_assert(lined_get(&sleeper, "key", &got));
	ck_assert_ptr_null(got.data);
	ck_assert_uint_eq(lined_errors(&line), errors);
	lined_fini(&sleeper);
	stop();
}
END_TEST

/* ---- a server that refuses ---- */

static const char *const full[] = { "--maxmemory", "1", "--maxmemory-policy",
				    "noeviction", NULL };
static const char *const replica[] = { "--replicaof", "127.0.0.1", "1", NULL };
static const char *const cluster[] = { "--cluster-enabled", "yes", NULL };

static const struct {
	const char *const *settings;
	const char *trouble;
	const char *hint;
	const char *cure; /* a command */
} refusals[] = {
	{ full, "OOM", "maxmemory", "CONFIG SET maxmemory 0" },
	{ replica, "READONLY", "address of the primary", "REPLICAOF NO ONE" },
	{ cluster, "CLUSTERDOWN", "Redis Cluster isn't supported",
	  "CLUSTER ADDSLOTSRANGE 0 16383" },
};

/* It was probed, and nothing came of it. */
static bool has_failed_twice(void *arg)
{
	(void)arg;
	lined_tend(&line);
	ck_assert(once__circuit_is_open(line.circuit));
	return lined_errors(&line) >= 2;
}

START_TEST(a_redis_that_refuses_writes_is_left_alone_until_it_takes_one)
{
	start(refusals[_i].settings, LINED_PATIENT_MS);
	while (!once__circuit_is_open(line.circuit)) {
		struct once_bytes got;

		lined_get(&line, "key", &got);
		lined_set(&line, "key", "value");
	}
	lined_check_open(&line, refusals[_i].trouble);
	lined_check_open(&line, refusals[_i].hint);
	ck_assert(wait_until(has_failed_twice, NULL, LINED_HEAL_MS));
	check_calls_return_at_once();
	lined_say(&server, refusals[_i].cure, "+OK");
	lined_await(&line, false);
	check_works();
	stop();
}
END_TEST

static bool cluster_is_up(void *arg)
{
	char answer[1024];

	(void)arg;
	return redis_say(server.port, "CLUSTER INFO\r\nQUIT\r\n", answer,
			 sizeof(answer)) &&
	       strstr(answer, "cluster_state:ok") != NULL;
}

START_TEST(a_cluster_that_takes_the_probe_is_still_refused_by_name)
{
	const struct once_bytes keys[] = { bytes_text("a"), bytes_text("b") };
	struct once_bytes got[COUNT(keys)];

	start(cluster, LINED_PATIENT_MS);
	lined_say(&server, "CLUSTER ADDSLOTSRANGE 0 16383", "+OK");
	ck_assert(wait_until(cluster_is_up, NULL, LINED_HEAL_MS));
	ck_assert(!once__redis_get(line.redis, keys, COUNT(keys), got));
	lined_check_open(&line, "CROSSSLOT");
	lined_check_open(&line, "Redis Cluster isn't supported");
	stop();
}
END_TEST

/* ---- no server at all ---- */

static const struct {
	const char *url;
	const char *trouble;
} nowhere[] = {
	{ "unix:///nowhere/at/all?db=1", "No such file or directory" },
	{ "redis://127.0.0.1:1", "Connection refused" },
	{ "redis://no-such-host.invalid", "looked up" },
	{ "redis://192.0.2.1", ": " }, /* nobody's: silent, or no route */
};

START_TEST(an_address_where_nobody_is_opens_the_circuit_in_time)
{
	lined_init(&line, nowhere[_i].url, LINED_TIMEOUT_MS);
	lined_check_faultless(&line);
	ck_assert(get_fails());
	lined_check_open(&line, nowhere[_i].trouble);
	check_calls_return_at_once();
	lined_fini(&line);
}
END_TEST

static const struct {
	struct impostor_part part;
	const char *trouble;
} impostors[] = {
	{ { .says = "HTTP/1.1 400 Bad Request\r\n\r\n" }, "the protocol" },
	{ { .says = "\x15\x03\x01" }, "the protocol" },
	{ { .says = "*2147483647\r\n" }, "is it a Redis?" },
	{ { .says = "*1\r\n*1\r\n*1\r\n" }, "is it a Redis?" },
	{ { .says = "+OK\r\n*2\r\n$1\r\nx\r\n$1\r\ny\r\n" }, "is it a Redis?" },
	{ { .says = "+OK\r\n*1\r\n*1000000\r\n" }, "is it a Redis?" },
	{ { .says = "+OK\r\n*1\r\n:1\r\n" }, "something else than values" },
	{ { .says = "+QUEUED\r\n" }, "something else than OK" },
	{ { .says = "-ERR no halibut today\r\n" }, "ERR no ******* today" },
	{ { .says = "-ERR one\ttwo \xff\r\n" }, "ERR one?two ?" },
	{ { .says = "-ERR max number of clients reached\r\n", .leaves = true },
	  "max number of clients" },
	{ { .echoes = true }, "is it a Redis?" },
	{ { .leaves = true }, "connection" },
	{ { .says = NULL }, "no answer within 100 ms" },
	{ { .says = "+OK\r\n" }, "no answer within 100 ms" },
	{ { .says = "+OK\r\n*1\r\n$1000000\r\n", .slowly = true },
	  "no answer within 100 ms" },
	{ { .says = "+", .slowly = true }, "no answer within 100 ms" },
};

START_TEST(whoever_is_no_redis_is_found_out_in_time)
{
	const struct impostor_part *part = &impostors[_i].part;
	struct impostor impostor;
	struct once__circuit_view view;

	impostor_start(&impostor, part);
	lined_init(&line, impostor.url, LINED_TIMEOUT_MS);
	ck_assert(get_fails());
	lined_check_open(&line, impostors[_i].trouble);
	once__circuit_get_view(line.circuit, &view);
	ck_assert_ptr_null(strstr(view.trouble, "halibut"));
	check_calls_return_at_once();
	if (strstr(impostors[_i].trouble, "within") == NULL)
		ck_assert(wait_until(has_failed_twice, NULL, LINED_HEAL_MS));
	ck_assert(once__circuit_is_open(line.circuit));
	lined_fini(&line);
	impostor_stop(&impostor);
}
END_TEST

/* ---- the probe ---- */

static struct impostor silent;

static void start_silent(void)
{
	static const struct impostor_part part = { .says = NULL };

	impostor_start(&silent, &part);
	lined_init(&line, silent.url, 200); /* its probe has 4 s */
	ck_assert(get_fails());
	ck_assert(once__circuit_is_open(line.circuit));
	ck_assert_int_eq(atomic_load(&silent.seen), 1);
}

static bool is_seen_twice(void *arg)
{
	lined_tend(arg);
	return atomic_load(&silent.seen) == 2;
}

static bool is_seen_thrice(void *arg)
{
	lined_tend(arg);
	return atomic_load(&silent.seen) == 3;
}

START_TEST(only_one_line_probes)
{
	struct lined other;
	int64_t began_ms;

	start_silent();
	lined_init_beside(&other, &line);
	ck_assert(wait_until(is_seen_twice, &line, LINED_HEAL_MS));
	began_ms = clock_ms();
	while (clock_ms() - began_ms < 1000) {
		lined_tend(&line);
		lined_tend(&other);
	}
	ck_assert_int_eq(atomic_load(&silent.seen), 2);
	ck_assert_uint_eq(lined_errors(&line), 1);
	lined_fini(&other);
	lined_fini(&line);
	impostor_stop(&silent);
}
END_TEST

START_TEST(a_line_that_goes_leaves_its_probe_to_the_others)
{
	struct lined prober;
	int64_t began_ms;

	start_silent();
	lined_init_beside(&prober, &line);
	ck_assert(wait_until(is_seen_twice, &prober, LINED_HEAL_MS));
	began_ms = clock_ms();
	lined_fini(&prober);
	ck_assert(wait_until(is_seen_thrice, &line, LINED_HEAL_MS));
	ck_assert_int_lt(clock_ms() - began_ms, 3000);
	lined_fini(&line);
	impostor_stop(&silent);
}
END_TEST

START_TEST(a_line_that_sleeps_loses_its_probe_to_the_others)
{
	struct lined sleeper;

	start_silent();
	lined_init_beside(&sleeper, &line);
	ck_assert(wait_until(is_seen_twice, &sleeper, LINED_HEAL_MS));
	ck_assert(wait_until(is_seen_thrice, &line, LINED_HEAL_MS));
	lined_tend(&sleeper);
	ck_assert_int_eq(atomic_load(&silent.seen), 3);
	ck_assert_uint_eq(lined_errors(&line), 1);
	lined_fini(&sleeper);
	lined_fini(&line);
	impostor_stop(&silent);
}
END_TEST

/* ---- together ---- */

struct worker {
	struct lined line;
	pthread_t thread;
	atomic_bool *stops;
	atomic_ulong *hits;
	bool wrong;
};

static void work_once(struct worker *worker)
{
	static const char *const texts[] = { "a", "b", "c" };
	struct once_bytes keys[COUNT(texts)];
	struct once_bytes got[COUNT(texts)];
	static const int64_t ttls_ms[COUNT(texts)] = { 60000, 60000, 60000 };

	for (size_t i = 0; i < COUNT(texts); i++)
		keys[i] = bytes_text(texts[i]);
	once__redis_tend(worker->line.redis);
	once__redis_set(worker->line.redis, keys, keys, ttls_ms, COUNT(keys));
	if (!once__redis_get(worker->line.redis, keys, COUNT(keys), got))
		return;
	for (size_t i = 0; i < COUNT(keys); i++)
		worker->wrong |=
			got[i].data != NULL && !bytes_equal(got[i], keys[i]);
	if (got[0].data != NULL)
		atomic_fetch_add(worker->hits, 1);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(worker->stops))
		work_once(worker);
	return NULL;
}

static bool has_hits(void *arg)
{
	return atomic_load((atomic_ulong *)arg) > 100;
}

static bool has_opened(void *arg)
{
	(void)arg;
	return once__circuit_is_open(line.circuit);
}

START_TEST(threads_share_a_circuit_while_redis_dies_and_returns)
{
	struct worker workers[2] = { 0 };
	atomic_bool stops = false;
	atomic_ulong hits = 0;

	start(NULL, 1000);
	for (size_t i = 0; i < COUNT(workers); i++) {
		workers[i].stops = &stops;
		workers[i].hits = &hits;
		lined_init_beside(&workers[i].line, &line);
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]),
				 0);
	}
	for (int round = 0; round < 3; round++) {
		atomic_store(&hits, 0);
		ck_assert(wait_until(has_hits, &hits, LINED_HEAL_MS));
		redis_server_kill(&server);
		ck_assert(wait_until(has_opened, NULL, LINED_HEAL_MS));
		lined_restart(&server);
	}
	atomic_store(&hits, 0);
	ck_assert(wait_until(has_hits, &hits, LINED_HEAL_MS));
	atomic_store(&stops, true);
	for (size_t i = 0; i < COUNT(workers); i++) {
		pthread_join(workers[i].thread, NULL);
		ck_assert(!workers[i].wrong);
		lined_fini(&workers[i].line);
	}
	stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("redis: the circuit");
	TCase *tests = tcase_create("all");

	servers_need(NEED(REDIS));
	tcase_add_test(
		tests,
		a_stopped_redis_is_noticed_once_and_comes_back_by_itself);
	tcase_add_test(
		tests,
		a_frozen_redis_is_waited_for_once_and_comes_back_by_itself);
	tcase_add_test(tests,
		       values_that_redis_does_not_take_are_kept_within_bounds);
	tcase_add_test(
		tests,
		values_sent_to_a_redis_that_has_died_do_not_kill_the_process);
	tcase_add_test(tests, a_line_that_slept_through_an_outage_begins_anew);
	tcase_add_test(tests, silence_about_values_is_noticed_without_a_get);
	tcase_add_loop_test(
		tests,
		a_redis_that_refuses_writes_is_left_alone_until_it_takes_one, 0,
		COUNT(refusals));
	tcase_add_test(tests,
		       a_cluster_that_takes_the_probe_is_still_refused_by_name);
	tcase_add_loop_test(
		tests, an_address_where_nobody_is_opens_the_circuit_in_time, 0,
		COUNT(nowhere));
	tcase_add_loop_test(tests, whoever_is_no_redis_is_found_out_in_time, 0,
			    COUNT(impostors));
	tcase_add_test(tests, only_one_line_probes);
	tcase_add_test(tests, a_line_that_goes_leaves_its_probe_to_the_others);
	tcase_add_test(tests, a_line_that_sleeps_loses_its_probe_to_the_others);
	tcase_add_test(tests,
		       threads_share_a_circuit_while_redis_dies_and_returns);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
