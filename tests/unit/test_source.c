/* What the source is made of, where no broker is needed. */
#include "error.h"
#include "kafka_conf.h"
#include "mailbox.h"
#include "partition.h"
#include "source.h"
#include "strand.h"
#include "suite.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- versions and properties ---- */

START_TEST(the_librdkafka_versions_that_lose_offsets_are_refused)
{
	static const struct {
		int version;
		enum once_status status;
	} cases[] = {
		{ 0x020002ff, ONCE_OK },     { 0x020100ff, ONCE_CONFIG },
		{ 0x020101ff, ONCE_CONFIG }, { 0x020200ff, ONCE_CONFIG },
		{ 0x020300ff, ONCE_OK },     { 0x020c01ff, ONCE_OK },
	};
	struct once_error err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_int_eq(
			kafka_conf_check_version(cases[i].version, &err),
			cases[i].status);
	ck_assert_ptr_nonnull(strstr(err.text, "install"));
}
END_TEST

static char brokers[] = "127.0.0.1:1";
static char group[] = "g";
static char empty[] = "";

static struct config make_config(struct name_value *properties, size_t count)
{
	struct config cfg = {
		.kafka = { .brokers = brokers,
			   .group = group,
			   .instance_id = empty,
			   .properties = properties,
			   .property_count = count },
	};

	return cfg;
}

static enum once_status check_effective(struct name_value *properties,
					size_t count, struct once_error *err)
{
	struct config cfg = make_config(properties, count);
	rd_kafka_conf_t *conf = kafka_conf_create(&cfg, NULL, err);
	enum once_status status;
	rd_kafka_t *rk;

	ck_assert_ptr_nonnull(conf);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	status = kafka_conf_check(rk, err);
	rd_kafka_destroy(rk);
	return status;
}

START_TEST(what_guards_against_loss_is_set_whatever_the_user_wrote)
{
	char name[] = "auto.offset.reset";
	char alias[] = "enable.auto.offset.store";
	char latest[] = "latest";
	char yes[] = "true";
	struct name_value properties[] = { { .name = name, .value = latest },
					   { .name = alias, .value = yes } };
	struct once_error err = { 0 };

	ck_assert_int_eq(check_effective(properties, 2, &err), ONCE_OK);
}
END_TEST

START_TEST(an_unsafe_effective_value_is_found_after_creation)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	struct once_error err = { 0 };
	rd_kafka_t *rk;

	rd_kafka_conf_set(conf, "group.id", "g", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	ck_assert_ptr_nonnull(rk);
	ck_assert_int_eq(kafka_conf_check(rk, &err), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "enable.auto.commit"));
	rd_kafka_destroy(rk);
}
END_TEST

/* ---- memory ---- */

#define MIB ((size_t)1024 * 1024)

static struct kafka_memory divide(size_t budget, size_t partitions)
{
	struct config cfg = { .kafka = { .max_memory = budget },
			      .batch = { 500, 4 * MIB } };
	struct kafka_memory memory;

