/* onced_process.c - onced as a user runs it. Only what has no good default is
 * in its file, and 2 lanes, and a port that is free. */
#include "onced_process.h"

#include "bench_clock.h"

#include <check.h>
#include <free_port.h>
#include <scope.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	COMMAND_MS = 60000,
	STOP_MS = 40000,
	SHOWN_SIZE = 4000,
	LINES_SIZE = 256
};

static const char config_format[] = "kafka:\n"
				    "  brokers: %s\n"
				    "  group: %s-%d\n"
				    "  max_memory: %s\n"
				    "database:\n"
				    "  conninfo: %s\n"
				    "  durability: %s\n"
				    "%s"
				    "retention: forever\n"
				    "lanes: %d\n"
				    "batch:\n"
				    "  max_messages: %d\n"
				    "admin:\n"
				    "  listen: 127.0.0.1:%d\n"
				    "handlers:\n"
				    "  - name: refund\n"
				    "    topics: [%s]\n"
				    "    plugin: %s\n"
				    "    biz_id: \"refund:{json:/refund_no}\"\n"
				    "    scope: " BENCH_SCOPE "\n"
				    "    settings:\n"
				    "      - write=%s\n";

/* ---- where it is ---- */

/* The directory of this program, without a slash at the end. */
static void find_own_directory(char path[PATH_MAX])
{
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	ck_assert_int_gt(size, 0);
	path[size] = '\0';
	slash = strrchr(path, '/');
	ck_assert_ptr_nonnull(slash);
	*slash = '\0';
}

static void make_path(char path[PATH_MAX], const char *directory,
		      const char *name)
{
	struct once_error err;

	ck_assert_msg(temp_dir_path(path, directory, name, &err) == ONCE_OK,
		      "%s", err.text);
}

void onced_process_find(struct bench *bench, const char *argument)
{
	const char *given =
		argument != NULL ? argument : getenv("ONCE_TEST_ONCED");
	char directory[PATH_MAX];

	find_own_directory(directory);
	make_path(bench->plugin, directory, "bench_refund.so");
	make_path(bench->clock, directory, "bench_clock.so");
	if (given != NULL)
		snprintf(bench->onced, sizeof(bench->onced), "%s", given);
	else
		make_path(bench->onced, directory, "../consumer/onced");
	ck_assert_msg(access(bench->onced, X_OK) == 0,
		      "there is no onced at \"%s\"", bench->onced);
}

/* ---- its file and its commands ---- */

static void format_prefilter(const struct bench *bench,
			     enum prefilter prefilter, char lines[LINES_SIZE])
{
	lines[0] = '\0';
	if (prefilter == PREFILTER_LOCAL)
		snprintf(lines, LINES_SIZE,
			 "prefilter:\n  local:\n    max_memory: 64MiB\n");
	else if (prefilter != PREFILTER_NONE)
		snprintf(lines, LINES_SIZE,
			 "prefilter:\n  redis:\n    url: %s\n",
			 bench->redis.url);
}

void onced_process_init(struct onced_process *onced, struct bench *bench,
			const struct scenario *scenario,
			const struct topic *topic)
{
	char prefilter[LINES_SIZE];
	FILE *file;

	memset(onced, 0, sizeof(*onced));
	format_prefilter(bench, scenario->prefilter, prefilter);
	make_path(onced->config, bench->dir.path, "onced.yaml");
	make_path(onced->log, bench->dir.path, "onced.log");
	onced->port = free_port_find(1);
	ck_assert_int_ne(onced->port, -1);
	file = fopen(onced->config, "we");
	ck_assert_ptr_nonnull(file);
	fprintf(file, config_format, topic->kafka.bootstrap, topic->kafka.group,
		++bench->runs, scenario->max_memory, bench->pg.conninfo,
		scenario->durability, prefilter, scenario->lanes,
		scenario->max_messages, onced->port, topic->kafka.topic,
		bench->plugin, scenario->write);
	ck_assert_int_eq(fclose(file), 0);
}

void onced_process_add_clock(struct onced_process *onced,
			     const struct bench *bench)
{
	make_path(onced->moments, bench->dir.path, "moments");
	snprintf(onced->preload, sizeof(onced->preload), "LD_PRELOAD=%s",
		 bench->clock);
	snprintf(onced->moments_variable, sizeof(onced->moments_variable),
		 BENCH_CLOCK_FILE "=%s", onced->moments);
	onced->env[0] = onced->preload;
	onced->env[1] = onced->moments_variable;
	unlink(onced->moments);
}

void onced_process_fail(struct onced_process *onced, const char *why)
{
	scoped_free char *text = read_file(onced->log);
	size_t size = text == NULL ? 0 : strlen(text);

	process_kill(&onced->process);
	ck_abort_msg("%s; the end of its log:\n%s", why,
		     text == NULL        ? ""
		     : size > SHOWN_SIZE ? text + size - SHOWN_SIZE
					 : text);
}

static struct process_options make_options(const struct onced_process *onced,
					   const char *const *argv)
{
	struct process_options options = { .argv = argv,
					   .env = onced->env,
					   .output = onced->log,
					   .append = true };

	return options;
}

/* Its file has to be a good one, though migrate asks no Kafka. */
void onced_process_migrate(struct bench *bench)
{
	static const struct topic nowhere = {
		.kafka = { .bootstrap = "localhost:9092",
			   .group = "bench",
			   .topic = "bench" }
	};
	struct scenario scenario = scenario_of(NULL);
	struct onced_process onced;
	const char *argv[] = { bench->onced, "migrate", "-c", onced.config,
			       NULL };
	struct process_options options;
	struct once_error err = { 0 };
	int code;

	onced_process_init(&onced, bench, &scenario, &nowhere);
	options = make_options(&onced, argv);
	code = process_run(&options, COMMAND_MS, &err);
	ck_assert_msg(code != -1, "%s", err.text);
	if (code != 0)
		onced_process_fail(&onced, "onced migrate failed");
}

void onced_process_start(struct onced_process *onced, const struct bench *bench)
{
	const char *argv[] = { bench->onced, "run", "-c", onced->config, NULL };
	struct process_options options = make_options(onced, argv);
	struct once_error err;

	ck_assert_msg(process_start(&onced->process, &options, &err) == ONCE_OK,
		      "%s", err.text);
}

void onced_process_stop(struct onced_process *onced)
{
	if (!process_stop(&onced->process, SIGTERM, STOP_MS))
		onced_process_fail(onced, "onced didn't stop in time");
	if (process_exit_code(&onced->process) != 0)
		onced_process_fail(onced, "onced didn't end with 0");
}
