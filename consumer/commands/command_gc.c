/* onced gc: what the cleaner does by itself, once, now, and without its rests.
 * Of a scope that no route has, only when it is named: it may be a route that
 * was renamed, or another configuration's. */
#include "bytes.h"
#include "command.h"
#include "config_value.h"
#include "gc_page.h"
#include "stop_signal.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

struct gc {
	const struct arguments *arguments;
	const struct config *cfg;
	const char **scopes;
	size_t scope_count;
	int64_t retention_ms;
	struct text person;
	struct text subject;
	struct gc_page page;
};

/* ---- what is asked for ---- */

static bool is_a_routes(const struct config *cfg, const char *scope)
{
	for (size_t i = 0; i < cfg->route_count; i++)
		if (strcmp(cfg->routes[i].scope, scope) == 0)
			return true;
	return false;
}

static const char *find_refusal(const struct config *cfg, const char *scope)
{
	if (scope == NULL)
		return NULL;
	if (is_a_routes(cfg, scope))
		return "that scope is a route's of this configuration: onced gc "
		       "without --scope cleans it";
	return NULL;
}

static void name_person(struct gc *gc, const char *scope)
{
	command_add_person(&gc->person);
	if (scope == NULL)
		text_adds(&gc->subject, "the clock is right");
	else
		text_addf(&gc->subject, "scope %s", scope);
}

static bool init(struct gc *gc)
{
	const char *scope = gc->arguments->given[OPTION_SCOPE];
	bool is_right = gc->arguments->given[OPTION_CLOCK_IS_RIGHT] != NULL;
	size_t count = scope == NULL ? gc->cfg->route_count : 1;

	gc->scopes = calloc(count, sizeof(*gc->scopes));
	if (gc->scopes == NULL ||
	    !gc_page_init(&gc->page, gc->cfg, gc->arguments, count))
		return false;
	gc->scope_count = count;
	for (size_t i = 0; i < count; i++)
		gc->scopes[i] =
			scope == NULL ? gc->cfg->routes[i].scope : scope;
	if (scope != NULL || is_right)
		name_person(gc, scope);
	return !gc->person.broken && !gc->subject.broken;
}

static void fini(struct gc *gc)
{
	text_fini(&gc->person);
	text_fini(&gc->subject);
	gc_page_fini(&gc->page);
	free(gc->scopes);
}

/* Of somebody else's scope what its groups have said counts, and a person may
 * only say more. */
static bool choose_retention(struct gc *gc)
{
	static const struct config_option age = { .kind = CONFIG_DURATION,
						  .min = 1,
						  .max = INT64_C(36500) * 24 *
							 3600 * 1000,
						  .value = "30d" };
	const char *text = gc->arguments->given[OPTION_OLDER_THAN];
	struct once_error err;

	gc->retention_ms = gc->cfg->retention_ms;
	if (gc->arguments->given[OPTION_SCOPE] != NULL)
		gc->retention_ms = 0;
	if (text == NULL)
		return true;
	if (gc->arguments->given[OPTION_SCOPE] == NULL) {
		fprintf(stderr, "onced: --older-than is for a --scope; the "
				"others have their retention\n");
		return false;
	}
	if (value_parse_number(&age, text, &gc->retention_ms, &err) == ONCE_OK)
		return true;
	command_complain("--older-than is \"%s\": %s", text, err.text);
	return false;
}

/* ---- doing it ---- */

static enum once_status clean(struct gc *gc, struct once_cleaner *cleaner,
			      struct once_error *err)
{
	struct once_clean_step step = { 0 };

	if (!gc->arguments->dry_run)
		command_block_signals(); /* what was removed is told */
	while (!step.round_done) {
		enum once_status status;

		if (stop_signal_is_pending()) {
			gc->page.interrupted = true;
			return ONCE_OK;
		}
		status = once_cleaner_step(cleaner, &step, err);
		if (status != ONCE_OK)
			return status;
		if (step.scope < gc->scope_count)
			gc_page_add_step(&gc->page, &step);
	}
	return ONCE_OK;
}

static enum once_status clean_and_read(struct gc *gc,
				       struct once_cleaner *cleaner,
				       struct once_error *err)
{
	const char *scope = gc->arguments->given[OPTION_SCOPE];
	enum once_status status = ONCE_OK;

	if (scope != NULL)
		status = once_cleaner_check_foreign(cleaner, scope, err);
	if (status == ONCE_OK)
		status = clean(gc, cleaner, err);
	if (status == ONCE_OK)
		status = once_cleaner_read(cleaner, gc_page_add_reading,
					   &gc->page, err);
	return status;
}

static enum once_status run(struct gc *gc, struct once_error *err)
{
	const struct once_cleaner_options options = {
		.conninfo = gc->cfg->database.conninfo,
		.application_name = "onced gc",
		.scopes = gc->scopes,
		.scope_count = gc->scope_count,
		.retention_ms = gc->retention_ms,
		.clock_is_right =
			gc->arguments->given[OPTION_CLOCK_IS_RIGHT] != NULL,
		.dry_run = gc->arguments->dry_run,
		.person = gc->person.data,
		.subject = gc->subject.data,
	};
	struct once_cleaner *cleaner = NULL;
	enum once_status status = once_cleaner_open(&options, &cleaner, err);

	if (status == ONCE_OK)
		status = clean_and_read(gc, cleaner, err);
	once_cleaner_close(cleaner);
	return status;
}

/* The scope is in use, or there is none of that name. */
static int explain(enum once_status status, const struct once_error *err)
{
	command_complain("%s", err->text);
	if (status == ONCE_FENCED)
		return EXIT_CODE_FOUND;
	if (status == ONCE_INVALID)
		return EXIT_CODE_USAGE;
	return (int)exit_code_of(status);
}

static int run_and_show(struct gc *gc)
{
	struct once_error err = { 0 };
	enum once_status status;

	if (!init(gc)) {
		fprintf(stderr, "onced: out of memory\n");
		return EXIT_CODE_BUG;
	}
	status = run(gc, &err);
	if (status == ONCE_OK)
		gc_page_print(&gc->page);
	if (status != ONCE_OK)
		return explain(status, &err);
	return gc->page.interrupted || gc->page.in_doubt ? EXIT_CODE_FOUND
							 : EXIT_CODE_OK;
}

static int gc(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	struct gc gc = { .arguments = arguments, .cfg = cfg };
	const char *refusal;
	int code = EXIT_CODE_USAGE;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	refusal = find_refusal(cfg, arguments->given[OPTION_SCOPE]);
	if (refusal != NULL)
		fprintf(stderr, "onced: %s\n", refusal);
	else if (choose_retention(&gc))
		code = run_and_show(&gc);
	fini(&gc);
	config_destroy(cfg);
	return code;
}

const struct command command_gc = {
	.name = "gc",
	.summary = "removes from the log what is older than the retention, now",
	.help = "What the process does by itself, once and without rests; it may\n"
		"run meanwhile. Kept are rows that a group may read again. Rows\n"
		"of a scope that no route has are told, and removed when that\n"
		"scope is named: --scope SCOPE, by the retention that its groups\n"
		"have said, or by --older-than if that is longer, or they haven't.\n"
		"That is written down in once.audit. If the database's clock may\n"
		"be wrong, nothing is removed; it ends with 1, and says so.\n"
		"Ctrl-C ends it behind its transaction, with 1.",
	.options = TAKES_CONFIG | TAKES_SCOPE | TAKES_OLDER_THAN |
		   TAKES_CLOCK_IS_RIGHT | TAKES_DRY_RUN | TAKES_JSON,
	.run = gc,
};
