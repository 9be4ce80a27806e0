/*
 * The lane's loop: obey what has come, then run one batch of what is ready. The
 * idea to hold: a lane never decides from its memory what is handled. After
 * every doubt it says "lost", and the source has the position read again.
 */
#include "lane.h"

#include "backoff.h"
#include "bytes.h"
#include "clock.h"
#include "crash.h"
#include "error.h"
#include "lane_work.h"
#include "log.h"
#include "log_event.h"
#include "numbers.h"
#include "scope.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	TROUBLE_FIRST_MS = 100,
	TROUBLE_MAX_MS = 5000,
	SURVEY_EVERY_MS = 10000,
	LONGEST_WAIT_MS = 1000
};

struct lane {
	pthread_t thread;
	struct lane_options options;
	struct mailbox orders;
	struct order stop; /* always there to be put */
	bool asked;        /* to stop; main's */

	struct once_session *session; /* the lane's thread; others: mutex */

	/* the lane's thread alone */
	struct lane_work work;
	unsigned troubles; /* in a row */
	struct log_party trouble_party;
	int64_t trouble_until_ms;
	int64_t surveyed_ms;
	unsigned verified; /* the connection whose positions ours are */
	bool unchecked;    /* the database: see struct lane_options */
	bool refused;      /* the last batch: it must run before all is well */
	bool outdated;     /* it does nothing any more but obey */
	bool stopping;

	atomic_llong busy_since_ms; /* 0: idle */
	atomic_bool is_last;        /* set before it is asked to stop */
	atomic_bool ended;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool opened;                  /* mutex */
	enum once_status open_status; /* mutex */
	struct once_error trouble;    /* mutex; text "": none */
	bool database_reached;        /* mutex */
	bool told_outdated;           /* mutex */
	char waits[1024];             /* mutex; see struct lane_view */
};

/* ---- what others may know ---- */

static void set_trouble(struct lane *lane, const struct once_error *err)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&lane->mutex);

	(void)held;
	lane->database_reached = err == NULL;
	if (err == NULL)
		error_clear(&lane->trouble);
	else
		lane->trouble = *err;
}

void lane_get_view(struct lane *lane, struct lane_view *ret_view)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&lane->mutex);
	int64_t since_ms = atomic_load(&lane->busy_since_ms);
	int64_t now_ms = clock_ms();
	int64_t still_ms = INT64_MAX;

	(void)held;
	ret_view->database_reached = lane->database_reached;
	ret_view->outdated = lane->told_outdated;
	ret_view->busy_ms = since_ms == 0 ? 0 : now_ms - since_ms;
	ret_view->still_ms = ret_view->busy_ms;
	ret_view->call.began_ms = 0;
	if (lane->session != NULL) {
		once_session_get_call(lane->session, &ret_view->call);
		still_ms = now_ms - once_session_moved_ms(lane->session);
	}
	if (still_ms < ret_view->still_ms)
		ret_view->still_ms = still_ms;
	memcpy(ret_view->trouble, lane->trouble.text,
	       sizeof(ret_view->trouble));
	memcpy(ret_view->waits, lane->waits, sizeof(ret_view->waits));
}

static void tell_waits(struct lane *lane)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&lane->mutex);

	(void)held;
	lane->work.waits_changed = false;
	lane_work_describe_waits(&lane->work, lane->waits, sizeof(lane->waits));
}

struct mailbox *lane_orders(struct lane *lane)
{
	return &lane->orders;
}

/* ---- trouble: the database isn't there, or doesn't let us ---- */

/* A try that waits for a lock is in the queue for it, so it is made again soon:
 * when the lock is free, it is the next one. */
static int64_t trouble_ms(const struct lane *lane, const struct once_error *err)
{
	if (strcmp(err->sqlstate, "55P03") == 0)
		return TROUBLE_FIRST_MS;
	return backoff_ms(lane->troubles, TROUBLE_FIRST_MS, TROUBLE_MAX_MS);
}

