/*
 * Servers live here, the consumer in a process of its own. One loop sends,
 * looks how far the consumer is, and kills it at its three moments.
 */
#include "story.h"

#include "clock.h"
#include "database.h"
#include "error.h"
#include "progress.h"
#include "sandbox.h"
#include "stop_signal.h"
#include "tables.h"
#include "traffic.h"
#include "verdict.h"
#include "victim.h"

#include <signal.h>
#include <stdio.h>

enum {
	TICK_MS = 10,
	KILLS = 3,
	PATIENCE_MS = 60000, /* without any progress */
	LOG_TAIL_BYTES = 4000
};

/* Percents of the messages ended before each kill. */
static const int kill_at[KILLS] = { 8, 30, 55 };

struct story {
	struct progress progress;
	struct sandbox sandbox;
	struct ledger ledger;
	struct database *database;
	struct traffic *traffic;
	struct victim victim;
	unsigned kills;
	int64_t ended;    /* messages, by the positions */
	int64_t moved_ms; /* when that last grew */
	bool is_away;     /* since a start: nothing has moved yet */
};

static enum once_status count_ended(const struct story *story,
				    int64_t *ret_ended, struct once_error *err)
{
	static const char sum[] = "SELECT sum(next_offset) FROM once.position";

	return database_ask(story->database, sum, ret_ended, 1, err);
}

/* ---- before it ---- */

static enum once_status open_servers(struct story *story,
				     struct once_error *err)
{
	enum once_status status = sandbox_open(&story->sandbox, err);

	if (status == ONCE_OK)
		status = broker_create_topic(story->sandbox.broker, DEMO_TOPIC,
					     DEMO_PARTITIONS, err);
	if (status == ONCE_OK)
		status = database_open(story->sandbox.postgres.conninfo,
				       &story->database, err);
	if (status == ONCE_OK)
		status = tables_create(story->database, err);
	return status;
}

static enum once_status start_consumer(struct story *story,
				       struct once_error *err)
{
	enum once_status status = count_ended(story, &story->ended, err);

	story->is_away = true;
	story->moved_ms = clock_ms();
	if (status == ONCE_OK)
		status = victim_start(&story->victim, err);
	return status;
}

static enum once_status begin(struct story *story, struct once_error *err)
{
	enum once_status status = ledger_init(&story->ledger, err);

	if (status == ONCE_OK)
		status = open_servers(story, err);
	if (status == ONCE_OK)
		status = victim_prepare(&story->victim, &story->sandbox, err);
	if (status == ONCE_OK)
		status = traffic_start(broker_address(story->sandbox.broker),
				       &story->ledger, &story->traffic, err);
	if (status == ONCE_OK)
		status = start_consumer(story, err);
	if (status == ONCE_OK)
		progress_say(
			&story->progress,
			"a broker and a PostgreSQL run; messages are sent, "
			"a consumer joins its group");
	return status;
}

/* ---- while it runs ---- */

static enum once_status look(struct story *story, struct once_error *err)
{
	int64_t ended = 0;
	enum once_status status = count_ended(story, &ended, err);

	if (status != ONCE_OK)
		return status;
	if (ended > story->ended) {
		if (story->is_away)
			progress_say(&story->progress,
				     "the consumer has its partitions");
		story->is_away = false;
		story->moved_ms = clock_ms();
		story->ended = ended;
	}
	progress_show(&story->progress, (int64_t)traffic_sent(story->traffic),
		      ended, COUNT_ALL);
	return ONCE_OK;
}

static bool is_time_to_kill(const struct story *story)
{
	return story->kills < KILLS && !story->is_away &&
	       story->ended * 100 >= (int64_t)kill_at[story->kills] * COUNT_ALL;
}

static enum once_status kill_and_restart(struct story *story,
					 struct once_error *err)
{
	int64_t cut;
	enum once_status status =
		victim_try_to_kill(&story->victim, story->database, &cut, err);

