/* Lines on stderr: whole, safe to be shown, and not more of them than a person
 * reads. */
#include "bytes.h"
#include "clock.h"
#include "log.h"
#include "log_event.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MINUTE_MS = 60000
};

static int real_stderr;
static char path[64];

static void take_stderr(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/once-log-%d", (int)getpid());
	fflush(stderr);
	real_stderr = dup(STDERR_FILENO);
	ck_assert_ptr_nonnull(freopen(path, "w+", stderr));
	fd = fileno(stderr);
	if (fd != STDERR_FILENO)
		dup2(fd, STDERR_FILENO);
}

/* What was written; the caller frees it. */
static char *give_back_stderr(void)
{
	char *lines = calloc(1, 1 << 20);
	FILE *file = fopen(path, "r");

	ck_assert_ptr_nonnull(lines);
	ck_assert_ptr_nonnull(file);
	ck_assert(fread(lines, 1, (1 << 20) - 1, file) < (1 << 20));
	fclose(file);
	fflush(stderr);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	unlink(path);
	return lines;
}

static size_t count(const char *lines, const char *what)
{
	size_t found = 0;

	for (; (lines = strstr(lines, what)) != NULL; lines++)
		found++;
	return found;
}

/* ---- an event that goes on ---- */

static void meet_often(struct log_party *party, int times)
{
	for (int i = 0; i < times; i++)
		log_event_meet(party, "database", LOG_LEVEL_WARNING,
			       LOG_FIELDS(LOG_NUMBER("next_ms", i)),
			       "could not connect");
}

START_TEST(what_goes_on_is_a_line_at_its_start_each_minute_and_at_its_end)
{
	struct log_party lanes[2] = { 0 };
	char *lines;

	take_stderr();
	meet_often(&lanes[0], 500);
	meet_often(&lanes[1], 500);
	log_events_on_timer(clock_ms());
	log_events_on_timer(clock_ms() + MINUTE_MS);
	log_event_leave(&lanes[0], NULL, "the database answers again");
	log_event_leave(&lanes[0], NULL, "the database answers again");
	log_events_on_timer(clock_ms() + 2 * MINUTE_MS);
	log_event_leave(&lanes[1], NULL, "the database answers again");
	log_events_on_timer(clock_ms() + 3 * MINUTE_MS);
	log_events_end();
	lines = give_back_stderr();
	ck_assert_msg(count(lines, "\n") == 4, "%s", lines);
	ck_assert_uint_eq(count(lines, "msg=\"could not connect\""), 1);
	ck_assert_ptr_nonnull(strstr(lines,
				     "msg=\"still: could not connect\" "
				     "next_ms=499 times=999 since_s=60"));
	ck_assert_ptr_nonnull(strstr(lines, "times=0 since_s=120"));
	ck_assert_uint_eq(count(lines, "answers again"), 1);
	ck_assert_ptr_nonnull(strstr(lines, " times=1000\n"));
	free(lines);
}
END_TEST

START_TEST(another_reason_of_the_same_event_is_said_at_once_and_not_endlessly)
{
	struct log_party party = { 0 };
	char *lines;

	take_stderr();
	log_event_meet(&party, "kafka", LOG_LEVEL_WARNING, NULL, "refused");
	log_event_meet(&party, "kafka", LOG_LEVEL_WARNING, NULL, "password");
	for (int i = 0; i < 1000; i++)
		log_event_meet(&party, "kafka", LOG_LEVEL_WARNING, NULL,
			       "reason %d", i);
	log_event_leave(&party, NULL, "Kafka answers again");
	lines = give_back_stderr();
	ck_assert_ptr_nonnull(strstr(lines, "msg=\"refused\""));
	ck_assert_ptr_nonnull(strstr(lines, "msg=\"password\""));
	ck_assert_uint_lt(count(lines, "\n"), 8);
	free(lines);
}
END_TEST

START_TEST(nothing_is_said_at_the_end_of_what_was_not_met)
{
	struct log_party party = { 0 };
	char *lines;

	take_stderr();
	log_event_leave(&party, NULL, "over");
	log_events_end();
	lines = give_back_stderr();
	ck_assert_str_eq(lines, "");
	free(lines);
}
END_TEST

/* As librdkafka's texts do. */
START_TEST(a_text_whose_numbers_change_is_the_same_text)
{
	struct log_party party = { 0 };
	char *lines;

	take_stderr();
	for (int i = 0; i < 100; i++) {
		log_event_meet(&party, "kafka", LOG_LEVEL_WARNING, NULL,
			       "refused after %d ms", i);
		log_event_meet(&party, "kafka", LOG_LEVEL_WARNING, NULL,
			       "%d of 3 brokers are down", i);
	}
	log_event_forget(&party);
	lines = give_back_stderr();
	ck_assert_msg(count(lines, "\n") == 3, "%s", lines);
	ck_assert_ptr_nonnull(strstr(lines, "still: 99 of 3 brokers are down\" "
					    "times=198 "));
	free(lines);
}
END_TEST

