/*
 * onced_process.c - onced as a user runs it: a file, a command, an exit code, a
 * log, some pages.
 */
#include "onced_fixture.h"

#include "free_port.h"
#include "http_get.h"
#include "servers.h"

#include <check.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	COMMAND_MS = 60000,
	STOP_MS = 40000,
	SHOWN_SIZE = 6000,
	MOST_ARGUMENTS = 20
};

static const char *or_else(const char *given, const char *otherwise)
{
	return given == NULL ? otherwise : given;
}

/* ---- the file ---- */

static void write_kafka(FILE *file, const struct onced *onced,
			const struct onced_options *options)
{
	const struct kafka_fixture *kafka = &onced->fixture->kafka;

	fprintf(file,
		"kafka:\n"
		"  brokers: %s\n"
		"  group: %s\n"
		"  instance_id: \"%s\"\n"
		"%s%s%s"
		"  properties:\n"
		"%s%s%s%s",
		or_else(options->brokers, kafka->bootstrap), kafka->group,
		or_else(options->instance_id, ""),
		options->memory == NULL ? "" : "  max_memory: ",
		or_else(options->memory, ""),
		options->memory == NULL ? "" : "\n",
		or_else(options->session, "    - session.timeout.ms=6000\n"
					  "    - heartbeat.interval.ms=300\n"),
		options->property == NULL ? "" : "    - ",
		or_else(options->property, ""),
		options->property == NULL ? "" : "\n");
}

static void write_process(FILE *file, const struct onced *onced,
			  const struct onced_options *options)
{
	fprintf(file,
		"database:\n"
		"  conninfo: %s\n"
		"%s"
		"%s%s"
		"retention: %s\n"
		"lanes: %s\n"
		"batch:\n"
		"  max_messages: %s\n"
		"  max_time: %s\n"
		"admin:\n"
		"  listen: 127.0.0.1:%d\n"
		"log:\n"
		"  level: %s\n"
		"shutdown_timeout: %s\n",
		or_else(options->conninfo, onced->fixture->pg.conninfo),
		or_else(options->database, ""),
		options->prefilter == NULL ? "" : "prefilter:\n",
		or_else(options->prefilter, ""),
		or_else(options->retention, "forever"),
		or_else(options->lanes, "2"), or_else(options->batch, "500"),
		or_else(options->max_time, "1s"), onced->port,
		or_else(options->log_level, "info"),
		or_else(options->shutdown, "20s"));
}

static void write_route(FILE *file, const struct onced *onced,
			const struct onced_options *options)
{
	const char *plugin = or_else(options->plugin, "effect");
	bool is_path = plugin[0] == '/';
	bool has_settings = strstr(plugin, "effect") != NULL;

	fprintf(file,
		"handlers:\n"
		"  - name: effect\n"
		"    topics: [%s%s]\n"
		"    plugin: %s%s%s%s\n"
		"    msg_id: \"%s\"\n"
		"    biz_id: \"{header:biz}\"\n"
		"    retry:\n"
		"      max_attempts: %s\n"
		"      first_delay: 50ms\n"
		"      max_delay: 200ms\n"
		"      max_crashes: %s\n"
		"%s%s%s"
		"%s%s%s%s",
		onced->fixture->kafka.topic, or_else(options->topics, ""),
		is_path ? "" : getenv("ONCE_TEST_HANDLERS"), is_path ? "" : "/",
		plugin, is_path ? "" : ".so",
		or_else(options->msg_id, "{header:id}"),
		or_else(options->attempts, "3"), or_else(options->crashes, "2"),
		has_settings ? "    settings:\n      - directory=" : "",
		has_settings ? onced->fixture->dir.path : "",
		has_settings ? "\n" : "",
		options->settings == NULL ? "" : "      - ",
		or_else(options->settings, ""),
		options->settings == NULL ? "" : "\n",
		or_else(options->route, ""));
}

