/*
 * onced_numbers.c - what onced counts: on its page while it runs, and in its
 * log when it has stopped.
 *
 * The idea: what it has taken is what came of it, and what isn't that yet is in
 * flight. It counts after it has committed: who waited for the database has yet
 * to wait for the numbers.
 */
#include "onced_fixture.h"

#include "http_get.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNTED_MS = 60000
};

/* What a message is counted as when it comes, and when it has ended. */
static const char *const taken[] = { "consumed", "resumed", NULL };
static const char *const ended[] = { "handled",   "intercepts", "backstop_hits",
				     "conflicts", "dead",       "postponed",
				     "returned",  NULL };

/* ---- in the log ---- */

/* Behind "name=" in a line. */
static int64_t number_in(const char *line, const char *name)
{
	char field[64];
	const char *at;

	snprintf(field, sizeof(field), " %s=", name);
	at = strstr(line, field);
	ck_assert_msg(at != NULL, "no %s in: %s", name, line);
	return strtoll(at + strlen(field), NULL, 10);
}

static int64_t add_in(const char *line, const char *const *names)
{
	int64_t sum = 0;

	for (; *names != NULL; names++)
		sum += number_in(line, *names);
	return sum;
}

static void check_sums(const char *line)
{
	int64_t missing = add_in(line, taken) - add_in(line, ended);

	ck_assert_msg(missing == 0, "%" PRId64 " messages have no ending: %s",
		      missing, line);
}

void onced_check_last_sums(struct onced *onced)
{
	FILE *file = fopen(onced->log, "r");
	char *last = NULL;
	char *line = NULL;
	size_t size = 0;

	ck_assert_ptr_nonnull(file);
	while (getline(&line, &size, file) != -1) {
		if (strstr(line, "msg=\"stopped\"") == NULL)
			continue;
		free(last);
		last = strdup(line);
	}
	fclose(file);
	ck_assert_msg(last != NULL || !onced_has_logged(onced, "level=info"),
		      "it didn't say that it has stopped");
	if (last != NULL)
		check_sums(last);
	free(line);
	free(last);
}

/* ---- on the page ---- */

static double add_samples(char *page, const char *name, const char *label)
{
	size_t size = strlen(name);
	double sum = 0;
	char *rest;

	for (char *line = strtok_r(page, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, name, size) == 0 &&
		    (line[size] == '{' || line[size] == ' ') &&
		    (label == NULL || strstr(line, label) != NULL))
			sum += strtod(strrchr(line, ' '), NULL);
	return sum;
}

static char *get_page(struct onced *onced)
{
	char *page;

	ck_assert_int_eq(http_get(onced->port, "/metrics", &page), 200);
	ck_assert_ptr_nonnull(page);
	return page;
}

double onced_get_seconds(struct onced *onced, const char *name,
			 const char *label)
{
	char *page = get_page(onced);
	double sum = add_samples(page, name, label);

	free(page);
	return sum;
}

int64_t onced_get_metric(struct onced *onced, const char *name,
			 const char *label)
{
	return (int64_t)onced_get_seconds(onced, name, label);
}

static int64_t add_on(const char *page, const char *const *names)
{
	int64_t sum = 0;

	for (; *names != NULL; names++) {
		char *copy = strdup(page);
		char name[64];

		ck_assert_ptr_nonnull(copy);
		snprintf(name, sizeof(name), "onced_%s_total", *names);
		sum += (int64_t)add_samples(copy, name, NULL);
		free(copy);
	}
	return sum;
}

struct count {
	struct onced *onced; /* `processes` of them */
	size_t processes;
	int64_t wanted;
	int64_t taken;
	int64_t ended;
};

static bool is_counted(void *arg)
{
	struct count *count = arg;

	count->taken = 0;
	count->ended = 0;
	for (size_t i = 0; i < count->processes; i++) {
		char *page = get_page(&count->onced[i]);

		count->taken += add_on(page, taken);
		count->ended += add_on(page, ended);
		free(page);
	}
	return count->taken >= count->wanted && count->ended == count->taken;
}

void onced_wait_until_counted(struct onced *onced, size_t processes,
			      int64_t messages)
{
	struct count count = { onced, processes, messages, 0, 0 };

	if (wait_until(is_counted, &count, COUNTED_MS))
		return;
	onced_fixture_show_logs(onced->fixture);
	ck_abort_msg("of %" PRId64 " messages %" PRId64 " are counted as taken "
		     "and %" PRId64 " as ended",
		     messages, count.taken, count.ended);
}