/* An outage is the same for all lanes. */
static void tell_trouble(struct lane *lane, const struct once_error *err,
			 int64_t wait_ms)
{
	const char *state = err->sqlstate[0] == '\0' ? NULL : err->sqlstate;

	log_event_meet(&lane->trouble_party, "database", LOG_LEVEL_WARNING,
		       LOG_FIELDS(LOG_NUMBER("lane", lane->options.index),
				  LOG_TEXT("sqlstate", state),
				  LOG_NUMBER("attempt", lane->troubles),
				  LOG_NUMBER("next_ms", wait_ms)),
		       "%s", err->text);
}

static void meet_trouble(struct lane *lane, const struct once_error *err)
{
	int64_t wait_ms;

	lane->troubles++;
	wait_ms = trouble_ms(lane, err);
	lane->trouble_until_ms = clock_ms() + wait_ms;
	set_trouble(lane, err);
	tell_trouble(lane, err, wait_ms);
}

static void end_trouble(struct lane *lane)
{
	log_event_leave(&lane->trouble_party,
			LOG_FIELDS(LOG_NUMBER("lane", lane->options.index)),
			"the database answers again");
	if (lane->troubles > 0 || !lane->database_reached)
		set_trouble(lane, NULL);
	lane->troubles = 0;
	lane->trouble_until_ms = 0;
}

static void be_outdated(struct lane *lane)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&lane->mutex);

	(void)held;
	lane->outdated = true;
	lane->told_outdated = true;
}

/* A statement of ours that fits no table, or a session that is refused: nothing
 * but another program, or another schema, makes that good. A person who only
 * dropped a table is waited for. */
static void check_schema(struct lane *lane)
{
	struct once_error err;

	if (once_session_check_schema(lane->session, &err) != ONCE_CONFIG)
		return;
	set_trouble(lane, &err);
	be_outdated(lane);
}

static bool note(struct lane *lane, enum once_status status,
		 const struct once_error *err)
{
	if (status == ONCE_CONFIG)
		check_schema(lane);
	if (lane->outdated)
		return false;
	if (status == ONCE_OK && !lane->refused)
		end_trouble(lane);
	else if (status != ONCE_OK)
		meet_trouble(lane, err);
	return status == ONCE_OK;
}

/* What can't get better by itself, such as a pooler in between, ends the
 * process, as it would have at the start. */
static bool check_database(struct lane *lane)
{
	struct once_error err;
	enum once_status status =
		once_database_check(lane->options.cfg->database.conninfo, &err);

	lane->unchecked = status != ONCE_OK;
	if (status == ONCE_CONFIG) {
		set_trouble(lane, &err);
		be_outdated(lane);
	} else if (status != ONCE_OK) {
		meet_trouble(lane, &err);
	}
	return status == ONCE_OK;
}

/* ---- the loop ---- */

static int64_t wait_for_orders_ms(const struct lane *lane)
{
	int64_t now_ms = clock_ms();
	int64_t until_ms = lane_work_due_ms(&lane->work);

	if (lane->outdated)
		return LONGEST_WAIT_MS;
	if (lane->trouble_until_ms > now_ms)
		until_ms = lane->trouble_until_ms;
	if (until_ms <= now_ms)
		return 0;
	if (until_ms - now_ms > LONGEST_WAIT_MS)
		return LONGEST_WAIT_MS;
	return until_ms - now_ms;
}

static void obey_orders(struct lane *lane)
{
	struct mail *mail =
		mailbox_take(&lane->orders, wait_for_orders_ms(lane));

	while (mail != NULL) {
		struct order *order = (struct order *)mail;

		mail = mail->next;
		if (order->kind == ORDER_STOP)
			lane->stopping = true;
		else
			lane_work_obey(&lane->work, order);
	}
}