const char *onced_both_prefilters(void)
{
	static char lines[PATH_MAX];
	const char *url = servers_find(SERVER_REDIS);

	ck_assert_msg(url != NULL, "there is no Redis");
	snprintf(lines, sizeof(lines),
		 "  local:\n    max_memory: 1MiB\n  redis:\n    url: %s\n",
		 url);
	return lines;
}

static void make_path(const struct onced *onced, const char *name,
		      const char *kind, char path[PATH_MAX])
{
	int size = snprintf(path, PATH_MAX, "%s/%s.%s",
			    onced->fixture->dir.path, name, kind);

	ck_assert_int_lt(size, PATH_MAX);
}

static const char *program(void)
{
	const char *path = getenv("ONCE_TEST_ONCED");

	ck_assert_msg(path != NULL, "ONCE_TEST_ONCED isn't set");
	return path;
}

void onced_init(struct onced *onced, struct onced_fixture *fixture,
		const struct onced_options *options)
{
	static const struct onced_options usual;
	FILE *file;
	const char *name;

	options = options == NULL ? &usual : options;
	name = or_else(options->name, "onced");
	memset(onced, 0, sizeof(*onced));
	onced->fixture = fixture;
	if (options->plugin != NULL && fixture->monitor != NULL)
		monitor_ignore_effects(fixture->monitor);
	onced->port = free_port_find(1);
	onced->program = or_else(options->program, program());
	make_path(onced, name, "yaml", onced->config);
	make_path(onced, name, "log", onced->log);
	make_path(onced, name, "out", onced->output);
	file = fopen(onced->config, "we");
	ck_assert_ptr_nonnull(file);
	write_kafka(file, onced, options);
	write_process(file, onced, options);
	write_route(file, onced, options);
	ck_assert_int_eq(fclose(file), 0);
}

/* ---- logs ---- */

static void show_end_of(const char *path)
{
	char *text = read_file(path);
	size_t size = text == NULL ? 0 : strlen(text);

	fprintf(stderr, "---- %s\n%s", path,
		text == NULL        ? ""
		: size > SHOWN_SIZE ? text + size - SHOWN_SIZE
				    : text);
	free(text);
}