	kafka_memory_divide(&cfg, partitions, false, &memory);
	return memory;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* All that a partition may have, if its messages are so large. A fetch comes on
 * top of a queue that had room for one more message. */
static size_t most_of(const struct kafka_memory *memory, size_t value)
{
	size_t each = value + 400; /* measured: 390 */
	size_t queue =
		smaller(memory->queue_count, memory->queue_values / value + 1);

	return queue * each + memory->fetch_values * each / (value + 40) +
	       memory->parcel_memory;
}

START_TEST(all_partitions_together_stay_within_the_memory)
{
	static const size_t budgets[] = { 16 * MIB, 160 * MIB, 2048 * MIB };
	static const size_t counts[] = { 1, 4, 8, 64, 1000 };
	static const size_t values[] = { 100, 430, 3000, 100000 };

	for (size_t b = 0; b < 3; b++)
		for (size_t c = 0; c < 5; c++)
			for (size_t v = 0; v < 4; v++) {
				struct kafka_memory memory =
					divide(budgets[b], counts[c]);

				if (memory.least > budgets[b])
					continue;
				ck_assert_uint_le(
					counts[c] * most_of(&memory, values[v]),
					budgets[b] + counts[c] * values[v]);
			}
}
END_TEST

START_TEST(four_partitions_have_a_second_of_the_top_rate_in_their_queues)
{
	struct kafka_memory memory = divide(160 * MIB, 4);

	ck_assert_uint_gt(
		smaller(memory.queue_count, memory.queue_values / 430),
		60000 / 4);
}
END_TEST

START_TEST(too_little_memory_still_lets_every_partition_move)
{
	struct kafka_memory little = divide(16 * MIB, 1000);
	struct kafka_memory least = divide(little.least, 1000);

	ck_assert_uint_eq(little.least, 2000 * MIB);
	ck_assert_uint_gt(little.queue_count, 100);
	ck_assert_uint_eq(little.queue_values, least.queue_values);
	ck_assert_uint_eq(little.fetch_values, least.fetch_values);
	ck_assert_uint_eq(little.parcel_memory, least.parcel_memory);
	ck_assert_uint_eq(divide(2 * MIB, 0).partitions, 1);
}
END_TEST

/* 0 would be reached by an empty queue, which then asks for more for ever. */
START_TEST(a_full_queue_has_one_message_at_least)
{
	struct kafka_memory memory = divide(2 * MIB, 1);

	ck_assert_uint_eq(kafka_memory_queue_capacity(&memory, 0),
			  memory.queue_count);
	ck_assert_uint_eq(kafka_memory_queue_capacity(&memory, 1),
			  memory.queue_count);
	ck_assert_uint_eq(kafka_memory_queue_capacity(&memory, 10240), 51);
	ck_assert_uint_eq(kafka_memory_queue_capacity(&memory, MIB), 1);
}
END_TEST

static void get_effective(struct name_value *properties, size_t count,
			  const char *name, char *ret_value, size_t size)
{
	struct config cfg = make_config(properties, count);
	struct kafka_memory memory = divide(160 * MIB, 4);
	struct once_error err;
	rd_kafka_conf_t *conf = kafka_conf_create(&cfg, &memory, &err);

	ck_assert_ptr_nonnull(conf);
	ck_assert_int_eq(rd_kafka_conf_get(conf, name, ret_value, &size),
			 RD_KAFKA_CONF_OK);
	rd_kafka_conf_destroy(conf);
}

START_TEST(the_users_own_limits_take_the_place_of_those_that_follow)
{
	char name[] = "queued.max.messages.kbytes";
	char limit[] = "2048";
	struct name_value properties[] = { { .name = name, .value = limit } };
	struct config cfg = make_config(properties, 1);
	char value[32];

	get_effective(NULL, 0, name, value, sizeof(value));
	ck_assert_str_eq(value, "14336");
	get_effective(properties, 1, name, value, sizeof(value));
	ck_assert_str_eq(value, "2048");
	ck_assert(kafka_memory_is_overruled(&cfg));
}
END_TEST

START_TEST(librdkafka_is_asked_about_properties)
{
	ck_assert_ptr_null(
		source_check_property(NULL, "session.timeout.ms", "6000"));
	ck_assert_ptr_nonnull(
		source_check_property(NULL, "session.timeout.ms", "x"));
	ck_assert_ptr_nonnull(source_check_property(NULL, "no.such", "x"));
}
END_TEST

START_TEST(what_an_older_librdkafka_has_not_got_is_refused_with_its_version)
{
	static const struct {
		int version;
		const char *name;
		const char *value;
		const char *words; /* NULL: taken */
	} cases[] = {
		{ 0x020002ff, "partition.assignment.strategy", "range", NULL },
		{ 0x020002ff, "partition.assignment.strategy",
		  "cooperative-sticky", "needs librdkafka 2.10.1 or newer" },
		{ 0x020a00ff, "partition.assignment.strategy",
		  "cooperative-sticky", "needs librdkafka 2.10.1 or newer" },
		{ 0x020a01ff, "partition.assignment.strategy",
		  "cooperative-sticky", NULL },
		{ 0x020002ff, "group.protocol", "classic", NULL },
		{ 0x020b01ff, "group.protocol", "consumer",
		  "needs librdkafka 2.12.0 or newer" },
		{ 0x020c00ff, "group.protocol", "consumer", NULL },
		{ 0x020b01ff, "group.remote.assignor", "uniform",
		  "needs librdkafka 2.12.0 or newer" },
		{ 0x020c01ff, "group.remote.assignor", "uniform", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200] = "";

		ck_assert_int_eq(kafka_conf_check_value(
					 cases[i].version, cases[i].name,
					 cases[i].value, text, sizeof(text)),
				 cases[i].words == NULL);
		if (cases[i].words != NULL)
			ck_assert_ptr_nonnull(strstr(text, cases[i].words));
	}
}
END_TEST

/* With Kafka 3 it works, so it isn't refused. */
START_TEST(scram_with_a_librdkafka_that_kafka_4_refuses_is_told_by_name)
{
	static const struct {
		int version;
		const char *name;
		const char *value;
		bool warned;
	} cases[] = {
		{ 0x020002ff, "sasl.mechanism", "SCRAM-SHA-512", true },
		{ 0x020600ff, "sasl.mechanisms", "SCRAM-SHA-256", true },
		{ 0x020601ff, "sasl.mechanism", "SCRAM-SHA-512", false },
		{ 0x020002ff, "sasl.mechanism", "PLAIN", false },
		{ 0x020002ff, "sasl.username", "SCRAM-", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct name_value property = {
			.name = (char *)(uintptr_t)cases[i].name,
			.value = (char *)(uintptr_t)cases[i].value,
		};
		const struct config cfg = {
			.kafka = { .properties = &property,
				   .property_count = 1 },
		};
		char text[400] = "";

		ck_assert_int_eq(kafka_conf_warn(cases[i].version, &cfg, text,
						 sizeof(text)),
				 cases[i].warned);
		if (cases[i].warned)
			ck_assert_ptr_nonnull(strstr(text, cases[i].value));
	}
}
END_TEST

/* The library refuses some values only when it makes a consumer. */
START_TEST(our_own_values_go_with_every_group_protocol_of_the_library)
{
	char name[] = "group.protocol";
	char consumer[] = "consumer";
	char classic[] = "classic";
	struct name_value properties[] = { { .name = name, .value = consumer },
					   { .name = name, .value = classic } };
	struct once_error err = { 0 };

	ck_assert_int_eq(check_effective(NULL, 0, &err), ONCE_OK);
	if (source_check_property(NULL, name, consumer) != NULL)
		return; /* an older one */
	ck_assert_int_eq(check_effective(&properties[0], 1, &err), ONCE_OK);
	ck_assert_int_eq(check_effective(&properties[1], 1, &err), ONCE_OK);
}
END_TEST

/* ---- the states of a partition ---- */

START_TEST(a_partition_goes_its_way_from_opening_to_dropping)
{
	struct source_partition *partition = partition_create("t", 3, 0);

	ck_assert(!partition_is_held(partition));
	partition_enter(partition, PARTITION_OPENING);
	partition_enter(partition, PARTITION_RESOLVING);
	partition_enter(partition, PARTITION_CREATING);
	ck_assert(partition_is_opening(partition));
	partition_enter(partition, PARTITION_READY);
	partition_enter(partition, PARTITION_RUNNING);
	partition_enter(partition, PARTITION_READY);
	partition_enter(partition, PARTITION_RUNNING);
	partition_enter(partition, PARTITION_OPENING);
	partition_enter(partition, PARTITION_DROPPING);
	ck_assert(!partition_is_held(partition));
	partition_enter(partition, PARTITION_IDLE);
	partition_destroy(partition);
}
END_TEST

START_TEST(an_edge_that_is_not_in_the_table_ends_the_process)
{
	struct source_partition *partition = partition_create("t", 3, 0);

	partition_enter(partition, PARTITION_RUNNING);
}
END_TEST

/* ---- strands ---- */

static const struct once_position at = { .next_offset = 5,
					 .attempts = 2,
					 .topic_known = 1 };

START_TEST(a_strand_of_an_older_assignment_is_not_found)
{
	struct strands strands = { 0 };
	struct address address = { .epoch = 1, .topic = "t" };
	struct strand *strand = strands_add(&strands, &address, "g", &at);

	ck_assert_ptr_eq(strands_find(&strands, &address), strand);
	ck_assert_int_eq(strand->position.next_offset, 5);
	ck_assert_uint_eq(strand->position.attempts, 2);
	address.epoch = 2;
	ck_assert_ptr_null(strands_find(&strands, &address));
	ck_assert_ptr_null(strands_remove(&strands, strand));
	ck_assert_ptr_null(strands.first);
}
END_TEST

START_TEST(strands_take_turns)
{
	struct strands strands = { 0 };
	struct address a = { .epoch = 1 };
	struct address b = { .epoch = 2 };
	struct strand *first = strands_add(&strands, &a, "g", &at);
	struct strand *second = strands_add(&strands, &b, "g", &at);

	ck_assert_ptr_eq(strands.first, second);
	strands_rotate(&strands);
	ck_assert_ptr_eq(strands.first, first);
	strands_rotate(&strands);
	ck_assert_ptr_eq(strands.first, second);
	strands_remove(&strands, first);
	strands_remove(&strands, second);
}
END_TEST

/* ---- the mailbox ---- */

enum {
	WRITERS = 4,
	LETTERS = 5000
};

struct letter {
	struct mail mail;
	int writer;
	int number;
};

struct writer {
	struct mailbox *mailbox;
	int number;
};

static void *write_letters(void *arg)
{
	struct writer *writer = arg;

	for (int i = 0; i < LETTERS; i++) {
		struct letter *letter = malloc(sizeof(*letter));

		letter->writer = writer->number;
		letter->number = i;
		mailbox_put(writer->mailbox, letter);
	}
	return NULL;
}

/* How many there were; each writer's come in its order. */
static int read_letters(struct mail *mail, int *next)
{
	int count = 0;

	while (mail != NULL) {
		struct letter *letter = (struct letter *)mail;

		mail = mail->next;
		ck_assert_int_eq(letter->number, next[letter->writer]);
		next[letter->writer]++;
		free(letter);
		count++;
	}
	return count;
}

START_TEST(a_mailbox_is_urgent_until_the_letter_that_is_was_taken)
{
	struct mailbox mailbox;
	struct mail first;
	struct mail urgent;

	mailbox_init(&mailbox, -1);
	mailbox_put(&mailbox, &first);
	ck_assert(!mailbox_is_urgent(&mailbox));
	mailbox_put_urgently(&mailbox, &urgent);
	ck_assert(mailbox_is_urgent(&mailbox));
	ck_assert_ptr_eq(mailbox_take(&mailbox, 0), &first);
	ck_assert_ptr_eq(first.next, &urgent);
	ck_assert(!mailbox_is_urgent(&mailbox));
	mailbox_put(&mailbox, &first);
	ck_assert(!mailbox_is_urgent(&mailbox));
	ck_assert_ptr_eq(mailbox_take(&mailbox, 0), &first);
	mailbox_fini(&mailbox);
}
END_TEST

START_TEST(every_letter_arrives_once_and_in_its_writers_order)
{
	pthread_t threads[WRITERS];
	struct writer writers[WRITERS];
	int next[WRITERS] = { 0 };
	struct mailbox mailbox;
	int count = 0;

	mailbox_init(&mailbox, -1);
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ &mailbox, i };
		pthread_create(&threads[i], NULL, write_letters, &writers[i]);
	}
	while (count < WRITERS * LETTERS)
		count += read_letters(mailbox_take(&mailbox, -1), next);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_ptr_null(mailbox_take(&mailbox, 1));
	mailbox_fini(&mailbox);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source");
	TCase *tests = tcase_create("source");

