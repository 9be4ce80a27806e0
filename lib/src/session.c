/* A session outlives its database connection: instances and memory stay, the
 * connection is made again when it was lost. */
#include "session.h"

#include "bytes.h"
#include "error.h"
#include "instance.h"
#include "schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char find_consumer_sql[] =
	"SELECT id FROM once.consumer WHERE scope = $1::text";
static const char add_consumer_sql[] =
	"INSERT INTO once.consumer (scope) VALUES ($1::text) "
	"ON CONFLICT DO NOTHING";

/* ---- instances ---- */

static enum once_status refuse(const struct once_route *route,
			       const char *reason, struct once_error *err)
{
	const char *name = route->handler->name;

	return error_set(err, ONCE_CONFIG,
			 "handler \"%s\" of route \"%s\" refused to open: %s",
			 name == NULL ? "(no name)" : name, route->name,
			 reason == NULL ? "it gave no reason" : reason);
}

static enum once_status open_with(const struct once_route *route,
				  struct once_settings *settings,
				  void **ret_instance, struct once_error *err)
{
	once_close_f *close_f = once__handler_close(route->handler);
	enum once_status status;

	if (route->handler->open != NULL &&
	    route->handler->open(settings, ret_instance) != 0)
		return refuse(route, settings->refusal, err);
	status = once__settings_check(settings, err);
	if (status == ONCE_OK)
		return ONCE_OK;
	if (close_f != NULL)
		close_f(*ret_instance);
	*ret_instance = NULL;
	error_prefix(err, "handler \"%s\" of route \"%s\"",
		     route->handler->name == NULL ? "(no name)"
						  : route->handler->name,
		     route->name);
	return status;
}

static enum once_status open_instance(const struct once_route *route,
				      void **ret_instance,
				      struct once_error *err)
{
	struct once_settings settings;
	enum once_status status =
		once__settings_lend(&route->settings, &settings, err);

	if (status == ONCE_OK)
		status = open_with(route, &settings, ret_instance, err);
	once__settings_fini(&settings);
	return status;
}

static enum once_status open_instances(struct once_session *session,
				       struct once_error *err)
{
	while (session->opened < session->route_count) {
		size_t i = session->opened;
		enum once_status status = open_instance(
			session->routes[i], &session->instances[i], err);

		if (status != ONCE_OK)
			return status;
		session->opened++;
	}
	return ONCE_OK;
}

static void close_instances(struct once_session *session)
{
	while (session->opened > 0) {
		size_t i = --session->opened;
		once_close_f *close_f =
			once__handler_close(session->routes[i]->handler);

		if (close_f != NULL)
			close_f(session->instances[i]);
	}
}

/* ---- making ---- */

static int64_t limit_of(int64_t asked_ms, int64_t usual_ms)
{
	if (asked_ms < 0)
		return 0;
	return asked_ms == 0 ? usual_ms : asked_ms;
}