static void run_batch(struct lane *lane)
{
	struct once_error err = { 0 };
	enum once_status status;

	if (lane_work_collect(&lane->work, clock_ms()) == 0) {
		lane->refused = false; /* its partition may be gone */
		return;
	}
	status = lane_work_run(&lane->work, &err);
	if (status == ONCE_FENCED)
		log_often("position refused", LOG_OFTEN, LOG_LEVEL_WARNING,
			  LOG_FIELDS(LOG_NUMBER("lane", lane->options.index)),
			  "%s; reading it again", err.text);
	lane->refused = status != ONCE_OK && status != ONCE_FENCED;
	if (status != ONCE_FENCED)
		note(lane, status, &err);
}

/* It asks every second: an idle lane, too, knows whether the database lives. */
static void run_waiting(struct lane *lane)
{
	struct once_error err = { 0 };

	if (clock_ms() < lane->trouble_until_ms ||
	    clock_ms() < lane->work.waiting_at_ms)
		return;
	note(lane, lane_work_run_waiting(&lane->work, &err), &err);
}

/* Is the schema still ours? A migration, or a key that somebody drops, reaches
 * a lane that loses no session, too. */
static void survey(struct lane *lane)
{
	struct once_error err;

	if (clock_ms() - lane->surveyed_ms < SURVEY_EVERY_MS)
		return;
	lane->surveyed_ms = clock_ms();
	(void)note(lane, once_session_check_schema(lane->session, &err), &err);
}

/* false: it has to be done again. */
static bool verify(struct lane *lane)
{
	unsigned connections = once_session_connections(lane->session);
	struct once_error err;

	if (lane->verified == connections)
		return true;
	if (!note(lane, lane_work_verify(&lane->work, &err), &err))
		return false;
	lane->verified = connections;
	return true;
}

static void work_once(struct lane *lane)
{
	struct once_error err = { 0 };

	once_session_tend(lane->session);
	if (clock_ms() < lane->trouble_until_ms || lane->outdated)
		return;
	if (lane->unchecked && !check_database(lane))
		return;
	if (lane->work.unsettled &&
	    !note(lane, lane_work_settle(&lane->work, &err), &err))
		return;
	if (!verify(lane))
		return;
	if (lane->work.openings != NULL &&
	    !note(lane, lane_work_open(&lane->work, &err), &err))
		return;
	run_batch(lane);
	if (lane->refused)
		return; /* reading says nothing of writing: a full disk */
	if (mailbox_is_urgent(&lane->orders))
		return;
	run_waiting(lane);
	survey(lane);
}

static void tell_opened(struct lane *lane, enum once_status status,
			const struct once_error *err)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&lane->mutex);

	(void)held;
	lane->opened = true;
	lane->open_status = status;
	if (status != ONCE_OK)
		lane->trouble = *err;
	pthread_cond_signal(&lane->changed);
}

/* Somebody else waits for a partition, or all end: what is done is committed,
 * and orders are obeyed. */
static int is_hurried(void *arg)
{
	const struct lane *lane = arg;

	return mailbox_is_urgent(&lane->orders);
}

static enum once_status open_session(struct lane *lane, struct once_error *err)
{
	const struct lane_options *options = &lane->options;
	struct once_session_options session_options = {
		.conninfo = options->cfg->database.conninfo,
		.application_name = "onced",
		.durability = options->cfg->database.durability,
		.isolation = options->cfg->database.isolation,
		.limits = options->cfg->database.limits,
		.routes = options->routes,
		.route_count = options->cfg->route_count,
		.instance = options->instance,
		.retention_ms = options->cfg->retention_ms,
		.prefilter = options->prefilter,
		.max_messages = options->cfg->batch.max_messages,
		.max_time_ms = options->cfg->batch.max_time_ms,
		.lane = options->index,
		.log = lane_work_log,
		.meanwhile = lane_work_collect_ahead,
		.meanwhile_arg = &lane->work,
		.hurry = is_hurried,
		.hurry_arg = lane,
	};
	enum once_status status =
		once_session_create(&session_options, &lane->session, err);

	if (status == ONCE_OK)
		status = lane_work_init(&lane->work, options, lane->session,
					err);
	return status;
}