	if (status != ONCE_OK || cut == 0)
		return status;
	story->kills++;
	progress_say(&story->progress,
		     "consumer killed in mid batch, %lld open transaction%s "
		     "cut; a new one starts",
		     (long long)cut, cut == 1 ? "" : "s");
	return start_consumer(story, err);
}

static enum once_status check_consumer(struct story *story,
				       struct once_error *err)
{
	if (!child_is_running(&story->victim.child))
		return error_set(err, ONCE_TRANSIENT,
				 "the consumer ended by itself with code %d",
				 child_exit_code(&story->victim.child));
	if (clock_ms() - story->moved_ms > PATIENCE_MS)
		return error_set(err, ONCE_TRANSIENT,
				 "nothing has moved for %d s; %lld of %d "
				 "messages have ended",
				 PATIENCE_MS / 1000, (long long)story->ended,
				 (int)COUNT_ALL);
	return ONCE_OK;
}

static enum once_status take_step(struct story *story, struct once_error *err)
{
	enum once_status status = traffic_step(story->traffic, err);

	if (status == ONCE_OK)
		status = look(story, err);
	if (status == ONCE_OK)
		status = check_consumer(story, err);
	if (status == ONCE_OK && is_time_to_kill(story))
		status = kill_and_restart(story, err);
	return status;
}

static bool is_over(const struct story *story)
{
	return traffic_is_over(story->traffic) && story->ended >= COUNT_ALL;
}

static enum once_status go_on(struct story *story, struct once_error *err)
{
	enum once_status status = ONCE_OK;

	while (status == ONCE_OK && !is_over(story)) {
		status = take_step(story, err);
		if (status == ONCE_OK && !stop_signal_sleep(TICK_MS))
			status = error_set(err, ONCE_TRANSIENT, "interrupted");
	}
	return status;
}

/* ---- behind it ---- */

static enum once_status conclude(struct story *story, bool *ret_is_good,
				 struct once_error *err)
{
	struct verdict_facts facts = { .kills = story->kills,
				       .kills_wanted = KILLS };
	enum once_status status;

	progress_say(&story->progress,
		     "all messages have ended; the consumer is told to stop");
	facts.stop_code = victim_stop(&story->victim);
	status = tables_add_ledger(story->database, &story->ledger, err);
	facts.seconds = (double)(clock_ms() - story->progress.began_ms) / 1000;
	if (status == ONCE_OK)
		status =
			verdict_give(story->database, &facts, ret_is_good, err);
	return status;
}

static void show_log(const struct story *story)
{
	FILE *file = fopen(story->victim.log, "re");
	int byte;

	if (file == NULL)
		return;
	fprintf(stderr, "\nthe end of the consumers' log:\n");
	if (fseek(file, -LOG_TAIL_BYTES, SEEK_END) != 0)
		rewind(file);
	while ((byte = getc(file)) != EOF)
		putc(byte, stderr);
	putc('\n', stderr);
	fclose(file);
}

static void end(struct story *story)
{
	child_stop(&story->victim.child, SIGKILL, PATIENCE_MS);
	traffic_stop(story->traffic);
	database_close(story->database);
	sandbox_close(&story->sandbox);
	ledger_fini(&story->ledger);
}

enum once_status story_tell(bool *ret_is_good, struct once_error *err)
{
	struct story story = { .kills = 0 };
	enum once_status status;

	*ret_is_good = false;
	progress_init(&story.progress);
	printf("%d,%03d refunds, a third of them delivered again, through a "
	       "consumer that is killed %d times\n\n",
	       COUNT_FIRST / 1000, COUNT_FIRST % 1000, KILLS);
	status = begin(&story, err);
	if (status == ONCE_OK)
		status = go_on(&story, err);
	if (status == ONCE_OK)
		status = conclude(&story, ret_is_good, err);
	progress_clear(&story.progress);
	if (status != ONCE_OK || !*ret_is_good)
		if (!stop_signal_is_pending())
			show_log(&story);
	end(&story);
	return status;
}
