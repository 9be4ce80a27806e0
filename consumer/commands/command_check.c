/* onced check: all that would keep `run` from working, not the first thing. */
#include "check_report.h"
#include "command.h"
#include "kafka_check.h"
#include "log.h"
#include "routes.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	KAFKA_TIMEOUT_MS = 20000
};

/* What a person has to do something about; or a server that isn't there. */
static enum exit_code code_of(enum once_status status)
{
	if (status == ONCE_OK)
		return EXIT_CODE_OK;
	return status == ONCE_TRANSIENT ? EXIT_CODE_NO_SERVER : EXIT_CODE_FOUND;
}

/* ---- the file ---- */

static struct config *check_file(const struct arguments *arguments,
				 struct check_report *report)
{
	char *lines = NULL;
	size_t size = 0;
	FILE *faults = open_memstream(&lines, &size);
	struct config *cfg;

	if (faults == NULL)
		return NULL;
	cfg = command_load_config_telling(arguments, faults);
	fclose(faults);
	if (lines != NULL)
		check_report_add_lines(report, "file", EXIT_CODE_CONFIG,
				       arguments->config_path, lines);
	free(lines);
	if (cfg == NULL)
		report->codes[EXIT_CODE_CONFIG] = true;
	else
		check_report_good(report, "file", report->errors);
	return cfg;
}

/* ---- the handlers ---- */

static void add_handler(void *arg, const char *line)
{
	check_report_add_lines(arg, "handlers", EXIT_CODE_CONFIG, NULL, line);
}

static void check_handlers(const struct config *cfg, const char *path,
			   struct check_report *report)
{
	size_t before = report->errors;

	routes_check(cfg, path, add_handler, report);
	check_report_good(report, "handlers", before);
}

/* ---- servers ---- */

/* False: no server needs to be asked to know that it is wrong. */
static bool check_conninfo(const struct config *cfg,
			   struct check_report *report)
{
	struct once_error err = { 0 };

	if (once_conninfo_check(cfg->database.conninfo, &err) == ONCE_OK)
		return true;
	check_report_add(report, "database", EXIT_CODE_CONFIG, err.text);
	return false;
}

/* A pooler may be the reason for what else is wrong; who isn't reached has
 * none. */
static void check_database(const struct config *cfg,
			   struct check_report *report)
{
	const char *conninfo = cfg->database.conninfo;
	size_t before = report->errors;
	struct once_error err = { 0 };
	enum once_status status = once_schema_check(conninfo, &err);
	bool is_reached = status != ONCE_TRANSIENT || err.sqlstate[0] != '\0';

	if (status != ONCE_OK)
		check_report_add(report, "database", code_of(status), err.text);
	if (is_reached && once_pooler_check(conninfo, &err) != ONCE_OK)
		check_report_add(report, "database", EXIT_CODE_CONFIG,
				 err.text);
	check_report_good(report, "database", before);
}

static void add_kafka(void *arg, enum once_status status, const char *text)
{
	check_report_add(arg, "kafka", code_of(status), text);
}

static void check_kafka(const struct config *cfg, struct check_report *report)
{
	size_t before = report->errors;
	const char *warning = source_get_warning(cfg);

	if (warning != NULL)
		check_report_add(report, "kafka", EXIT_CODE_OK, warning);
	kafka_check(cfg, KAFKA_TIMEOUT_MS, add_kafka, report);
	check_report_good(report, "kafka", before);
}

static void check_redis(const struct config *cfg, struct check_report *report)
{
	struct once_prefilter_options options = config_prefilter_options(cfg);
	struct once_prefilter *prefilter = NULL;
	size_t before = report->errors;
	enum once_status status;
	struct once_error err;

	options.local_max_bytes = 0;
	status = once_prefilter_create(&options, &prefilter, &err);
	if (status == ONCE_OK)
		status = once_prefilter_check(prefilter, &err);
	once_prefilter_destroy(prefilter);
	if (status != ONCE_OK)
		check_report_add(report, "redis", code_of(status), err.text);
	check_report_good(report, "redis", before);
}

static void check_servers(const struct config *cfg, struct check_report *report)
{
	check_kafka(cfg, report);
	if (cfg->prefilter.redis_url[0] != '\0')
		check_redis(cfg, report);
}

static int check(const struct arguments *arguments)
{
	struct check_report report = { .json = arguments->json };
	struct config *cfg = check_file(arguments, &report);
	bool offline = arguments->given[OPTION_OFFLINE] != NULL;

	log_set_level(LOG_LEVEL_ERROR);
	if (cfg != NULL) {
		check_handlers(cfg, arguments->config_path, &report);
		if (check_conninfo(cfg, &report) && !offline)
			check_database(cfg, &report);
		if (!offline)
			check_servers(cfg, &report);
	}
	config_destroy(cfg);
	return (int)check_report_end(&report);
}

const struct command command_check = {
	.name = "check",
	.summary =
		"the configuration, plugins, database, topics, Redis: all that "
		"is wrong",
	.help = "Each plugin is loaded and opened in a child process. The servers are\n"
		"asked for what run needs: the schema and its rights, the topics and\n"
		"the group's rights, every broker that leads a partition. Nothing is\n"
		"consumed, and no group is joined. Warnings don't change the exit\n"
		"code. --offline asks no server, as in CI: it checks the file, the\n"
		"handlers and whether the conninfo can be read.",
	.options = TAKES_CONFIG | TAKES_OFFLINE | TAKES_JSON,
	.run = check,
};
