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
	tcase_add_test(tests, librdkafka_is_asked_about_properties);
	tcase_add_test(
		tests,
		what_an_older_librdkafka_has_not_got_is_refused_with_its_version);
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
		       every_letter_arrives_once_and_in_its_writers_order);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