START_TEST(a_party_that_is_gone_keeps_no_event_alive)
{
	struct log_party parties[2] = { 0 };
	char *lines;

	take_stderr();
	log_event_meet(&parties[0], "waits", LOG_LEVEL_ERROR, NULL, "grant it");
	log_event_meet(&parties[1], "waits", LOG_LEVEL_ERROR, NULL, "grant it");
	log_event_forget(&parties[0]);
	log_event_leave(&parties[1], NULL, "goes on");
	log_events_on_timer(clock_ms() + MINUTE_MS);
	lines = give_back_stderr();
	ck_assert_uint_eq(count(lines, "\n"), 2);
	ck_assert_ptr_nonnull(strstr(lines, "goes on"));
	free(lines);
}
END_TEST

/* ---- what comes often ---- */

static void meet_bad(int64_t first, int64_t behind)
{
	for (int64_t i = first; i < behind; i++)
		log_often("refund/dead/bad_key", 10, LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_NUMBER("offset", i)), "dead: no id");
}

START_TEST(of_ten_thousand_alike_ten_are_written_and_the_others_counted)
{
	char *lines;

	take_stderr();
	meet_bad(0, 9990);
	log_events_on_timer(clock_ms() + MINUTE_MS);
	meet_bad(9990, 10010);
	log_events_end();
	lines = give_back_stderr();
	ck_assert_msg(count(lines, "\n") == 22, "%s", lines);
	ck_assert_uint_eq(count(lines, "msg=\"dead: no id\""), 20);
	ck_assert_ptr_nonnull(strstr(lines, "msg=\"and 9980 more, the last of "
					    "them: dead: no id\" offset=9989 "
					    "more=9980 first_offset=10\n"));
	ck_assert_ptr_nonnull(strstr(lines, " offset=10009 more=10 "
					    "first_offset=10000\n"));
	free(lines);
}
END_TEST

/* An outage has room left. */
START_TEST(more_names_than_fit_are_lines_as_ever)
{
	struct log_party party = { 0 };
	char *lines;

	take_stderr();
	for (int i = 0; i < 300; i++) {
		char name[24];

		snprintf(name, sizeof(name), "name %d", i);
		log_often(name, 1, LOG_LEVEL_WARNING, NULL, "%s", name);
	}
	meet_often(&party, 100);
	log_event_leave(&party, NULL, "the database answers again");
	log_events_end();
	lines = give_back_stderr();
	ck_assert_uint_eq(count(lines, "\n"), 302);
	ck_assert_uint_eq(count(lines, " times=100\n"), 1);
	free(lines);
}
END_TEST

/* ---- what comes from outside ---- */

/* Of each kind of what moves a cursor, hides or turns a line. */
START_TEST(a_value_can_neither_forge_a_line_nor_speak_to_a_terminal)
{
	static const char *const values[] = {
		"\n",
		"\r",
		"\x1b[2J",
		"\x7f",
		"\xC2\x9B",         /* CSI */
		"\xC2\x9D",         /* OSC */
		"\xE2\x80\xAE",     /* U+202E */
		"\xE2\x81\xA6",     /* U+2066 */
		"\xE2\x80\x8B",     /* U+200B */
		"\xE2\x80\xA8",     /* U+2028 */
		"\xEF\xBB\xBF",     /* U+FEFF */
		"\xF3\xA0\x81\x81", /* U+E0041 */
		"\x7F[\xFF",        /* beside what isn't UTF-8 */
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char *lines;

		take_stderr();
		log_info(LOG_FIELDS(LOG_TEXT("msg_id", values[i])), "took %s",
			 values[i]);
		log_often("x", 1, LOG_LEVEL_INFO,
			  LOG_FIELDS(LOG_TEXT("biz_id", values[i])), "%s",
			  values[i]);
		log_events_end();
		lines = give_back_stderr();
		ck_assert_uint_eq(count(lines, "\n"), 2);
		ck_assert_ptr_null(strchr(lines, 0x7F));
		ck_assert_msg(values[i][0] == '\n' ||
				      strstr(lines, values[i]) == NULL,
			      "value %zu: %s", i, lines);
		free(lines);
	}
}
END_TEST

START_TEST(other_letters_are_shown_as_they_are)
{
	char *lines;

	take_stderr();
	log_info(LOG_FIELDS(LOG_TEXT("name", "Åsa 東京 😀")), "ok");
	lines = give_back_stderr();
	ck_assert_ptr_nonnull(strstr(lines, "name=\"Åsa 東京 😀\""));
	free(lines);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tests = tcase_create("all");

	tcase_add_test(
		tests,
		what_goes_on_is_a_line_at_its_start_each_minute_and_at_its_end);
	tcase_add_test(
		tests,
		another_reason_of_the_same_event_is_said_at_once_and_not_endlessly);
	tcase_add_test(tests, a_text_whose_numbers_change_is_the_same_text);
	tcase_add_test(tests, a_party_that_is_gone_keeps_no_event_alive);
	tcase_add_test(tests, nothing_is_said_at_the_end_of_what_was_not_met);
	tcase_add_test(
		tests,
		of_ten_thousand_alike_ten_are_written_and_the_others_counted);
	tcase_add_test(tests, more_names_than_fit_are_lines_as_ever);
	tcase_add_test(
		tests,
		a_value_can_neither_forge_a_line_nor_speak_to_a_terminal);
	tcase_add_test(tests, other_letters_are_shown_as_they_are);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