void onced_fixture_show_logs(struct onced_fixture *fixture)
{
	char pattern[PATH_MAX];
	glob_t found;

	if (snprintf(pattern, sizeof(pattern), "%s/*.log", fixture->dir.path) >=
		    PATH_MAX ||
	    glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		show_end_of(found.gl_pathv[i]);
	globfree(&found);
}

static bool file_has(const char *path, const char *text)
{
	char *whole = read_file(path);
	bool has = whole != NULL && strstr(whole, text) != NULL;

	free(whole);
	return has;
}

bool onced_has_logged(struct onced *onced, const char *text)
{
	return file_has(onced->log, text);
}

/* ---- run ---- */

void onced_start(struct onced *onced, const char *fault)
{
	char variable[64] = "ONCE_FAULT=";
	const char *argv[] = { onced->program, "run", "-c", onced->config,
			       NULL };
	const char *env[] = { variable, NULL };
	struct process_options options = {
		.argv = argv, .env = env, .output = onced->log, .append = true
	};
	struct once_error err;

	snprintf(variable, sizeof(variable), "ONCE_FAULT=%s",
		 or_else(fault, ""));
	ck_assert_msg(process_start(&onced->process, &options, &err) == ONCE_OK,
		      "%s", err.text);
}

int onced_wait(struct onced *onced, int64_t timeout_ms)
{
	if (process_wait(&onced->process, timeout_ms))
		return process_exit_code(&onced->process);
	onced_fixture_show_logs(onced->fixture);
	ck_abort_msg("onced hasn't ended after %lld ms", (long long)timeout_ms);
	return -1;
}

/* Before it has looked after its signals (SIGPIPE is the last of them), SIGTERM
 * just ends it, as it does with any program. */
static bool takes_signals(void *arg)
{
	const struct onced *onced = arg;
	char path[64];
	char *status;
	char *ignored;
	bool takes;

	snprintf(path, sizeof(path), "/proc/%d/status",
		 (int)onced->process.pid);
	status = read_file(path);
	ignored = status == NULL ? NULL : strstr(status, "SigIgn:");
	takes = ignored == NULL ||
		(strtoull(ignored + 7, NULL, 16) & 1u << (SIGPIPE - 1)) != 0;
	free(status);
	return takes;
}

void onced_tell_to_stop(struct onced *onced)
{
	ck_assert(wait_until(takes_signals, onced, STOP_MS));
	process_signal(&onced->process, SIGTERM);
}

int onced_stop(struct onced *onced)
{
	int code;

	onced_tell_to_stop(onced);
	code = onced_wait(onced, STOP_MS);
	if (code == 0)
		onced_check_last_sums(onced);
	else
		show_end_of(onced->log);
	return code;
}

void onced_kill(struct onced *onced)
{
	process_kill(&onced->process);
}

/* ---- other commands ---- */

int onced_call(struct onced *onced, const char *const *arguments)
{
	const char *argv[MOST_ARGUMENTS + 2] = { onced->program };
	struct process_options options = { .argv = argv,
					   .output = onced->output };
	struct once_error err;
	int code;

	for (size_t i = 1; *arguments != NULL && i <= MOST_ARGUMENTS; i++)
		argv[i] = *arguments++;
	code = process_run(&options, COMMAND_MS, &err);
	ck_assert_msg(code != -1, "%s", err.text);
	return code;
}

int onced_command(struct onced *onced, const char *command, const char *more)
{
	const char *arguments[] = { command, "-c", onced->config, more, NULL };

	return onced_call(onced, arguments);
}

void onced_check_output(struct onced *onced, const char *text)
{
	if (file_has(onced->output, text))
		return;
	show_end_of(onced->output);
	ck_abort_msg("\"%s\" isn't in it", text);
}

/* ---- what it says while it runs ---- */

struct sign {
	struct onced *onced;
	const char *text;
	int code; /* of /readyz */
};

static bool is_logged(void *arg)
{
	const struct sign *sign = arg;

	return onced_has_logged(sign->onced, sign->text);
}

static bool is_on_page(void *arg)
{
	const struct sign *sign = arg;
	char *page;
	bool is_there =
		http_get(sign->onced->port, "/readyz", &page) == sign->code &&
		(sign->text == NULL ||
		 (page != NULL && strstr(page, sign->text) != NULL));

	free(page);
	return is_there;
}

static void wait_for_sign(condition_f *condition, struct sign *sign,
			  int64_t timeout_ms)
{
	char *page;

	if (wait_until(condition, sign, timeout_ms))
		return;
	onced_fixture_show_logs(sign->onced->fixture);
	http_get(sign->onced->port, "/readyz", &page);
	ck_abort_msg("no \"%s\" in %lld ms; /readyz: %s",
		     or_else(sign->text, "ready"), (long long)timeout_ms,
		     or_else(page, "no answer"));
}

void onced_wait_for_log(struct onced *onced, const char *text,
			int64_t timeout_ms)
{
	struct sign sign = { onced, text, 0 };

	wait_for_sign(is_logged, &sign, timeout_ms);
}

void onced_wait_until_ready(struct onced *onced, int64_t timeout_ms)
{
	struct sign sign = { onced, NULL, 200 };

	wait_for_sign(is_on_page, &sign, timeout_ms);
}

void onced_check_not_ready(struct onced *onced, int64_t span_ms)
{
	struct sign sign = { onced, NULL, 200 };

	ck_assert(!wait_until(is_on_page, &sign, span_ms));
}

void onced_wait_until_not_ready(struct onced *onced, const char *why,
				int64_t timeout_ms)
{
	struct sign sign = { onced, why, 503 };

	wait_for_sign(is_on_page, &sign, timeout_ms);
}
