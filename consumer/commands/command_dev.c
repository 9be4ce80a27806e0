/*
 * onced dev: `run`, with servers of its own in place of the configured ones.
 * The rest of the configuration is the user's, so what works here is what will
 * run.
 */
#include "command.h"
#include "database.h"
#include "error.h"
#include "log.h"
#include "plain_file.h"
#include "runtime.h"
#include "sandbox.h"
#include "stop_signal.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	PARTITIONS = 4
};

/* The user's properties are for reaching another broker; these make the
 * embedded one quick. */
static char session_timeout[] = "session.timeout.ms";
static char session_timeout_value[] = "6000";
static char heartbeat[] = "heartbeat.interval.ms";
static char heartbeat_value[] = "500";
static char fetch_wait[] = "fetch.wait.max.ms";
static char fetch_wait_value[] = "10";

static struct name_value properties[] = {
	{ .name = session_timeout, .value = session_timeout_value },
	{ .name = heartbeat, .value = heartbeat_value },
	{ .name = fetch_wait, .value = fetch_wait_value },
};

/* A copy that borrows all the rest. */
static struct config in_sandbox(const struct config *cfg,
				struct sandbox *sandbox)
{
	struct config copy = *cfg;

	copy.kafka.brokers = broker_address(sandbox->broker);
	copy.kafka.properties = properties;
	copy.kafka.property_count = sizeof(properties) / sizeof(properties[0]);
	copy.database.conninfo = sandbox->postgres.conninfo;
	return copy;
}

static enum once_status create_topics(const struct config *cfg,
				      struct broker *broker,
				      struct once_error *err)
{
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < cfg->route_count; i++)
		for (size_t k = 0; k < cfg->routes[i].topic_count; k++)
			if (status == ONCE_OK)
				status = broker_create_topic(
					broker, cfg->routes[i].topics[k],
					PARTITIONS, err);
	return status;
}

static enum once_status read_file(const char *path, struct text *text,
				  struct once_error *err)
{
	FILE *file = plain_file_open(path, err);
	enum once_status status = file == NULL ? ONCE_CONFIG : ONCE_OK;
	char part[4096];
	size_t size;

	while (file != NULL && (size = fread(part, 1, sizeof(part), file)) > 0)
		text_add(text, part, size);
	if (file != NULL && ferror(file))
		status = error_set(err, ONCE_CONFIG, "%s", strerror(errno));
	if (status != ONCE_OK)
		error_prefix(err, "could not read \"%s\"", path);
	if (file != NULL)
		fclose(file);
	return status;
}

static enum once_status run_sql_file(const char *path, const char *conninfo,
				     struct once_error *err)
{
	struct database *database = NULL;
	scoped_text struct text sql = { 0 };
	enum once_status status = read_file(path, &sql, err);

	if (status == ONCE_OK)
		status = database_open(conninfo, &database, err);
	if (status == ONCE_OK)
		status = database_run(database, sql.size == 0 ? "" : sql.data,
				      err);
	if (status == ONCE_INVALID)
		error_prefix(err, "%s", path);
	database_close(database);
	return status;
}

static void print_addresses(const struct config *cfg)
{
	printf("broker    %s\n", cfg->kafka.brokers);
	printf("database  %s\n", cfg->database.conninfo);
	if (cfg->admin.listen[0] != '\0')
		printf("admin     http://%s/metrics, /readyz, /status\n",
		       cfg->admin.listen);
	printf("\nA message:\n"
	       "  echo '{\"refund_no\":\"R-1\"}' |\n"
	       "    kcat -P -b %s -t %s -H message-id=m-1\n"
	       "What came of it:\n"
	       "  psql '%s' -c 'TABLE once.consume_log'\n"
	       "Ctrl-C ends it, and nothing of it stays.\n\n",
	       cfg->kafka.brokers, cfg->routes[0].topics[0],
	       cfg->database.conninfo);
	fflush(stdout);
}

static enum once_status prepare(const struct arguments *arguments,
				const struct config *cfg,
				struct sandbox *sandbox, struct once_error *err)
{
	enum once_status status = sandbox_open(sandbox, err);

	if (status == ONCE_OK)
		status = create_topics(cfg, sandbox->broker, err);
	if (status == ONCE_OK && arguments->given[OPTION_SQL] != NULL)
		status = run_sql_file(arguments->given[OPTION_SQL],
				      sandbox->postgres.conninfo, err);
	return status;
}

static int run_in(struct sandbox *sandbox, const struct config *cfg)
{
	struct config copy = in_sandbox(cfg, sandbox);

	print_addresses(&copy);
	return runtime_run(&copy);
}

/* To be stopped before it ran is as good as afterwards. */
static int explain(enum once_status status, const struct once_error *err)
{
	command_complain("%s", err->text);
	if (stop_signal_is_pending())
		return EXIT_CODE_OK;
	return (int)exit_code_of(status);
}

static int dev(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	struct sandbox sandbox = { 0 };
	struct once_error err;
	enum once_status status;
	int code;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	log_set_level((enum log_level)cfg->log_level);
	status = prepare(arguments, cfg, &sandbox, &err);
	if (status == ONCE_OK)
		code = run_in(&sandbox, cfg);
	else
		code = explain(status, &err);
	sandbox_close(&sandbox);
	config_destroy(cfg);
	return code;
}

const struct command command_dev = {
	.name = "dev",
	.summary = "`run` with a broker and a PostgreSQL of its own, nothing "
		   "needed beforehand",
	.help = "For trying a handler. The embedded broker and a private "
		"PostgreSQL (its server\nprograms must be installed) stand in "
		"for the configured ones; topics and schema\nonce are made, "
		"addresses printed. --sql FILE makes the handler's tables.\n"
		"ONCED_PG_BINDIR names the directory of initdb and postgres.",
	.options = TAKES_CONFIG | TAKES_SQL,
	.takes_signals = true,
	.run = dev,
};
