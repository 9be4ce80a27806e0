/*
 * instructions.c - a fixed input through once_session_run(), for callgrind,
 * which counts what instructions.sh prints. No clock, no Kafka; a real
 * PostgreSQL answers.
 *
 * The idea: messages are made from their numbers alone, so every run does the
 * same work; and callgrind collects in measure() only, so that neither the
 * making of the messages nor what comes before the case counts.
 */
#include <check.h>
#include <inttypes.h>
#include <once/handler.h>
#include <once/once.h>
#include <pg_fixture.h>
#include <servers.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MESSAGES = 20000,
	BATCH = 500,
	VALUE_SIZE = 430,
	ID_SIZE = 36
};

/* What is measured: all messages once more, after `before` times. */
struct scene {
	const char *name;
	const char *write; /* of bench_refund.c */
	bool local;        /* with a prefilter in memory */
	int before;
};

static const struct scene scenes[] = {
	{ "new", "write=send", false, 0 },
	{ "new-collected", "write=collect", false, 0 },
	{ "new-bulk", "write=bulk", false, 0 },
	{ "new-local", "write=send", true, 0 },
	{ "duplicates", "write=send", false, 1 },
	{ "duplicates-local", "write=send", true, 1 },
};

struct letter {
	struct once_header header;
	char id[ID_SIZE + 1];
	char value[VALUE_SIZE + 1];
};

struct bench {
	struct pg_fixture pg;
	struct once_route *route;
	struct once_prefilter *prefilter;
	struct once_session *session;
	struct once_strand strand;
	struct letter *letters;
	struct once_item *items;
	struct once_error err;
};

static void must(struct bench *bench, enum once_status status)
{
	ck_assert_msg(status == ONCE_OK, "%s", bench->err.text);
}

/* ---- messages ---- */

/* splitmix64: every input another output, and no pattern left. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static void write_letter(struct letter *letter, uint64_t number)
{
	uint64_t luck = mix(~number);
	int used;

	snprintf(letter->id, sizeof(letter->id),
		 "%016" PRIx64 "-%016" PRIx64 "-%02x", mix(2 * number),
		 mix(2 * number + 1), (unsigned)(luck & 0xff));
	letter->header.name = "message-id";
	letter->header.value = (struct once_bytes){ letter->id, ID_SIZE };
	used = snprintf(
		letter->value, sizeof(letter->value),
		"{\"refund_no\":\"R-%010" PRIu64 "\",\"order_no\":\"%010" PRIu64
		"\",\"sku\":\"SKU-%05u"
		"\",\"quantity\":%u,\"amount\":\"%u.%02u\",\"note\":\"",
		number, luck % UINT64_C(10000000000),
		(unsigned)(luck >> 8 & 0x3fff), (unsigned)(luck >> 24 & 3) + 1,
		(unsigned)(luck >> 32) % 500 + 1, (unsigned)(luck >> 48) % 100);
	memset(letter->value + used, 'n', VALUE_SIZE - 2 - (size_t)used);
	memcpy(letter->value + VALUE_SIZE - 2, "\"}", 3);
}

/* The same messages each time, at the offsets that come next. */
static void send_again(struct bench *bench, int64_t first_offset)
{
	for (size_t i = 0; i < MESSAGES; i++) {
		struct letter *letter = &bench->letters[i];

		bench->items[i] = (struct once_item){
			.record = { .topic = "refunds",
				    .offset = first_offset + (int64_t)i,
				    .time_ms = 1700000000000,
				    .value = { letter->value, VALUE_SIZE },
				    .headers = &letter->header,
				    .header_count = 1 },
			.strand = &bench->strand,
			.attempt = 1,
		};
	}
}

static void write_all(struct bench *bench)
{
	bench->letters = calloc(MESSAGES, sizeof(*bench->letters));
	bench->items = calloc(MESSAGES, sizeof(*bench->items));
	ck_assert(bench->letters != NULL && bench->items != NULL);
	for (size_t i = 0; i < MESSAGES; i++)
		write_letter(&bench->letters[i], i);
}

/* ---- the session ---- */

static void open_route(struct bench *bench, const struct scene *scene)
{
	const struct once_route_options options = {
		.name = "refund",
		.scope = "bench/refund",
		.msg_id = "{header:message-id}",
		.biz_id = "refund:{json:/refund_no}",
		.max_attempts = 3,
		.handler = &once_handler,
		.settings = &scene->write,
		.setting_count = 1,
	};

	must(bench, once_route_create(&options, &bench->route, &bench->err));
}