	tcase_add_test(tests,
		       the_librdkafka_versions_that_lose_offsets_are_refused);
	tcase_add_test(tests,
		       what_guards_against_loss_is_set_whatever_the_user_wrote);
	tcase_add_test(tests,
		       an_unsafe_effective_value_is_found_after_creation);
	tcase_add_test(tests, all_partitions_together_stay_within_the_memory);
	tcase_add_test(
		tests,
		four_partitions_have_a_second_of_the_top_rate_in_their_queues);
	tcase_add_test(tests, a_full_queue_has_one_message_at_least);
	tcase_add_test(tests,
		       too_little_memory_still_lets_every_partition_move);
	tcase_add_test(
		tests,
		the_users_own_limits_take_the_place_of_those_that_follow);
	tcase_add_test(tests, librdkafka_is_asked_about_properties);
	tcase_add_test(
		tests,
		what_an_older_librdkafka_has_not_got_is_refused_with_its_version);
	tcase_add_test(
		tests,
		scram_with_a_librdkafka_that_kafka_4_refuses_is_told_by_name);
	tcase_add_test(
		tests,
		our_own_values_go_with_every_group_protocol_of_the_library);
	tcase_add_test(tests,
		       a_partition_goes_its_way_from_opening_to_dropping);
	tcase_add_test_raise_signal(
		tests, an_edge_that_is_not_in_the_table_ends_the_process,
		SIGABRT);
	tcase_add_test(tests, a_strand_of_an_older_assignment_is_not_found);
	tcase_add_test(tests, strands_take_turns);
	tcase_add_test(tests,
		       a_mailbox_is_urgent_until_the_letter_that_is_was_taken);
	tcase_add_test(tests,
		       every_letter_arrives_once_and_in_its_writers_order);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