static bool copy_options(struct once_session *session,
			 const struct once_session_options *options)
{
	static const struct once__pg_limits usual = ONCE__PG_USUAL_LIMITS;
	size_t count = options->route_count;

	session->conninfo =
		strdup(options->conninfo == NULL ? "" : options->conninfo);
	if (options->application_name != NULL)
		session->application_name = strdup(options->application_name);
	session->durability = options->durability;
	session->isolation = options->isolation;
	session->limits = (struct once__pg_limits){
		limit_of(options->limits.idle_ms, usual.idle_ms),
		limit_of(options->limits.lock_ms, usual.lock_ms),
		limit_of(options->limits.answer_ms, usual.answer_ms),
	};
	session->instance = options->instance;
	session->retention_ms = options->retention_ms;
	session->max_messages = options->max_messages;
	session->max_time_ns = options->max_time_ms * 1000000;
	session->fit = SIZE_MAX;
	session->lane = options->lane;
	session->log = options->log;
	session->log_arg = options->log_arg;
	session->meanwhile = options->meanwhile;
	session->meanwhile_arg = options->meanwhile_arg;
	session->hurry = options->hurry;
	session->hurry_arg = options->hurry_arg;
	session->route_count = count;
	session->routes = calloc(count + 1, sizeof(*session->routes));
	session->instances = calloc(count + 1, sizeof(*session->instances));
	session->consumer_ids =
		calloc(count + 1, sizeof(*session->consumer_ids));
	session->restores = calloc(count + 1, sizeof(*session->restores));
	session->turns = calloc(count + 1, sizeof(*session->turns));
	session->streaks = calloc(count + 1, sizeof(*session->streaks));
	if (session->conninfo == NULL || session->routes == NULL ||
	    session->instances == NULL || session->consumer_ids == NULL ||
	    session->streaks == NULL || session->turns == NULL ||
	    session->restores == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		session->routes[i] = options->routes[i];
	return once__intercept_init(&session->intercept, options->prefilter,
				    count);
}

enum once_status once_session_create(const struct once_session_options *options,
				     struct once_session **ret_session,
				     struct once_error *err)
{
	struct once_session *session = calloc(1, sizeof(*session));
	enum once_status status;

	if (session == NULL)
		return error_no_memory(err);
	if (!copy_options(session, options)) {
		once_session_destroy(session);
		return error_no_memory(err);
	}
	status = open_instances(session, err);
	if (status != ONCE_OK) {
		once_session_destroy(session);
		return status;
	}
	*ret_session = session;
	return ONCE_OK;
}

void once_session_destroy(struct once_session *session)
{
	if (session == NULL)
		return;
	close_instances(session);
	once__pg_close(session->pg);
	once__intercept_fini(&session->intercept);
	once__log_fini(&session->claims);
	once__positions_fini(&session->positions);
	once__collect_fini(&session->collection);
	arena_fini(&session->waiting);
	arena_fini(&session->arenas[0]);
	arena_fini(&session->arenas[1]);
	free(session->restores);
	free(session->turns);
	free(session->streaks);
	free(session->consumer_ids);
	free(session->instances);
	free(session->routes);
	free(session->application_name);
	free(session->conninfo);
	free(session);
}

/* ---- connecting ---- */

/* Looked up first: an insert that conflicts would burn a number. */
static int64_t find_consumer(struct once__pg *pg, const char *scope)
{
	const struct once_rows *rows =
		once__pg_exec(pg, ONCE__PG_OURS, find_consumer_sql,
			      ONCE_PARAMS(ONCE_TEXT(bytes_text(scope))));

	if (rows == NULL || once_rows_count(rows) == 0)
		return 0;
	return once__rows_int64(rows, 0, 0);
}

static int64_t get_consumer(struct once__pg *pg, const char *scope)
{
	int64_t id = find_consumer(pg, scope);

	if (id != 0 || once__pg_failure(pg) != NULL)
		return id;
	once__pg_send(pg, ONCE__PG_OURS, add_consumer_sql,
		      ONCE_PARAMS(ONCE_TEXT(bytes_text(scope))));
	return find_consumer(pg, scope);
}

static enum once_status sign_on(struct once_session *session,
				struct once_error *err)
{
	struct once__pg *pg = session->pg;
	enum once_status status = ONCE_OK;

	once__pg_begin(pg);
	if (session->instance != NULL)
		once__instance_sign_on(pg, session->instance);
	for (size_t i = 0; i < session->route_count; i++)
		session->consumer_ids[i] =
			get_consumer(pg, session->routes[i]->scope);
	if (session->instance != NULL)
		once__instance_join(pg, session->instance,
				    session->consumer_ids, session->route_count,
				    session->retention_ms);
	(void)once__intercept_connect(&session->intercept, pg, session->routes,
				      session->route_count);
	if (once__pg_commit(pg) == ONCE__PG_COMMITTED)
		return ONCE_OK;
	status = once__pg_error(pg, err);
	return status == ONCE_BUG ? ONCE_TRANSIENT : status;
}

static void disconnect(struct once_session *session)
{
	once__pg_close(session->pg);
	session->pg = NULL;
	once__collect_fini(&session->collection);
}

/* Reading alone would call such a server reached, and nothing would move. */
static enum once_status check_writable(const struct once__pg *pg,
				       struct once_error *err)
{
	if (!once__pg_is_read_only(pg))
		return ONCE_OK;
	error_set(err, ONCE_TRANSIENT,
		  "the database is read-only: a standby, or "
		  "default_transaction_read_only is on");
	if (err != NULL)
		snprintf(err->sqlstate, sizeof(err->sqlstate), "25006");
	return ONCE_TRANSIENT;
}

enum once_status once_session_connect(struct once_session *session,
				      struct once_error *err)
{
	struct once__pg_options options = {
		session->conninfo, session->application_name,
		session->durability, session->isolation, session->limits
	};
	enum once_status status;

	if (session->pg != NULL && !once__pg_is_lost(session->pg) &&
	    !once__pg_is_read_only(session->pg))
		return ONCE_OK;
	disconnect(session);
	status = once__pg_open(&options, &session->pg, err);
	if (status == ONCE_OK)
		once__pg_watch(session->pg, &session->moved_ms);
	if (status == ONCE_OK)
		status = check_writable(session->pg, err);
	if (status == ONCE_OK)
		status = once__schema_check(session->pg, err);
	if (status == ONCE_OK)
		status = sign_on(session, err);
	if (status != ONCE_OK) {
		disconnect(session);
		return status;
	}
	session->connections++;
	session->prepared = NULL; /* its marks may be of another log */
	once__intercept_warm(&session->intercept, session->pg,
			     session->consumer_ids, session->route_count);
	return ONCE_OK;
}

enum once_status once_session_check_schema(struct once_session *session,
					   struct once_error *err)
{
	enum once_status status = once_session_connect(session, err);

	if (status == ONCE_OK)
		status = once__schema_check_version(session->pg, err);
	if (status == ONCE_OK)
		status = once__schema_check_shape(session->pg, err);
	if (status == ONCE_TRANSIENT)
		disconnect(session); /* connecting again asks again */
	return status;
}

void once_session_tend(struct once_session *session)
{
	if (session->intercept.redis != NULL)
		once__redis_tend(session->intercept.redis);
}

enum once_status once__session_finish(struct once_session *session, bool done,
				      struct once_error *err)
{
	enum once_status status = ONCE_OK;

	if (!done || once__pg_commit(session->pg) != ONCE__PG_COMMITTED) {
		status = once__pg_error(session->pg, err);
		once__pg_rollback(session->pg);
	}
	return status;
}

enum once_status once_session_sign_off(struct once_session *session,
				       struct once_error *err)
{
	enum once_status status = ONCE_OK;

	if (session->instance == NULL)
		return ONCE_OK;
	status = once_session_connect(session, err);
	if (status != ONCE_OK)
		return status;
	once__pg_begin(session->pg);
	once__instance_sign_off(session->pg, session->instance);
	return once__session_finish(session, once__pg_wait(session->pg), err);
}

const char *once__session_group(const struct once_session *session)
{
	return session->instance == NULL ? "" : session->instance->group;
}

bool once__session_brace(struct once_session *session, struct once_item *item)
{
	struct once__place place = {
		.consumer_id = session->consumer_ids[item->route],
		.topic = item->record.topic,
		.partition = item->record.partition,
		.offset = item->record.offset,
		.log_generation = item->record.log_generation,
	};

	item->crashes = 0;
	session->in_hand = session->instance != NULL;
	return session->instance == NULL ||
	       once__instance_brace(session->pg, session->instance,
				    session->lane, &place, &item->crashes);
}

void once__session_let_go(struct once_session *session)
{
	if (session->in_hand)
		once__instance_let_go(session->pg, session->instance,
				      session->lane);
}

enum once_status once_session_brace(struct once_session *session,
				    struct once_item *item,
				    struct once_error *err)
{
	enum once_status status = once_session_connect(session, err);

	if (status != ONCE_OK)
		return status;
	once__pg_begin(session->pg);
	return once__session_finish(session, once__session_brace(session, item),
				    err);
}

void once_session_get_call(const struct once_session *session,
			   struct once_current_call *ret_call)
{
	once__current_call_get(&session->current_call, ret_call);
}

int64_t once_session_moved_ms(const struct once_session *session)
{
	return atomic_load_explicit(&session->moved_ms, memory_order_relaxed);
}

unsigned once_session_connections(const struct once_session *session)
{
	return session->connections;
}
