/* onced check: all that is wrong, not the first thing. */
#include "command.h"
#include "log.h"
#include "routes.h"
#include "source.h"

#include <stdio.h>

enum {
	KAFKA_TIMEOUT_MS = 10000
};

struct findings {
	size_t count;
	bool server_missing;
};

static void take(struct findings *findings, const char *what,
		 enum once_status status, const struct once_error *err)
{
	if (status == ONCE_OK) {
		printf("%-9s good\n", what);
		return;
	}
	fprintf(stderr, "%s: %s\n", what, err->text);
	if (status == ONCE_TRANSIENT)
		findings->server_missing = true;
	else
		findings->count++;
}

static enum once_status check_prefilter(const struct config *cfg,
					struct once_error *err)
{
	struct once_prefilter_options options = config_prefilter_options(cfg);
	struct once_prefilter *prefilter = NULL;
	enum once_status status;

	options.local_max_bytes = 0;
	status = once_prefilter_create(&options, &prefilter, err);
	if (status == ONCE_OK)
		status = once_prefilter_check(prefilter, err);
	once_prefilter_destroy(prefilter);
	return status;
}

/* It changes no exit code: there are brokers with which it works. */
static void warn_of_kafka(const struct config *cfg)
{
	const char *warning = source_get_warning(cfg);

	if (warning != NULL)
		fprintf(stderr, "kafka: warning: %s\n", warning);
}

static int check(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	struct findings findings = { 0 };
	struct once_error err;
	size_t faulty;
	bool pooled;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	log_set_level(LOG_LEVEL_ERROR);
	printf("%-9s good\n", "file");
	faulty = routes_check(cfg, arguments->config_path, stderr);
	if (faulty == 0)
		printf("%-9s good\n", "handlers");
	pooled = once_pooler_check(cfg->database.conninfo, &err) != ONCE_OK;
	take(&findings, "database",
	     pooled ? ONCE_CONFIG
		    : once_schema_check(cfg->database.conninfo, &err),
	     &err);
	warn_of_kafka(cfg);
	take(&findings, "kafka",
	     source_check_topics(cfg, KAFKA_TIMEOUT_MS, &err), &err);
	if (cfg->prefilter.redis_url[0] != '\0')
		take(&findings, "redis", check_prefilter(cfg, &err), &err);
	config_destroy(cfg);
	if (faulty > 0 || pooled)
		return EXIT_CODE_CONFIG;
	if (findings.count > 0)
		return EXIT_CODE_FOUND;
	return findings.server_missing ? EXIT_CODE_NO_SERVER : EXIT_CODE_OK;
}

const struct command command_check = {
	.name = "check",
	.summary =
		"the configuration, plugins, database, topics, Redis: all that "
		"is wrong",
	.help = "Each plugin is loaded and opened in a child process. Nothing is "
		"consumed.",
	.options = TAKES_CONFIG,
	.run = check,
};
