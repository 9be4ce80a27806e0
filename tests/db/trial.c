/*
 * trial.c - libonce on a database of the test's own.
 *
 * The idea: one handler for all tests. Its effect is a row that can be counted;
 * how it misbehaves is a function that the test brings.
 */
#include "trial.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct letter {
	struct once_header headers[2];
	char id[64];
	char biz[64];
};

once_handle_f *trial_poison;
atomic_uint trial_calls;

struct once_bytes bytes(const char *text)
{
	struct once_bytes bytes = { text, text == NULL ? 0 : strlen(text) };

	return bytes;
}

bool is_text(struct once_bytes bytes, const char *text)
{
	return bytes.data != NULL && bytes.size == strlen(text) &&
	       memcmp(bytes.data, text, bytes.size) == 0;
}

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	static const char sql[] =
		"INSERT INTO effect (msg_id, value) VALUES ($1, $2)";

	trial_calls++;
	once_send(call, sql,
		  ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
			      ONCE_TEXT(once_value(msg))));
	if (trial_poison != NULL && is_text(once_value(msg), "poison"))
		return trial_poison(self, msg, call);
	return ONCE_DONE;
}

const struct once_handler trial_handler = { ONCE_HANDLER_ABI_FIELDS,
					    .name = "trial", .handle = handle };

struct once_route_options trial_route(void)
{
	struct once_route_options options = {
		.name = "trial",
		.scope = "group/trial",
		.msg_id = "{header:id}",
		.biz_id = "{header:biz}",
		.max_attempts = 3,
		.handler = &trial_handler,
	};

	return options;
}

/* ---- the session ---- */

static void create_routes(struct trial *trial,
			  const struct once_route_options *options,
			  size_t count)
{
	struct once_error *err = &trial->err;

	for (size_t i = 0; i < count; i++)
		ck_assert_msg(once_route_create(&options[i], &trial->routes[i],
						err) == ONCE_OK,
			      "%s", err->text);
	trial->route_count = count;
}

struct once_session *trial_open_session(struct trial *trial,
					const char *conninfo)
{
	const struct once_route *routes[TRIAL_ROUTES];
	struct once_session_options options = {
		.conninfo = conninfo == NULL ? trial->pg.conninfo : conninfo,
		.application_name = "trial",
		.routes = routes,
		.route_count = trial->route_count,
		.prefilter = trial->prefilter,
		.max_messages = trial->max_messages,
		.limits = trial->limits,
		.meanwhile = trial->meanwhile,
		.meanwhile_arg = trial->meanwhile_arg,
		.max_time_ms = trial->max_time_ms,
		.hurry = trial->hurry,
	};
	struct once_session *session = NULL;

	for (size_t i = 0; i < trial->route_count; i++)
		routes[i] = trial->routes[i];
	ck_assert_msg(once_session_create(&options, &session, &trial->err) ==
			      ONCE_OK,
		      "%s", trial->err.text);
	return session;
}

void trial_init(struct trial *trial, const struct once_route_options *options,
		size_t count)
{
	struct once_route_options usual = trial_route();

	memset(trial, 0, sizeof(*trial));
	trial_poison = NULL;
	trial_calls = 0;
	pg_fixture_init(&trial->pg);
	ck_assert_msg(once_migrate(trial->pg.conninfo, 0, NULL, NULL,
				   &trial->err) == ONCE_OK,
		      "%s", trial->err.text);
	pg_fixture_run(&trial->pg,
		       "CREATE TABLE effect (msg_id text, value text)");
	create_routes(trial, options == NULL ? &usual : options,
		      options == NULL ? 1 : count);
	trial->session = trial_open_session(trial, NULL);
}

void trial_reopen(struct trial *trial, const char *conninfo)
{
	once_session_destroy(trial->session);
	trial->session = trial_open_session(trial, conninfo);
}

void trial_fini(struct trial *trial)
{
	once_session_destroy(trial->session);
	once_prefilter_destroy(trial->prefilter);
	for (size_t i = 0; i < trial->route_count; i++)
		once_route_destroy(trial->routes[i]);
	pg_fixture_fini(&trial->pg);
}

int64_t trial_count(struct trial *trial, const char *sql)
{
	return pg_fixture_get_int64(&trial->pg, sql);
}

int64_t trial_backend(struct trial *trial)
{
	return trial_count(trial, "SELECT pid FROM pg_stat_activity WHERE "
				  "datname = current_database() AND "
				  "application_name = 'trial'");
}

/* ---- messages ---- */

static void init_item(struct once_item *item, struct letter *letter, size_t at)
{
	snprintf(letter->id, sizeof(letter->id), "m%zu", at);
	snprintf(letter->biz, sizeof(letter->biz), "b%zu", at);
	letter->headers[0].name = "id";
	letter->headers[0].value = bytes(letter->id);
	letter->headers[1].name = "biz";
	letter->headers[1].value = bytes(letter->biz);
	item->record.topic = "t";
	item->record.offset = (int64_t)at;
	item->record.time_ms = 1700000000000 + (int64_t)at;
	item->record.value = bytes("v");
	item->record.headers = letter->headers;
	item->record.header_count = 2;
	item->attempt = 1;
}

void mail_init(struct mail *mail, size_t count)
{
	mail->count = count;
	mail->items = calloc(count, sizeof(*mail->items));
	mail->letters = calloc(count, sizeof(*mail->letters));
	ck_assert(mail->items != NULL && mail->letters != NULL);
	for (size_t i = 0; i < count; i++)
		init_item(&mail->items[i], &mail->letters[i], i);
}

void mail_fini(struct mail *mail)
{
	free(mail->items);
	free(mail->letters);
}

void mail_set_id(struct mail *mail, size_t at, const char *id)
{
	struct letter *letter = &mail->letters[at];

	snprintf(letter->id, sizeof(letter->id), "%s", id);
	letter->headers[0].value = bytes(letter->id);
}

void mail_set_biz(struct mail *mail, size_t at, const char *biz)
{
	struct letter *letter = &mail->letters[at];

	mail->items[at].record.header_count = biz == NULL ? 1 : 2;
	if (biz == NULL)
		return;
	snprintf(letter->biz, sizeof(letter->biz), "%s", biz);
	letter->headers[1].value = bytes(letter->biz);
}

void mail_set_value(struct mail *mail, size_t at, const char *value)
{
	mail->items[at].record.value = bytes(value);
}

void mail_set_strand(struct mail *mail, size_t at, struct once_strand *strand)
{
	mail->items[at].strand = strand;
}

void mail_again(struct mail *mail)
{
	for (size_t i = 0; i < mail->count; i++)
		mail->items[i].ending = ONCE_PENDING_ENDING;
}

size_t mail_count(const struct mail *mail, enum once_ending ending)
{
	size_t count = 0;

	for (size_t i = 0; i < mail->count; i++)
		count += mail->items[i].ending == ending;
	return count;
}

void trial_run_by(struct trial *trial, struct once_session *session,
		  struct mail *mail, enum once_status expected)
{
	enum once_status status = once_session_run(
		session, mail->items, mail->count, &trial->stats, &trial->err);

	ck_assert_msg(status == expected, "status %d: %s", (int)status,
		      trial->err.text);
}

void trial_run(struct trial *trial, struct mail *mail,
	       enum once_status expected)
{
	trial_run_by(trial, trial->session, mail, expected);
}