static void open_prefilter(struct bench *bench)
{
	const struct once_prefilter_options options = {
		.local_max_bytes = 16 << 20,
		.retention_ms = -1,
	};

	must(bench,
	     once_prefilter_create(&options, &bench->prefilter, &bench->err));
}

static void open_session(struct bench *bench)
{
	const struct once_route *const routes[] = { bench->route };
	const struct once_session_options options = {
		.conninfo = bench->pg.conninfo,
		.application_name = "instructions",
		.routes = routes,
		.route_count = 1,
		.prefilter = bench->prefilter,
		.max_messages = BATCH,
	};

	must(bench,
	     once_session_create(&options, &bench->session, &bench->err));
}

static void take_partition(struct bench *bench)
{
	static const int64_t start = 0;
	struct once_position position;

	must(bench,
	     once_session_create_positions(bench->session, "bench", "refunds",
					   &start, 1, &bench->err));
	must(bench,
	     once_session_take_position(bench->session, "bench", "refunds", 0,
					&position, &bench->err));
	bench->strand = (struct once_strand){ .group = "bench",
					      .topic = "refunds",
					      .tenure = position.tenure };
}

static void open_all(struct bench *bench, const struct scene *scene)
{
	pg_fixture_init(&bench->pg);
	must(bench,
	     once_migrate(bench->pg.conninfo, 0, NULL, NULL, &bench->err));
	pg_fixture_run(&bench->pg,
		       "CREATE TABLE refund (refund_no text, order_no text, "
		       "sku text, amount numeric)");
	open_route(bench, scene);
	if (scene->local)
		open_prefilter(bench);
	open_session(bench);
	take_partition(bench);
	write_all(bench);
}

static void close_all(struct bench *bench)
{
	once_session_destroy(bench->session);
	once_prefilter_destroy(bench->prefilter);
	once_route_destroy(bench->route);
	pg_fixture_fini(&bench->pg);
	free(bench->items);
	free(bench->letters);
}

/* ---- what is measured ---- */

static void run(struct bench *bench, size_t from, size_t to)
{
	for (; from < to; from += BATCH)
		must(bench,
		     once_session_run(bench->session, bench->items + from,
				      BATCH, NULL, &bench->err));
}

/* callgrind is told this name. */
__attribute__((noinline)) void measure(struct bench *bench);

void measure(struct bench *bench)
{
	run(bench, BATCH, MESSAGES);
}

static void check_endings(const struct bench *bench, enum once_ending ending)
{
	for (size_t i = 0; i < MESSAGES; i++)
		ck_assert_msg(bench->items[i].ending == ending,
			      "message %zu is %s", i,
			      once_ending_word(bench->items[i].ending));
}

/* The first batch prepares statements and makes the arena; it isn't counted. */
static void play(struct bench *bench, const struct scene *scene)
{
	for (int round = 0; round < scene->before; round++) {
		send_again(bench, (int64_t)round * MESSAGES);
		run(bench, 0, MESSAGES);
	}
	send_again(bench, (int64_t)scene->before * MESSAGES);
	run(bench, 0, BATCH);
	measure(bench);
	check_endings(bench, scene->before == 0 ? ONCE_HANDLED_ENDING
						: ONCE_DUPLICATE_ENDING);
}

static const struct scene *find_scene(const char *name)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		if (strcmp(scenes[i].name, name) == 0)
			return &scenes[i];
	return NULL;
}

/* What callgrind counts is for so many messages. */
static int list_scenes(void)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
		printf("%s %d\n", scenes[i].name, MESSAGES - BATCH);
	return 0;
}

static const struct scene *wanted;

START_TEST(every_message_ends_as_it_should)
{
	struct bench bench = { 0 };

	open_all(&bench, wanted);
	play(&bench, wanted);
	close_all(&bench);
}
END_TEST

/* In this process, which is the one that callgrind counts in. */
static int run_suite(void)
{
	Suite *suite = suite_create("instructions");
	TCase *tcase = tcase_create("instructions");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, every_message_ends_as_it_should);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	if (failed > 0)
		srunner_print(runner, CK_NORMAL);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return list_scenes();
	wanted = find_scene(argv[1]);
	if (wanted == NULL) {
		fprintf(stderr, "there is no scene %s\n", argv[1]);
		return 64;
	}
	servers_need(NEED(PG));
	return run_suite();
}