/* Not signed off is as good as crashed: the next one is careful for a while. */
static void sign_off(struct lane *lane)
{
	struct once_error err;

	if (lane->troubles == 0 && !lane->unchecked &&
	    once_session_sign_off(lane->session, &err) != ONCE_OK)
		log_info(NULL, "could not sign off: %s", err.text);
}

/* Nothing is opened any more, but what is known of a log is still written. */
static void write_down(struct lane *lane)
{
	struct once_error err;

	if (lane_work_open(&lane->work, &err) != ONCE_OK)
		log_warning(NULL,
			    "could not write down that a log is another: "
			    "%s",
			    err.text);
}

static void close_session(struct lane *lane)
{
	struct once_session *session = lane->session;

	pthread_mutex_lock(&lane->mutex);
	lane->session = NULL; /* nobody watches it any more */
	pthread_mutex_unlock(&lane->mutex);
	once_session_destroy(session);
}

static void *run_lane(void *arg)
{
	struct lane *lane = arg;
	struct once_error err = { 0 };
	enum once_status status = open_session(lane, &err);

	if (status == ONCE_OK)
		crash_watch(lane->session);
	tell_opened(lane, status, &err);
	while (status == ONCE_OK && !lane->stopping) {
		obey_orders(lane);
		atomic_store(&lane->busy_since_ms, clock_ms());
		work_once(lane);
		lane_work_tell_turns(&lane->work);
		if (lane->work.waits_changed)
			tell_waits(lane);
		atomic_store(&lane->busy_since_ms, 0);
	}
	if (status == ONCE_OK && lane->troubles == 0)
		write_down(lane);
	if (status == ONCE_OK && atomic_load(&lane->is_last))
		sign_off(lane);
	lane_work_fini(&lane->work);
	crash_watch(NULL);
	close_session(lane);
	atomic_store(&lane->ended, true);
	return NULL;
}

/* ---- start and stop ---- */

static enum once_status wait_until_opened(struct lane *lane,
					  struct once_error *err)
{
	scoped_lock pthread_mutex_t *held = scope_locked(&lane->mutex);

	(void)held;
	while (!lane->opened)
		pthread_cond_wait(&lane->changed, &lane->mutex);
	if (lane->open_status != ONCE_OK)
		*err = lane->trouble;
	return lane->open_status;
}

static void destroy(struct lane *lane)
{
	mailbox_fini(&lane->orders);
	pthread_cond_destroy(&lane->changed);
	pthread_mutex_destroy(&lane->mutex);
	free(lane);
}

enum once_status lane_start(const struct lane_options *options,
			    struct lane **ret_lane, struct once_error *err)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	enum once_status status;

	if (lane == NULL)
		return error_no_memory(err);
	lane->options = *options;
	lane->unchecked = options->unchecked;
	lane->stop.kind = ORDER_STOP;
	mailbox_init(&lane->orders, -1);
	pthread_mutex_init(&lane->mutex, NULL);
	pthread_cond_init(&lane->changed, NULL);
	if (pthread_create(&lane->thread, NULL, run_lane, lane) != 0) {
		destroy(lane);
		return error_set(err, ONCE_TRANSIENT,
				 "could not start a thread");
	}
	status = wait_until_opened(lane, err);
	if (status != ONCE_OK) {
		pthread_join(lane->thread, NULL);
		destroy(lane);
		return status;
	}
	*ret_lane = lane;
	return ONCE_OK;
}

void lane_ask_to_stop(struct lane *lane, bool last)
{
	if (lane->asked)
		return;
	lane->asked = true;
	atomic_store(&lane->is_last, last);
	mailbox_put_urgently(&lane->orders, &lane->stop);
}

bool lane_has_ended(const struct lane *lane)
{
	return atomic_load(&lane->ended);
}

void lane_destroy(struct lane *lane)
{
	if (lane == NULL)
		return;
	lane_ask_to_stop(lane, false);
	pthread_join(lane->thread, NULL);
	destroy(lane);
}
