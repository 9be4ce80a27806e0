/*
 * Retention is by the database's clock, and what it removes is gone: a clock
 * that is set forward by a month, by a person or by a host that wakes up, would
 * make all of the log old at once. So a scope is cleaned only while its time is
 * plausible. Who speaks for it, in this order:
 *
 *	the database	it was found right a moment ago, by who cleaned last
 *	this program	since then as much time has passed there as here, by a
 *			clock that nobody sets
 *	the source	messages come whose time is that time
 *
 * The idea to hold: without a witness nothing is removed, and that costs
 * nothing, for where no message comes the log doesn't grow. A person may be the
 * witness.
 */
#include "upkeep_impl.h"

#include "bytes.h"
#include "clock.h"
#include "pg_array.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	LEAST_SLACK_MS = 60000,
	SLACK_SHARE = 10, /* of the retention: rows go so much too early */
	SPAN_SIZE = 32,
	SECOND_MS = 1000,
	HOUR_MS = 3600 * SECOND_MS,
	DAY_MS = 24 * HOUR_MS
};

static const char right_sql[] = "UPDATE once.consumer SET clock_right_at = "
				"pg_catalog.now() WHERE id = $1::int8";

static const char audit_sql[] =
	"INSERT INTO once.audit (person, command, subject, rows_changed) "
	"VALUES ($1::text, 'gc', 'the clock is right', 0)";

static const char *format_span(int64_t ms, char span[SPAN_SIZE])
{
	int64_t unit_ms = SECOND_MS;
	const char *unit = "seconds";

	ms = llabs(ms);
	if (ms >= 2 * DAY_MS) {
		unit_ms = DAY_MS;
		unit = "days";
	} else if (ms >= 2 * HOUR_MS) {
		unit_ms = HOUR_MS;
		unit = "hours";
	}
	snprintf(span, SPAN_SIZE, "%lld %s",
		 (long long)((ms + unit_ms / 2) / unit_ms), unit);
	return span;
}

#define REMEDY \
	"; nothing is removed. If the clock is right, confirm it: " \
	"onced gc --clock-is-right"

static bool doubt_jump(int64_t off_ms, struct once_clean_step *step)
{
	char span[SPAN_SIZE];

	snprintf(step->doubt, sizeof(step->doubt),
		 "the database's clock was set %s by %s" REMEDY,
		 off_ms > 0 ? "forward" : "back", format_span(off_ms, span));
	return false;
}

static bool doubt_unwatched(const struct once__clock *clock, int64_t source_ms,
			    struct once_clean_step *step)
{
	int64_t since_ms = clock->now_ms - clock->right_ms;
	char since[SPAN_SIZE];
	char apart[SPAN_SIZE];

	format_span(since_ms, since);
	if (source_ms <= 0)
		snprintf(step->doubt, sizeof(step->doubt),
			 "the database's clock says that %s have passed%s "
			 "since it was last checked, and no message has "
			 "come to prove it" REMEDY,
			 since, since_ms < 0 ? " backwards" : "");
	else
		snprintf(step->doubt, sizeof(step->doubt),
			 "the database's clock says that %s have passed%s "
			 "since it was last checked, and the newest message is "
			 "%s %s" REMEDY,
			 since, since_ms < 0 ? " backwards" : "",
			 format_span(clock->now_ms - source_ms, apart),
			 source_ms < clock->now_ms ? "old" : "ahead");
	return false;
}

static bool is_right(const struct once_cleaner *cleaner,
		     const struct once__clock *clock,
		     struct once_clean_step *step)
{
	const struct once_cleaner_options *options = &cleaner->options;
	const struct once_clock_seen *seen =
		options->clocks == NULL ? NULL
					: &options->clocks[cleaner->at.scope];
	int64_t slack_ms = clock->retention_ms / SLACK_SHARE;
	int64_t source_ms = 0;

	if (slack_ms < LEAST_SLACK_MS)
		slack_ms = LEAST_SLACK_MS;
	if (llabs(clock->now_ms - clock->right_ms) <= slack_ms)
		return true;
	if (seen != NULL && seen->database_ms != 0) {
		int64_t off_ms = clock->now_ms - seen->database_ms -
				 (clock_boot_ms() - seen->own_ms);

		return llabs(off_ms) <= slack_ms || doubt_jump(off_ms, step);
	}
	if (options->source_time != NULL)
		source_ms = options->source_time(options->source_arg);
	if (source_ms > 0 && llabs(clock->now_ms - source_ms) <= slack_ms)
		return true;
	return doubt_unwatched(clock, source_ms, step);
}

/* What a person says goes into the audit only if nobody else knew it. */
static void believe_person(struct once_cleaner *cleaner)
{
	const struct once_cleaner_options *options = &cleaner->options;

	once__pg_send(cleaner->pg, ONCE__PG_OURS, audit_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(options->person))));
}

bool once__cleaner_check_clock(struct once_cleaner *cleaner,
			       const struct once__clock *clock,
			       struct once_clean_step *step)
{
	const struct once_cleaner_options *options = &cleaner->options;
	bool right = is_right(cleaner, clock, step);
	char id[24];

	step->in_doubt = !right && !options->clock_is_right;
	if (step->in_doubt)
		return false;
	step->doubt[0] = '\0';
	if (!right && options->person != NULL && !options->dry_run)
		believe_person(cleaner);
	if (!options->dry_run)
		once__pg_send(cleaner->pg, ONCE__PG_OURS, right_sql,
			      ONCE_PARAMS(once__pg_int8(
				      id, cleaner->at.consumer_id)));
	if (options->clocks != NULL)
		options->clocks[cleaner->at.scope] = (struct once_clock_seen){
			.database_ms = clock->now_ms,
			.own_ms = clock_boot_ms(),
		};
	return true;
}
