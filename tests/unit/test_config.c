/* Every fault of onced.yaml is told with its place and what to write instead,
 * all of them in one run, and no secret is ever shown. */
#include "config.h"
#include "config_faults.h"
#include "config_options.h"
#include "text.h"

#include <check.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a folder with a configuration and a plugin ---- */

static char folder[] = "/tmp/once-config-XXXXXX";

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

static void enter_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(mkdir("handlers", 0700), 0);
	write_file("handlers/refund.so", "", 0);
	ck_assert_int_eq(setenv("ONCE_TEST_GROUP", "from-env", 1), 0);
	ck_assert_int_eq(setenv("ONCE_TEST_PASSWORD", "hunter2", 1), 0);
	ck_assert_int_eq(unsetenv("ONCE_TEST_UNSET"), 0);
}

static void leave_folder(void)
{
	unlink("onced.yaml");
	unlink("secret");
	unlink("handlers/refund.so");
	rmdir("handlers");
	ck_assert_int_eq(chdir("/"), 0);
	rmdir(folder);
}

/* ---- loading ---- */

struct loaded {
	struct config *cfg;
	char *faults;
	size_t size;
};

static void load_checked(struct loaded *loaded, const void *data, size_t size,
			 config_property_check_f *check)
{
	FILE *out;

	write_file("onced.yaml", data, size);
	out = open_memstream(&loaded->faults, &loaded->size);
	ck_assert_ptr_nonnull(out);
	loaded->cfg = config_load("onced.yaml", check, NULL, out);
	ck_assert_int_eq(fclose(out), 0);
}

static void load_text(struct loaded *loaded, const char *yaml)
{
	load_checked(loaded, yaml, strlen(yaml), NULL);
}

static void unload(struct loaded *loaded)
{
	config_destroy(loaded->cfg);
	free(loaded->faults);
}

static char *print_config(const struct config *cfg)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	config_print(cfg, out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static char *read_example(const char *name)
{
	struct text text = { 0 };
	char path[4096];
	char data[4096];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", ONCE_CONFIG_DIR, name);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while ((size = fread(data, 1, sizeof(data), file)) > 0)
		text_add(&text, data, size);
	ck_assert_int_eq(fclose(file), 0);
	return text.data;
}

/* The line that begins with the place; NULL: there is none. */
static const char *find_line(const char *faults, const char *place)
{
	char start[64];
	const char *at = faults;

	snprintf(start, sizeof(start), "onced.yaml%s: ", place);
	while (at != NULL && strncmp(at, start, strlen(start)) != 0) {
		at = strchr(at, '\n');
		at = at == NULL ? NULL : at + 1;
	}
	return at;
}

static void check_line_has(const char *faults, const char *place,
			   const char *words)
{
	const char *line = find_line(faults, place);
	const char *found;

	ck_assert_msg(line != NULL, "nothing at %s in:\n%s", place, faults);
	found = strstr(line, words);
	ck_assert_msg(found != NULL && found < strchr(line, '\n'),
		      "no \"%s\" at %s in:\n%s", words, place, faults);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* ---- broken ones ---- */

/* Four lines, then six. */
#define KAFKA \
	"kafka:\n  brokers: localhost:9092\n  group: g\nretention: forever\n"
#define ROUTE \
	"handlers:\n" \
	"  - name: refund\n" \
	"    topics: [refunds]\n" \
	"    plugin: handlers/refund.so\n"
#define GOOD KAFKA ROUTE
#define RETENTION(text) \
	"kafka:\n  brokers: a:1\n  group: g\nretention: " text "\n" ROUTE

/* clang-format off */
static const struct broken {
	const char *yaml;
	const char *place;
	const char *wrong;  /* part of what is said */
	const char *remedy; /* likewise */
} all_broken[] = {
	/* keys */
	{ GOOD "lines: 3\n", ":9:1", "\"lines\" is no option", "did you mean \"lanes\"?" },
	{ "kafka:\n  broker: a:1\n  group: g\nretention: forever\n" ROUTE,
	  ":2:3", "no option of kafka", "did you mean \"brokers\"?" },
	{ GOOD "max_attempts: 3\n", ":9:1", "no option", "handlers[].retry.max_attempts" },
	{ GOOD "    max_delay: 3s\n", ":9:5", "no option of handlers[]", "as handlers[].retry.max_delay" },
	{ GOOD "log:\n  colour: red\n", ":10:3", "no option of log", "write one of level" },
	{ GOOD "lanes: 2\nlanes: 3\n", ":10:1", "stands on line 9 already", "keep one" },
	{ GOOD "? [a, b]\n: 1\n", ":9:3", "a key must be a word", "name: value" },
	/* YAML */
	{ "", ":1:1", "the file is empty", "kafka:" },
	{ "# only a comment\n", ":1:1", "the file is empty", "kafka:" },
	{ "---\n", ":1:1", "the file is empty", "kafka:" },
	{ "- kafka\n", ":1:1", "isn't a map of options", "kafka:" },
	{ "kafka:\n\tbrokers: a:1\n", ":2:1", "a tab indents", "spaces" },
	{ "kafka:\n  brokers: a:1\n \tgroup: g\n", ":3:2", "a tab indents", "spaces" },
	{ "kafka: [a, b\n", ":2:1", "isn't YAML", "brackets" },
	{ "kafka:\n  brokers: \"a:1\n", ":3:1", "isn't YAML", "quotes" },
	{ "kafka:\n  brokers: a:1\n group: g\n", ":3:2", "isn't YAML", "indentation" },
	{ "kafka:\n  brokers: a\xff:1\n", ":2:13", "UTF-8", "save the file" },
	{ GOOD "---\nlanes: 3\n", ":9:1", "a second document", "into the first" },
	{ GOOD "lanes: &n 3\n", ":9:8", "an anchor (&)", "write the value out" },
	{ GOOD "lanes: *n\n", ":9:8", "an alias (*)", "write the value out" },
	{ GOOD "lanes: !!int 3\n", ":9:8", "a tag (!)", "write the value alone" },
	{ GOOD "lanes: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]\n", ":9:23", "nested deeper", "brackets" },
	{ GOOD "log:\n  level: \"a\\0b\"\n", ":10:10", "NUL", "take" },
	/* missing */
	{ "kafka:\n  group: g\nretention: forever\n" ROUTE, ":1:1", "kafka.brokers is missing", "\"brokers: localhost:9092\" under kafka" },
	{ "kafka:\n  brokers: a:1\nretention: forever\n" ROUTE, ":1:1", "kafka.group is missing", "under kafka" },
	{ "kafka:\n  brokers: a:1\n  group: g\n" ROUTE, ":1:1", "retention is missing", "\"retention: 30d\", or \"retention: forever\"" },
	{ KAFKA, ":1:1", "handlers is missing", "name, topics and plugin" },
	{ KAFKA "handlers: []\n", ":5:11", "must be a list of routes", "- name: refund" },
	{ KAFKA "handlers:\n  name: refund\n", ":5:1", "must be a list of routes", "- name: refund" },
	{ KAFKA "handlers:\n  - refund\n", ":6:5", "a route is a map", "- name: refund" },
	{ KAFKA "handlers:\n  - name: r\n    topics: [t]\n", ":6:5", "plugin is missing", "handlers/refund.so" },
	/* types */
	{ "kafka:\n  brokers: [a:1, b:1]\n  group: g\nretention: forever\n" ROUTE,
	  ":2:3", "kafka.brokers is a list", "\"brokers: localhost:9092\"" },
	{ GOOD "log: debug\n", ":9:6", "log is a section", "indented below" },
	{ GOOD "lanes:\n  most: 3\n", ":9:1", "lanes is a map", "one value" },
	{ GOOD "admin:\n  listen: null\n", ":10:11", "YAML's word for nothing", "in quotes" },
	{ KAFKA "handlers:\n  - name: r\n    topics: t\n    plugin: handlers/refund.so\n",
	  ":7:13", "topics must be a list", "topics: [refunds]" },
	{ GOOD "    settings:\n      currency: EUR\n", ":9:5", "settings must be a list", "- name=value" },
	{ GOOD "    settings:\n      - currency: EUR\n", ":10:9", "isn't name=value", "- name=value" },
	{ GOOD "    settings:\n      - currency=EUR\n      - currency=USD\n", ":11:9", "\"currency\" twice", "keep one" },
	{ GOOD "    retry:\n      never: [2350]\n", ":10:15", "not an SQLSTATE", "like 23505" },
	{ GOOD "    retry:\n      never: [\"22\", 23505, 22]\n", ":10:28", "\"22\" twice", "keep one" },
	{ GOOD "    retry:\n      never: 22\n", ":10:14", "never must be a list", "never: [22, 23502" },
	{ GOOD "    settings: [a = b]\n", ":9:16", "isn't name=value", "without spaces" },
	/* values */
	{ GOOD "lanes: no\n", ":9:8", "lanes is \"no\": not a number", "whole number" },
	{ GOOD "lanes: 4.5\n", ":9:8", "not a number", "whole number" },
	{ GOOD "lanes: 0\n", ":9:8", "out of range", "from 1 to 256" },
	{ GOOD "lanes: 99999999999999999999999\n", ":9:8", "out of range", "from 1 to 256" },
	{ GOOD "shutdown_timeout: 30\n", ":9:19", "the unit is missing", "such as 30s" },
	{ GOOD "shutdown_timeout: 30 sec\n", ":9:19", "the unit isn't known", "ms, s, m, h or d" },
	{ GOOD "shutdown_timeout: soon\n", ":9:19", "not a duration", "ms, s, m, h or d" },
	{ GOOD "shutdown_timeout: 9999999999999999d\n", ":9:19", "out of range", "from 100ms to 1h" },
	{ GOOD "batch:\n  max_bytes: 4MB\n", ":10:14", "the unit isn't known", "KiB, MiB or GiB" },
	{ GOOD "batch:\n  max_bytes: 4\n", ":10:14", "the unit is missing", "such as 4MiB" },
	{ GOOD "batch:\n  max_bytes: 4GiB\n", ":10:14", "out of range", "from 1KiB to 1GiB" },
	{ GOOD "log:\n  level: yes\n", ":10:10", "log.level is \"yes\"", "\"error\", \"warning\", \"info\", \"debug\"" },
	{ GOOD "database:\n  isolation: serialisable\n", ":10:14", "not one of its words", "\"serializable\"" },
	{ GOOD "admin:\n  listen: 9464\n", ":10:11", "not an address", "127.0.0.1:9464" },
	{ GOOD "admin:\n  listen: localhost:99999\n", ":10:11", "not an address", "\"\" for off" },
	{ GOOD "admin:\n  token: short\n", ":10:10", "too short to be a secret", "openssl rand" },
	{ GOOD "admin:\n  token: 0123456789 abcdef\n", ":10:10", "not a bearer token", "letters, digits" },
	{ GOOD "admin:\n  token: 0123456789=abcdef\n", ":10:10", "not a bearer token", "only at the end" },
	{ GOOD "admin:\n  token: ${file:/dev/null}\n", ":10:10", "", "" },
	{ GOOD "admin:\n  token: ${ONCE_TEST_UNSET:-}\n", ":10:10", "is empty", "take the option out" },
	{ GOOD "admin:\n  hosts: onced.internal\n", ":10:10", "admin.hosts must be a list", "hosts: " },
	{ GOOD "admin:\n  hosts: [\"http://a\"]\n", ":10:11", "not a host name", "without scheme, port" },
	{ GOOD "admin:\n  hosts: [a, \"a:80\"]\n", ":10:14", "not a host name", "onced.internal" },
	{ GOOD "admin:\n  hosts: [\"*\"]\n", ":10:11", "not a host name", "onced.internal" },
	{ "kafka:\n  brokers: \"a:1, b:1\"\n  group: g\nretention: forever\n" ROUTE,
	  ":2:12", "not a list of addresses", "no spaces" },
	{ "kafka:\n  brokers: a:1\n  group: ''\nretention: forever\n" ROUTE,
	  ":3:10", "empty", "write something" },
	{ "kafka:\n  brokers: a:1\n  group:\nretention: forever\n" ROUTE,
	  ":3:9", "empty", "write something" },
	/* routes */
	{ KAFKA "handlers:\n  - name: a/b\n    topics: [t]\n    plugin: handlers/refund.so\n",
	  ":6:11", "needs a scope of its own", "write handlers[].scope" },
	{ KAFKA "handlers:\n  - name: a/b\n    topics: [t]\n    plugin: handlers/refund.so\n    scope: ''\n",
	  ":6:11", "needs a scope of its own", "write handlers[].scope" },
	{ KAFKA "handlers:\n  - name: \"a\\tb\"\n    topics: [t]\n    plugin: handlers/refund.so\n",
	  ":6:11", "a control character", "printable" },
	{ KAFKA "handlers:\n  - name: r\n    topics: [..]\n    plugin: handlers/refund.so\n",
	  ":7:14", "Kafka refuses", "another" },
	{ KAFKA "handlers:\n  - name: r\n    topics: [^re.*]\n    plugin: handlers/refund.so\n",
	  ":7:14", "a pattern", "each topic's name" },
	{ KAFKA "handlers:\n  - name: r\n    topics: [t, t]\n    plugin: handlers/refund.so\n",
	  ":7:17", "\"t\" twice", "keep one" },
	{ KAFKA "handlers:\n  - name: r\n    topics: []\n    plugin: handlers/refund.so\n",
	  ":7:13", "isn't empty", "topics: [refunds]" },
	{ KAFKA "handlers:\n  - name: r\n    topics: [t]\n    plugin: handlers/gone.so\n",
	  ":8:13", "No such file", "relative to the folder of this file" },
	{ KAFKA "handlers:\n  - name: r\n    topics: [t]\n    plugin: handlers\n",
	  ":8:13", "not a regular file", "shared object" },
	{ GOOD "  - name: other\n    topics: [refunds]\n    plugin: handlers/refund.so\n",
	  ":10:14", "topic \"refunds\" belongs to the route on line 6", "one of the two" },
	{ GOOD "  - name: refund\n    topics: [t]\n    plugin: handlers/refund.so\n",
	  ":9:11", "line 6 has this name", "write another" },
	{ GOOD "  - name: b\n    topics: [t]\n    scope: g/refund\n    plugin: handlers/refund.so\n",
	  ":11:12", "line 6 has this scope", "into one route" },
	{ GOOD "    biz_id:\n", ":9:12", "empty", "write something" },
	{ GOOD "    retry:\n      first_delay: 10m\n", ":10:20", "longer than max_delay", "at most as much" },
	/* the prefilters */
	{ GOOD "prefilter:\n  local: 64MiB\n", ":10:10", "prefilter.local", "" },
	{ GOOD "prefilter:\n  local:\n    max_memory: 64\n", ":11:17", "unit is missing", "0B" },
	{ GOOD "prefilter:\n  redis:\n    url: localhost:6379\n", ":11:10", "prefilter.redis.url", "redis://" },
	{ GOOD "prefilter:\n  redis:\n    url: rediss://localhost\n", ":11:10", "prefilter.redis.url", "TLS" },
	{ GOOD "prefilter:\n  redis:\n    url: redis://h\n    timeout: 5d\n", ":12:14", "out of range", "1m" },
	{ GOOD "prefilter:\n  redis:\n    url: redis://h\n    on_unavailable: wait\n", ":12:21", "not one of", "\"pause\"" },
	/* retention */
	{ RETENTION("30"), ":4:12", "the unit is missing", "such as 30d, or: forever" },
	{ RETENTION("always"), ":4:12", "not a duration", "such as 30d, or: forever" },
	{ RETENTION("999ms"), ":4:12", "out of range", "from 1s to 36500d, or: forever" },
	{ RETENTION("36501d"), ":4:12", "out of range", "from 1s to 36500d, or: forever" },
	/* what stands for something else */
	{ GOOD "lanes: ${ONCE_TEST_UNSET}\n", ":9:8", "\"ONCE_TEST_UNSET\" is not set", "${ONCE_TEST_UNSET:-default}" },
	{ GOOD "lanes: ${ONCE_TEST_UNSET\n", ":9:8", "is missing", "${NAME}" },
	{ GOOD "lanes: ${1}\n", ":9:8", "not a variable", "${NAME:-default}" },
	{ GOOD "lanes: ${A:-${B}}\n", ":9:8", "within another", "plain text" },
	{ GOOD "lanes: ${file:/nowhere}\n", ":9:8", "could not read \"/nowhere\"", "${file:/path}" },
	{ GOOD "lanes: ${file:/}\n", ":9:8", "could not read \"/\"", "${file:/path}" },
};
/* clang-format on */

START_TEST(a_broken_configuration_is_told_with_its_place_and_remedy) /* C80 */
{
	const struct broken *broken = &all_broken[_i];
	struct loaded loaded = { 0 };

	load_text(&loaded, broken->yaml);
	ck_assert_msg(loaded.cfg == NULL, "accepted:\n%s", broken->yaml);
	check_line_has(loaded.faults, broken->place, broken->wrong);
	check_line_has(loaded.faults, broken->place, broken->remedy);
	ck_assert_msg(count_lines(loaded.faults) == 1, "more than one:\n%s",
		      loaded.faults);
	unload(&loaded);
}
END_TEST

/* Retention has no default: whoever runs this decides. */
START_TEST(no_retention_is_an_error_that_says_what_to_write) /* C56 */
{
	struct loaded loaded = { 0 };

	load_text(&loaded, "kafka:\n  brokers: a:1\n  group: g\n" ROUTE);
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":1:1",
		       "write \"retention: 30d\", or \"retention: forever\"");
	unload(&loaded);
}
END_TEST

START_TEST(a_retention_is_a_duration_and_a_short_one_is_warned_of)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, RETENTION("90d"));
	ck_assert_ptr_nonnull(loaded.cfg);
	ck_assert_int_eq(loaded.cfg->retention_ms, INT64_C(90) * 86400 * 1000);
	ck_assert_str_eq(loaded.faults, "");
	unload(&loaded);
	load_text(&loaded, RETENTION("59m"));
	ck_assert_ptr_nonnull(loaded.cfg);
	check_line_has(loaded.faults, ":4:12",
		       "warning: retention is under an hour");
	unload(&loaded);
}
END_TEST

START_TEST(a_commit_that_waits_for_no_disk_is_a_setting)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, GOOD "database:\n  durability: kafka\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_int_eq(loaded.cfg->database.durability,
			 ONCE_DURABILITY_SOURCE);
	unload(&loaded);
}
END_TEST

START_TEST(an_option_that_is_gone_is_refused_by_name_with_what_to_do_instead)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, "kafka:\n  brokers: a:1\n  group: g\n"
			   "  start_from: kafka\nretention: 90d\n" ROUTE);
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":4:3",
		       "kafka.start_from is no option any more");
	check_line_has(loaded.faults, ":4:3",
		       "onced seek --topic TOPIC --to group");
	unload(&loaded);
}
END_TEST

START_TEST(all_faults_are_told_in_one_run_in_the_order_of_the_file)
{
	static const char *const starts[] = {
		"onced.yaml:3:3: \"grup\" is no option of kafka; ",
		"onced.yaml:4:1: \"retension\" is no option; ",
		"onced.yaml:5:8: lanes is \"many\": ",
		"onced.yaml:10:12: handlers[].scope is \" \": ",
		"onced.yaml:11:15: handlers[].timeout is \"3\": ",
	};
	struct loaded loaded = { 0 };
	const char *line;

	load_text(&loaded, "kafka:\n"
			   "  brokers: a:1\n"
			   "  grup: g\n"
			   "retension: forever\n"
			   "lanes: many\n"
			   "handlers:\n"
			   "  - name: refund\n"
			   "    topics: [refunds]\n"
			   "    plugin: handlers/refund.so\n"
			   "    scope: \" \"\n"
			   "    timeout:  3\n");
	ck_assert_ptr_null(loaded.cfg);
	ck_assert_uint_eq(count_lines(loaded.faults), 5);
	line = loaded.faults;
	for (size_t i = 0; i < 5; i++) {
		ck_assert_msg(strncmp(line, starts[i], strlen(starts[i])) == 0,
			      "%s expected in:\n%s", starts[i], loaded.faults);
		line = strchr(line, '\n') + 1;
	}
	unload(&loaded);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_told_by_its_name)
{
	char *faults = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&faults, &size);

	ck_assert_ptr_null(config_load("gone.yaml", NULL, NULL, out));
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(faults, "gone.yaml: could not read it: No such file "
				 "or directory; name the configuration file "
				 "with -c\n");
	free(faults);
}
END_TEST

/* ---- Kafka's properties ---- */

#define PROPERTY(text) \
	"kafka:\n  brokers: a:1\n  group: g\n  properties:\n" \
	"    - " text "\nretention: forever\n" ROUTE

static const struct {
	const char *yaml;
	const char *words;
} all_properties[] = {
	{ PROPERTY("bootstrap.servers=a:1"), "write kafka.brokers" },
	{ PROPERTY("group.id=g"), "write kafka.group" },
	{ PROPERTY("group.instance.id=g"), "write kafka.instance_id" },
	{ PROPERTY("auto.offset.reset=latest"), "write initial_position" },
	{ PROPERTY("enable.auto.commit=true"), "leave it out" },
	{ PROPERTY("auto.commit.enable=true"), "leave it out" },
	{ PROPERTY("enable.auto.offset.store=true"), "leave it out" },
	{ PROPERTY("group.protocol=share"), "write one of classic" },
	{ PROPERTY("group.protocol.type=consumer"), "leave it out" },
	{ PROPERTY("group.remote.assignor=uniform"),
	  "write partition.assignment.strategy" },
	{ PROPERTY("plugin.library.paths=x"), "foreign code" },
	{ PROPERTY("ssl.engine.location=/tmp/x.so"), "foreign code" },
	{ PROPERTY("ssl.engine.id=pkcs11"), "foreign code" },
	{ PROPERTY("ssl.providers=default,../../tmp/x"),
	  "write one of default" },
	{ PROPERTY("linger.ms=5"), "a producer's" },
	{ PROPERTY("partition.assignment.strategy=sticky"),
	  "write one of range" },
	{ PROPERTY("partition.assignment.strategy=cooperative-sticky,range"),
	  "can't mix cooperative-sticky with others" },
	{ PROPERTY("partition.assignment.strategy=range,"), "write one of" },
	{ PROPERTY("isolation.level=read_uncommitted"),
	  "write one of read_committed" },
	{ PROPERTY("session.timeout.ms=100"), "from 6000 to 1800000" },
	{ PROPERTY("session.timeout.ms=x"), "from 6000 to 1800000" },
	{ PROPERTY("session.timeout.ms=400000"), "max.poll.interval.ms" },
	{ PROPERTY("heartbeat.interval.ms=20000"), "at most a third" },
	{ PROPERTY("max.poll.interval.ms=10000"), "session.timeout.ms" },
	{ PROPERTY("sesion.timeout.ms=10000"),
	  "did you mean \"session.timeout.ms\"?" },
	{ PROPERTY("nothing.like.that=1"), "CONFIGURATION.md" },
	{ PROPERTY("session.timeout.ms"), "- name=value" },
	{ PROPERTY("{session.timeout.ms: 10000}"), "- name=value" },
};

START_TEST(a_property_that_could_lose_messages_is_refused)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, all_properties[_i].yaml);
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":5:7", all_properties[_i].words);
	ck_assert_uint_eq(count_lines(loaded.faults), 1);
	unload(&loaded);
}
END_TEST

/* ---- what is open to others ---- */

#define DATABASE(conninfo) GOOD "database:\n  conninfo: " conninfo "\n"
#define LISTEN(address) GOOD "admin:\n  listen: " address "\n"
#define SASL(protocol, mechanism) \
	PROPERTY("security.protocol=" protocol \
		 "\n    - sasl.mechanism=" mechanism \
		 "\n    - sasl.password=hunter2")
#define AT_HOME \
	"kafka:\n  brokers: 127.0.0.1:1,localhost:2\n  group: g\n" \
	"  properties:\n    - security.protocol=SASL_PLAINTEXT\n" \
	"    - sasl.mechanism=PLAIN\n    - sasl.password=hunter2\n" \
	"retention: forever\n" ROUTE

static const struct {
	const char *yaml;
	const char *place;
	const char *words; /* NULL: nothing is said */
} open_to_others[] = {
	{ PROPERTY("enable.ssl.certificate.verification=false"), ":5:7",
	  "enable.ssl.certificate.verification=false takes any server" },
	{ PROPERTY("enable.ssl.certificate.verification=true"), NULL, NULL },
	{ PROPERTY("ssl.endpoint.identification.algorithm=none"), ":5:7",
	  "takes a certificate of any host" },
	{ PROPERTY("ssl.endpoint.identification.algorithm=https"), NULL, NULL },
	{ SASL("SASL_PLAINTEXT", "PLAIN"), ":5:7", "write SASL_SSL" },
	{ SASL("sasl_plaintext", "OAUTHBEARER"), ":5:7", "write SASL_SSL" },
	{ SASL("SASL_PLAINTEXT", "SCRAM-SHA-512"), NULL, NULL },
	{ SASL("SASL_SSL", "PLAIN"), NULL, NULL },
	{ AT_HOME, NULL, NULL },
	{ SASL("SSL", "PLAIN"), ":7:7", "sasl.password isn't used" },
	{ PROPERTY("sasl.password=hunter2"), ":5:7",
	  "sasl.password isn't used: security.protocol has no SASL" },
	{ PROPERTY("sasl.kerberos.kinit.cmd=kinit -k"), ":5:7", "a shell" },
	{ DATABASE("host=db user=o password=hunter2"), ":10:13",
	  "sslmode=prefer doesn't prove" },
	{ DATABASE("postgresql://o:hunter2@db/s?sslmode=require"), ":10:13",
	  "sslmode=require doesn't prove" },
	{ DATABASE("host=127.0.0.1,db"), ":10:13",
	  "write sslmode=verify-full" },
	{ DATABASE("host=db sslmode=verify-full"), NULL, NULL },
	{ DATABASE("host=db sslmode=hunter2"), ":10:13", "sslmode=prefer" },
	{ DATABASE("host=db gssencmode=require"), NULL, NULL },
	{ DATABASE("host=/run/postgresql dbname=s"), NULL, NULL },
	{ DATABASE("host=localhost dbname=s"), NULL, NULL },
	{ DATABASE("hostaddr=::1 dbname=s"), NULL, NULL },
	{ DATABASE("dbname=s"), NULL, NULL },
	{ LISTEN("0.0.0.0:9464"), ":10:11", "from other machines" },
	{ LISTEN("\"[::]:9464\""), ":10:11", "from other machines" },
	{ LISTEN("127.0.0.1:9464"), NULL, NULL },
	{ LISTEN("\"\""), NULL, NULL },
};

START_TEST(what_is_open_to_others_is_warned_of_by_name)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, open_to_others[_i].yaml);
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_msg(strstr(loaded.faults, "hunter2") == NULL, "%s",
		      loaded.faults);
	if (open_to_others[_i].words != NULL) {
		check_line_has(loaded.faults, open_to_others[_i].place,
			       open_to_others[_i].words);
		check_line_has(loaded.faults, open_to_others[_i].place,
			       "warning: ");
	} else {
		ck_assert_str_eq(loaded.faults, "");
	}
	unload(&loaded);
}
END_TEST

/* Whoever may write one of them decides what runs. */
static const struct {
	const char *path;
	mode_t mode;
	const char *place;
	const char *words;
} writable[] = {
	{ "onced.yaml", 0646, "", "anybody may write the file" },
	{ "handlers/refund.so", 0757, ":8:13", "anybody may write the file" },
	{ "handlers", 0707, ":8:13", "anybody may write the folder" },
};

START_TEST(a_file_that_anybody_may_write_is_refused)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, GOOD);
	ck_assert_ptr_nonnull(loaded.cfg);
	unload(&loaded);
	ck_assert_int_eq(chmod(writable[_i].path, writable[_i].mode), 0);
	loaded = (struct loaded){ 0 };
	load_text(&loaded, GOOD);
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, writable[_i].place, writable[_i].words);
	check_line_has(loaded.faults, writable[_i].place, "chmod o-w");
	unload(&loaded);
}
END_TEST

/* As Kubernetes makes links to what a volume has now. */
START_TEST(where_a_link_leads_is_looked_at)
{
	struct loaded loaded = { 0 };

	ck_assert_int_eq(mkdir("real", 0755), 0);
	write_file("real/refund.so", "", 0);
	ck_assert_int_eq(unlink("handlers/refund.so"), 0);
	ck_assert_int_eq(symlink("../real/refund.so", "handlers/refund.so"), 0);
	load_text(&loaded, GOOD);
	ck_assert_ptr_nonnull(loaded.cfg);
	ck_assert_str_eq(loaded.faults, "");
	unload(&loaded);
	ck_assert_int_eq(chmod("real", 0777), 0);
	loaded = (struct loaded){ 0 };
	load_text(&loaded, GOOD);
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":8:13", "anybody may write the folder");
	unload(&loaded);
}
END_TEST

/* It may be an emptyDir that another container fills. */
START_TEST(the_folder_of_the_configuration_is_warned_of)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, GOOD);
	unload(&loaded);
	ck_assert_int_eq(chmod(".", 0707), 0);
	loaded = (struct loaded){ 0 };
	load_text(&loaded, GOOD);
	ck_assert_int_eq(chmod(".", 0700), 0);
	ck_assert_ptr_nonnull(loaded.cfg);
	check_line_has(loaded.faults, "", "warning: anybody may write the");
	unload(&loaded);
}
END_TEST

START_TEST(a_folder_that_keeps_files_of_others_is_taken)
{
	struct loaded loaded = { 0 };

	ck_assert_int_eq(chmod("handlers", 01777), 0);
	load_text(&loaded, GOOD);
	ck_assert_ptr_nonnull(loaded.cfg);
	ck_assert_str_eq(loaded.faults, "");
	unload(&loaded);
}
END_TEST

/* The owner's own group, as many systems have it, is the owner. */
START_TEST(a_file_that_a_group_may_write_is_warned_of)
{
	struct loaded loaded = { 0 };

	ck_assert_int_eq(chmod("handlers/refund.so", 0664), 0);
	if (geteuid() != 0 ||
	    chown("handlers/refund.so", (uid_t)-1, 54321) != 0)
		return; /* only root may give it to another group */
	load_text(&loaded, GOOD);
	ck_assert_ptr_nonnull(loaded.cfg);
	check_line_has(loaded.faults, ":8:13",
		       "warning: all of group 54321 may write the file");
	unload(&loaded);
	ck_assert_int_eq(chown("handlers/refund.so", 54321, 54321), 0);
	loaded = (struct loaded){ 0 };
	load_text(&loaded, GOOD);
	check_line_has(loaded.faults, ":8:13",
		       "warning: the file \"./handlers/refund.so\" belongs to "
		       "user 54321");
	unload(&loaded);
}
END_TEST

#define CONSUMER_AND(text) PROPERTY(text "\n    - group.protocol=consumer")

static const struct {
	const char *yaml;
	const char *words;
} theirs[] = {
	{ CONSUMER_AND("session.timeout.ms=45000"),
	  "set group.consumer.session.timeout.ms at the brokers" },
	{ CONSUMER_AND("heartbeat.interval.ms=3000"),
	  "set group.consumer.heartbeat.interval.ms at the brokers" },
	{ CONSUMER_AND("partition.assignment.strategy=range"),
	  "write group.remote.assignor" },
};

START_TEST(what_brokers_decide_in_the_consumer_protocol_is_refused)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, theirs[_i].yaml);
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":5:7", theirs[_i].words);
	ck_assert_uint_eq(count_lines(loaded.faults), 1);
	unload(&loaded);
}
END_TEST

START_TEST(incremental_rebalances_can_be_asked_for)
{
	static const char *const yaml[] = {
		PROPERTY("partition.assignment.strategy=cooperative-sticky"),
		CONSUMER_AND("group.remote.assignor=uniform"),
		CONSUMER_AND("max.poll.interval.ms=6000"),
	};

	for (size_t i = 0; i < sizeof(yaml) / sizeof(yaml[0]); i++) {
		struct loaded loaded = { 0 };

		load_text(&loaded, yaml[i]);
		ck_assert_ptr_nonnull(loaded.cfg);
		ck_assert_str_eq(loaded.faults, "");
		unload(&loaded);
	}
}
END_TEST

START_TEST(a_property_given_twice_is_refused)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, PROPERTY("client.id=a\n    - client.id=b"));
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":6:7", "keep one of the two");
	unload(&loaded);
}
END_TEST

START_TEST(a_day_of_max_poll_interval_is_warned_of_and_taken) /* C21 */
{
	struct loaded loaded = { 0 };

	load_text(&loaded, PROPERTY("max.poll.interval.ms=86400000"));
	ck_assert_ptr_nonnull(loaded.cfg);
	check_line_has(loaded.faults, ":5:7", "warning: max.poll.interval.ms");
	check_line_has(loaded.faults, ":5:7", "isn't needed: onced goes on");
	unload(&loaded);
}
END_TEST

static const char *complain(void *arg, const char *name, const char *value)
{
	static char text[256];

	(void)arg;
	if (strcmp(name, "from.a.newer.library") == 0)
		return NULL;
	snprintf(text, sizeof(text), "Invalid value \"%s\" for \"%s\"", value,
		 name);
	return text;
}

static void load_complained(struct loaded *loaded, const char *yaml)
{
	load_checked(loaded, yaml, strlen(yaml), complain);
}

START_TEST(what_the_library_says_is_passed_on_with_the_place)
{
	struct loaded loaded = { 0 };

	load_complained(&loaded, PROPERTY("broker.address.family=v5"));
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":5:7", "Invalid value \"v5\"");
	unload(&loaded);
}
END_TEST

START_TEST(a_property_that_only_the_library_knows_is_taken)
{
	struct loaded loaded = { 0 };

	load_complained(&loaded, PROPERTY("from.a.newer.library=1"));
	ck_assert_ptr_nonnull(loaded.cfg);
	unload(&loaded);
	load_complained(&loaded, PROPERTY("nobody.knows=1"));
	ck_assert_ptr_null(loaded.cfg);
	check_line_has(loaded.faults, ":5:7", "no property is called");
	unload(&loaded);
}
END_TEST

/* ---- secrets ---- */

#define BROKERS(text) \
	"kafka:\n  brokers: " text "\n  group: g\nretention: forever\n" ROUTE

static const char *const leaky[] = {
	PROPERTY("sasl.password=hunter2"),
	PROPERTY("sasl.pasword=hunter2"),
	PROPERTY("{sasl.password: hunter2}"),
	PROPERTY("hunter2"),
	PROPERTY("broker.address.family=${ONCE_TEST_PASSWORD}"),
	PROPERTY("\"${ONCE_TEST_PASSWORD}\""),
	PROPERTY("${ONCE_TEST_PASSWORD}=1"),
	GOOD "    settings: [a=1, a=${ONCE_TEST_PASSWORD}]\n",
	PROPERTY("client.id=a\n    - client.id=${ONCE_TEST_PASSWORD}"),
	GOOD "database:\n  conninfo: [password=hunter2]\n",
	GOOD "database:\n  conninfo: \"password=hunter2 ${ONCE_TEST_UNSET}\"\n",
	GOOD "lanes: ${ONCE_TEST_PASSWORD}\n",
	GOOD "shutdown_timeout: 3${ONCE_TEST_PASSWORD}\n",
	GOOD "log:\n  level: ${ONCE_TEST_PASSWORD}\n",
	GOOD "admin:\n  listen: ${ONCE_TEST_PASSWORD}\n",
	GOOD "admin:\n  token: hunter2\n",
	GOOD "admin:\n  token: \"hunter2 hunter2 hunter2\"\n",
	GOOD "admin:\n  hosts: [\"${ONCE_TEST_PASSWORD}:1\"]\n",
	GOOD "    settings:\n      - hunter2\n",
	KAFKA
	"handlers:\n  - name: r\n    plugin: handlers/${ONCE_TEST_PASSWORD}\n"
	"    topics: [t]\n",
	GOOD "  - name: b\n    plugin: handlers/refund.so\n"
	     "    topics: [a, \"${ONCE_TEST_PASSWORD} \"]\n",
	BROKERS("u:hunter2@h:9092"),
	BROKERS("hunter2@h:9092"),
	BROKERS("a:1,u:p@hunter2@h:1"),
	GOOD "admin:\n  listen: u:hunter2@h:1\n",
	GOOD "admin:\n  listen: hunter2@h:1\n",
	GOOD "lanes: postgresql://u:hunter2@h/db\n",
	GOOD "postgresql://u:hunter2@h/db:\n",
	GOOD "database:\n  conninfo: *hunter2\n",
	GOOD "database:\n  conninfo: &hunter2\n",
	GOOD "database:\n  conninfo: !hunter2\n",
	PROPERTY("client.id=a\n    - sasl.username=u:hunter2@h"),
	GOOD "prefilter:\n  redis:\n    url: Redis://:a@hunter2@h/0?x=1\n",
	GOOD "prefilter:\n  redis:\n    url: Redis://:hunter2@h/0?x=1\n",
	GOOD "prefilter:\n  redis:\n    url: redis://u:hunter2/x@h/0\n",
	GOOD "prefilter:\n  redis:\n    url: redis://h:hunter2/0\n",
	GOOD "prefilter:\n  redis:\n    url: hunter2\n",
	GOOD
	"prefilter:\n  redis:\n    url: redis://h/0\n    timeout: u:hunter2@h\n",
};

START_TEST(a_message_never_shows_a_secret)
{
	struct loaded loaded = { 0 };

	load_complained(&loaded, leaky[_i]);
	ck_assert_msg(loaded.cfg == NULL, "accepted:\n%s", leaky[_i]);
	ck_assert_msg(strstr(loaded.faults, "hunter2") == NULL, "leaks:\n%s",
		      loaded.faults);
	unload(&loaded);
}
END_TEST

static const char *const conninfos[] = {
	"host=db password=hunter2 user=onced",
	"host=db password = 'a hunter2' user=onced",
	"host=db user=onced password='it\\'s hunter2'",
	"host=db user=onced sslpassword=hunter2",
	"host=db user=onced dbname='host=x password=hunter2'",
	"host=db user=onced password='hunter2",
	"host=db user=onced hunter2",
	"postgresql://onced:hunter2@db/shop",
	"postgresql://onced:hunter2@x@db/shop",
	"postgresql://onced:hunter2?x@db/shop",
	"postgres://onced@db/shop?password=hunter2",
	"host=db user=onced password=${ONCE_TEST_PASSWORD}",
	"postgresql://onced:a@hunter2@db/shop",
	"postgresql://onced:a/hunter2@db/shop",
	"POSTGRES://onced:hunter2@db/shop?password=hunter2",
};

START_TEST(the_printed_configuration_never_shows_a_password)
{
	struct loaded loaded = { 0 };
	char yaml[1024];
	char *printed;

	/* A block of YAML: nothing in it needs escaping. */
	snprintf(yaml, sizeof(yaml), GOOD "database:\n  conninfo: |-\n    %s\n",
		 conninfos[_i]);
	load_text(&loaded, yaml);
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	printed = print_config(loaded.cfg);
	ck_assert_msg(strstr(printed, "hunter2") == NULL, "leaks:\n%s",
		      printed);
	ck_assert_ptr_nonnull(strstr(printed, "(set)"));
	free(printed);
	unload(&loaded);
}
END_TEST

/* The scheme is read in any case, so it is hidden in any. */
START_TEST(the_printed_configuration_never_shows_the_password_of_redis)
{
	struct loaded loaded = { 0 };
	char *printed;

	load_text(&loaded, GOOD "prefilter:\n  redis:\n"
				"    url: Redis://:hunter2@h/0\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	printed = print_config(loaded.cfg);
	ck_assert_msg(strstr(printed, "hunter2") == NULL, "leaks:\n%s",
		      printed);
	ck_assert_ptr_nonnull(strstr(printed, "@h/0"));
	free(printed);
	unload(&loaded);
}
END_TEST

START_TEST(the_printed_configuration_shows_what_is_no_secret)
{
	struct loaded loaded = { 0 };
	char *printed;

	load_text(&loaded,
		  "kafka:\n  brokers: a:1\n  group: ${ONCE_TEST_GROUP}\n"
		  "  properties:\n    - sasl.password=hunter2\n"
		  "    - client.rack=r1\nretention: forever\n" ROUTE
		  "    settings: [currency=EUR, api_key=hunter2]\n"
		  "database:\n  conninfo: host=db password=hunter2\n"
		  "admin:\n  token: hunter2hunter2hunter2=\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	printed = print_config(loaded.cfg);
	ck_assert_ptr_null(strstr(printed, "hunter2"));
	ck_assert_ptr_nonnull(strstr(printed, "group: \"(set)\""));
	ck_assert_ptr_nonnull(strstr(printed, "\"sasl.password=(set)\""));
	ck_assert_ptr_nonnull(strstr(printed, "\"client.rack=r1\""));
	ck_assert_ptr_nonnull(strstr(printed, "\"currency=EUR\""));
	ck_assert_ptr_nonnull(strstr(printed, "\"api_key=(set)\""));
	ck_assert_ptr_nonnull(strstr(printed, "\"host=db password=(set)\""));
	ck_assert_ptr_nonnull(strstr(printed, "token: \"(set)\""));
	free(printed);
	unload(&loaded);
}
END_TEST

/* ---- what is taken ---- */

static void check_admin_warning(const char *admin, bool warns)
{
	struct loaded loaded = { 0 };
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), GOOD "admin: { %s }\n", admin);
	load_text(&loaded, yaml);
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_msg((config_admin_warning(loaded.cfg) != NULL) == warns, "%s",
		      admin);
	unload(&loaded);
}

START_TEST(an_admin_port_that_others_reach_without_a_token_is_warned_of)
{
	write_file("secret", "0123456789abcdef\n", 17);
	check_admin_warning("listen: ''", false);
	check_admin_warning("listen: 127.0.0.1:9464", false);
	check_admin_warning("listen: localhost:9464", false);
	check_admin_warning("listen: '[::1]:9464'", false);
	check_admin_warning("listen: 0.0.0.0:9464", true);
	check_admin_warning("listen: '[::]:9464'", true);
	check_admin_warning("listen: app-1:9464", true);
	check_admin_warning("listen: 0.0.0.0:9464, token: '${file:secret}'",
			    false);
}
END_TEST

START_TEST(values_come_from_the_environment_and_from_files)
{
	struct loaded loaded = { 0 };
	const struct config *cfg;

	write_file("secret", "s3cret\n", 7);
	load_text(&loaded, "kafka:\n  brokers: a:1\n"
			   "  group: ${ONCE_TEST_GROUP}-${ONCE_TEST_UNSET:-x}\n"
			   "  instance_id: ${ONCE_TEST_UNSET:-}\n"
			   "  properties:\n    - sasl.password=${file:secret}\n"
			   "    - sasl.username=a$$b$c=d\n"
			   "retention: forever\n" ROUTE);
	cfg = loaded.cfg;
	ck_assert_msg(cfg != NULL, "%s", loaded.faults);
	ck_assert_str_eq(cfg->kafka.group, "from-env-x");
	ck_assert_str_eq(cfg->kafka.instance_id, "");
	ck_assert_str_eq(cfg->kafka.properties[0].value, "s3cret");
	ck_assert(cfg->kafka.properties[0].secret);
	ck_assert_str_eq(cfg->kafka.properties[1].name, "sasl.username");
	ck_assert_str_eq(cfg->kafka.properties[1].value, "a$b$c=d");
	ck_assert_int_eq(cfg->kafka.properties[1].line, 7);
	ck_assert_int_eq(cfg->kafka.properties[1].column, 7);
	ck_assert_str_eq(cfg->routes[0].scope, "from-env-x/refund");
	unload(&loaded);
}
END_TEST

/* ---- what comes from outside is a value ---- */

static const char *const passwords[] = {
	"plain",
	"a b",
	"it's",
	"back\\slash",
	"p@ss:w/rd#1?%41",
	"q' dbname=postgres user='postgres",
	"",
	" between blanks ",
	"line\nline",
	"'quoted'",
	"\\'",
	"\\",
	"x' ",
	"\tx&host=elsewhere",
	"${ONCE_TEST_GROUP}",
	"größe",
};

static const char *const holders[] = {
	"host=db user=special dbname=shop password=${file:secret}",
	"host=db password=${file:secret} user=special dbname=shop",
	"host=db password=${file:secret}${ONCE_TEST_UNSET:-} user=special "
	"dbname=shop",
	"host=db password = ${file:secret} user=special dbname=shop",
	"host=db password='${file:secret}' user=special dbname=shop",
	"host=db user=special dbname=shop password = '${file:secret}'",
	"host=db ${ONCE_TEST_WHO} dbname=shop password='${file:secret}'",
	"postgresql://special:${file:secret}@db/shop",
	"postgresql://${ONCE_TEST_USER}:${file:secret}@db/shop",
	"postgres://special@db/shop?password=${file:secret}",
	"postgres://special@db/shop?password=${file:secret}&sslmode=disable",
	"postgres://db/shop?${ONCE_TEST_WHO}&password=${file:secret}",
};

static const char *find_parameter(const PQconninfoOption *options,
				  const char *name)
{
	while (strcmp(options->keyword, name) != 0)
		options++;
	return options->val == NULL ? "" : options->val;
}

static void check_conninfo(const char *conninfo, const char *password)
{
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &message);

	ck_assert_msg(options != NULL, "%s: %s", conninfo, message);
	ck_assert_str_eq(find_parameter(options, "password"), password);
	ck_assert_str_eq(find_parameter(options, "user"), "special");
	ck_assert_str_eq(find_parameter(options, "dbname"), "shop");
	ck_assert_str_eq(find_parameter(options, "host"), "db");
	PQconninfoFree(options);
}

START_TEST(a_secret_is_the_password_and_nothing_else_whatever_is_in_it)
{
	struct loaded loaded = { 0 };
	char yaml[1024];

	setenv("ONCE_TEST_WHO", "user=special", 1);
	setenv("ONCE_TEST_USER", "special", 1);
	snprintf(yaml, sizeof(yaml), GOOD "database:\n  conninfo: \"%s\"\n",
		 holders[_i]);
	for (size_t i = 0; i < sizeof(passwords) / sizeof(passwords[0]); i++) {
		write_file("secret", passwords[i], strlen(passwords[i]));
		load_text(&loaded, yaml);
		ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
		check_conninfo(loaded.cfg->database.conninfo, passwords[i]);
		unload(&loaded);
		loaded = (struct loaded){ 0 };
	}
}
END_TEST

START_TEST(a_secret_of_kafka_and_of_a_handler_is_the_value_whatever_is_in_it)
{
	struct loaded loaded = { 0 };
	char setting[64];

	write_file("secret", passwords[_i], strlen(passwords[_i]));
	load_text(
		&loaded,
		"kafka:\n  brokers: a:1\n  group: g\n  properties:\n"
		"    - sasl.password=${file:secret}\nretention: forever\n" ROUTE
		"    settings: [\"api_key=${file:secret}\"]\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_str_eq(loaded.cfg->kafka.properties[0].name, "sasl.password");
	ck_assert_str_eq(loaded.cfg->kafka.properties[0].value, passwords[_i]);
	snprintf(setting, sizeof(setting), "api_key=%s", passwords[_i]);
	ck_assert_str_eq(loaded.cfg->routes[0].settings[0], setting);
	unload(&loaded);
}
END_TEST

/* Where no value is due, it can only be meant as syntax. */
static const struct {
	const char *option;
	const char *written;
	const char *read;
} composed[] = {
	{ "conninfo", "${ONCE_TEST_DSN}", "host=db password='a b'" },
	{ "conninfo", "${file:secret}", "host=db password='a b'" },
	{ "conninfo", "${file:secret} dbname=shop",
	  "host=db password='a b' dbname=shop" },
	{ "conninfo", "dbname=shop ${ONCE_TEST_DSN}",
	  "dbname=shop host=db password='a b'" },
	{ "conninfo", "${ONCE_TEST_DSN} user=${ONCE_TEST_DSN}",
	  "host=db password='a b' user=host=db\\ password=\\'a\\ b\\'" },
	{ "conninfo", "password='x\\${ONCE_TEST_QUOTE}' host=db",
	  "password='x\\'\\' host' host=db" },
	{ "conninfo", "postgresql://${ONCE_TEST_HOSTS}/shop",
	  "postgresql://[::1]:5432,db:5433/shop" },
	{ "conninfo", "postgresql://u:p@${ONCE_TEST_HOSTS}/shop",
	  "postgresql://u:p@[::1]:5432,db:5433/shop" },
	{ "conninfo", "${ONCE_TEST_URL}${ONCE_TEST_QUOTE}",
	  "postgresql://db/%27%27%20host" },
	{ "url", "redis://u:${ONCE_TEST_SPECIAL}@h:6379/0",
	  "redis://u:p%40ss%3Aw%2Frd%231%3F%2541@h:6379/0" },
	{ "url", "redis://:p@${ONCE_TEST_HOST}/0", "redis://:p@h:6379/0" },
	{ "url", "unix://${ONCE_TEST_SOCKET}?db=1",
	  "unix:///run/redis%20a.sock?db=1" },
	{ "url", "${ONCE_TEST_REDIS}", "redis://h:6379/0" },
};

START_TEST(what_is_composed_on_purpose_stays_as_it_is)
{
	bool is_redis = strcmp(composed[_i].option, "url") == 0;
	struct loaded loaded = { 0 };
	char yaml[1024];

	write_file("secret", "host=db password='a b'\n", 23);
	setenv("ONCE_TEST_DSN", "host=db password='a b'", 1);
	setenv("ONCE_TEST_QUOTE", "'' host", 1);
	setenv("ONCE_TEST_HOSTS", "[::1]:5432,db:5433", 1);
	setenv("ONCE_TEST_URL", "postgresql://db/", 1);
	setenv("ONCE_TEST_SPECIAL", "p@ss:w/rd#1?%41", 1);
	setenv("ONCE_TEST_HOST", "h:6379", 1);
	setenv("ONCE_TEST_SOCKET", "/run/redis a.sock", 1);
	setenv("ONCE_TEST_REDIS", "redis://h:6379/0", 1);
	snprintf(yaml, sizeof(yaml), GOOD "%s: |-\n%s    %s\n",
		 is_redis ? "prefilter:\n  redis:\n    url"
			  : "database:\n  conninfo",
		 is_redis ? "  " : "", composed[_i].written);
	load_text(&loaded, yaml);
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_str_eq(is_redis ? loaded.cfg->prefilter.redis_url
				  : loaded.cfg->database.conninfo,
			 composed[_i].read);
	unload(&loaded);
}
END_TEST

static const char *const misplaced[] = {
	"host=db ${file:secret}",
	"host=db password='x'${file:secret}",
	"host=db pass${file:secret}=x",
	"postgresql://db/shop?${file:secret}",
	"postgresql://db/shop?sslmode=disable&${file:secret}",
};

START_TEST(a_file_is_a_value_or_the_whole_and_never_one_more_keyword)
{
	struct loaded loaded = { 0 };
	char yaml[1024];

	write_file("secret", "hunter2", 7);
	snprintf(yaml, sizeof(yaml), GOOD "database:\n  conninfo: \"%s\"\n",
		 misplaced[_i]);
	load_text(&loaded, yaml);
	ck_assert_msg(loaded.cfg == NULL, "accepted: %s", misplaced[_i]);
	check_line_has(loaded.faults, ":10:13", "a keyword is due");
	check_line_has(loaded.faults, ":10:13", "password=${file:/path}");
	unload(&loaded);
}
END_TEST

static const struct {
	const char *written;
	const char *group;
} groups[] = {
	{ "$Default", "$Default" },
	{ "team-a/refunds", "team-a/refunds" },
	{ "Refund Service", "Refund Service" },
	{ "orders:prod", "orders:prod" },
	{ "größe", "größe" },
	{ "'* \"it''s\" <all>\\ '", "* \"it's\" <all>\\ " },
	{ "\"a\\tb\"", "a\tb" },
};

START_TEST(a_group_has_any_name_that_kafka_takes)
{
	struct loaded loaded = { 0 };
	char yaml[512];
	char scope[64];

	snprintf(yaml, sizeof(yaml),
		 "kafka:\n  brokers: a:1\n  group: %s\n"
		 "retention: forever\n" ROUTE,
		 groups[_i].written);
	load_text(&loaded, yaml);
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_str_eq(loaded.cfg->kafka.group, groups[_i].group);
	snprintf(scope, sizeof(scope), "%s/refund", groups[_i].group);
	ck_assert_str_eq(loaded.cfg->routes[0].scope, scope);
	unload(&loaded);
}
END_TEST

START_TEST(a_route_with_a_slash_in_its_name_has_a_scope_of_its_own)
{
	struct loaded loaded = { 0 };

	load_text(&loaded,
		  KAFKA "handlers:\n  - name: a/b\n    topics: [t]\n"
			"    plugin: handlers/refund.so\n    scope: g/a/b\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_str_eq(loaded.cfg->routes[0].scope, "g/a/b");
	unload(&loaded);
}
END_TEST

START_TEST(a_plain_word_is_a_text_whatever_yaml_thinks_of_it)
{
	struct loaded loaded = { 0 };

	load_text(&loaded,
		  KAFKA "handlers:\n  - name: no\n    topics: [on, 1]\n"
			"    plugin: handlers/refund.so\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_str_eq(loaded.cfg->routes[0].name, "no");
	ck_assert_str_eq(loaded.cfg->routes[0].topics[0], "on");
	ck_assert_str_eq(loaded.cfg->routes[0].topics[1], "1");
	unload(&loaded);
}
END_TEST

START_TEST(a_section_whose_options_are_commented_out_has_its_defaults)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, GOOD "    settings:\n    retry:\nbatch:\nlog:\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_uint_eq(loaded.cfg->batch.max_messages, 500);
	ck_assert_uint_eq(loaded.cfg->routes[0].retry.max_attempts, 5);
	unload(&loaded);
}
END_TEST

START_TEST(units_are_understood)
{
	struct loaded loaded = { 0 };
	const struct config *cfg;

	load_text(&loaded, GOOD "    timeout: 1d\n    retry:\n"
				"      max_attempts: 0\n"
				"      first_delay: 250ms\n"
				"      max_delay: 2h\n"
				"batch:\n  max_bytes: 64KiB\n"
				"shutdown_timeout: 2m\n");
	cfg = loaded.cfg;
	ck_assert_msg(cfg != NULL, "%s", loaded.faults);
	ck_assert_int_eq(cfg->routes[0].timeout_ms, 86400000);
	ck_assert_uint_eq(cfg->routes[0].retry.max_attempts, 0);
	ck_assert_int_eq(cfg->routes[0].retry.first_delay_ms, 250);
	ck_assert_int_eq(cfg->routes[0].retry.max_delay_ms, 7200000);
	ck_assert_uint_eq(cfg->routes[0].retry.never_count, 4);
	ck_assert_str_eq(cfg->routes[0].retry.never[3], "23514");
	ck_assert_uint_eq(cfg->batch.max_bytes, 65536);
	ck_assert_int_eq(cfg->shutdown_timeout_ms, 120000);
	ck_assert_int_eq(cfg->retention_ms, -1);
	unload(&loaded);
}
END_TEST

START_TEST(a_topic_leads_to_its_route)
{
	struct loaded loaded = { 0 };

	load_text(&loaded, GOOD "  - name: b\n    topics: [t, u]\n"
				"    plugin: handlers/refund.so\n");
	ck_assert_msg(loaded.cfg != NULL, "%s", loaded.faults);
	ck_assert_int_eq(config_route_of(loaded.cfg, "refunds"), 0);
	ck_assert_int_eq(config_route_of(loaded.cfg, "u"), 1);
	ck_assert_int_eq(config_route_of(loaded.cfg, "v"), -1);
	ck_assert_int_eq(loaded.cfg->routes[1].line, 9);
	unload(&loaded);
}
END_TEST

/* ---- the examples and the table ---- */

START_TEST(the_example_says_what_would_be_so_without_it)
{
	struct loaded example = { 0 };
	struct loaded least = { 0 };
	char *yaml = read_example("onced.yaml");
	char *printed;
	char *expected;

	load_text(&example, yaml);
	ck_assert_msg(example.cfg != NULL, "%s", example.faults);
	ck_assert_str_eq(example.faults, "");
	free(yaml);
	yaml = read_example("onced.min.yaml");
	load_text(&least, yaml);
	ck_assert_msg(least.cfg != NULL, "%s", least.faults);
	printed = print_config(example.cfg);
	expected = print_config(least.cfg);
	ck_assert_str_eq(printed, expected);
	free(printed);
	free(expected);
	free(yaml);
	unload(&example);
	unload(&least);
}
END_TEST

/* As "key:" at the start of a line, behind indentation, "- " or "# ". */
static const char *find_key(const char *yaml, const char *key)
{
	size_t size = strlen(key);
	const char *line = yaml;

	while (line != NULL) {
		const char *at = line + strspn(line, " -#");

		if (strncmp(at, key, size) == 0 && at[size] == ':')
			return at;
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	return NULL;
}

START_TEST(the_example_has_every_available_option_in_the_tables_order)
{
	char *yaml = read_example("onced.yaml");
	const char *after = yaml;

	for (size_t i = 0; i < config_option_count; i++) {
		const struct config_option *option = &config_options[i];
		const char *key = config_option_key(option);

		after = find_key(after, key);
		ck_assert_msg(after != NULL, "%s isn't there, or too early",
			      option->path);
	}
	free(yaml);
}
END_TEST

START_TEST(help_has_every_option_of_the_table)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	config_print_options(out);
	ck_assert_int_eq(fclose(out), 0);
	for (size_t i = 0; i < config_option_count; i++) {
		ck_assert_ptr_nonnull(strstr(text, config_options[i].path));
		ck_assert_ptr_nonnull(strstr(text, config_options[i].text));
	}
	free(text);
}
END_TEST

/* ---- ugly input ---- */

/* All white space is one blank. */
static char *squeeze(char *text)
{
	char *out = text;

	for (const char *at = text; *at != '\0'; at++) {
		bool blank = strchr(" \t\n", *at) != NULL;

		if (blank && out > text && out[-1] == ' ')
			continue;
		*out++ = blank ? ' ' : *at;
	}
	*out = '\0';
	return text;
}

START_TEST(the_page_has_the_options_as_the_table_prints_them)
{
	char *page = squeeze(read_example("../docs/configuration.md"));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	config_print_options(out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_msg(strstr(page, squeeze(text)) != NULL,
		      "put this into docs/configuration.md:\n%s", text);
	free(text);
	free(page);
}
END_TEST

START_TEST(a_file_cut_anywhere_is_refused_or_taken_but_never_harms)
{
	char *yaml = read_example("onced.yaml");
	size_t size = strlen(yaml);

	for (size_t cut = 0; cut <= size; cut++) {
		struct loaded loaded = { 0 };

		load_checked(&loaded, yaml, cut, NULL);
		ck_assert(loaded.cfg != NULL || loaded.size > 0);
		unload(&loaded);
	}
	free(yaml);
}
END_TEST

START_TEST(a_file_with_any_byte_changed_never_harms)
{
	static const char bytes[] = "\0\t\"'[]{}:-#&*!|>%@`$\xff\n";
	char *yaml = read_example("onced.yaml");
	size_t size = strlen(yaml);
	unsigned seed = 1;

	for (size_t round = 0; round < 4000; round++) {
		struct loaded loaded = { 0 };
		size_t at;
		char before;

		seed = seed * 1103515245u + 12345u;
		at = (seed >> 8) % size;
		before = yaml[at];
		yaml[at] = bytes[round % (sizeof(bytes) - 1)];
		load_checked(&loaded, yaml, size, NULL);
		ck_assert(loaded.cfg != NULL || loaded.size > 0);
		unload(&loaded);
		yaml[at] = before;
	}
	free(yaml);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static TCase *faults_case(void)
{
	TCase *tcase = tcase_create("faults");

	tcase_add_checked_fixture(tcase, enter_folder, leave_folder);
	tcase_add_loop_test(
		tcase, a_broken_configuration_is_told_with_its_place_and_remedy,
		0, COUNT(all_broken));
	tcase_add_test(tcase, no_retention_is_an_error_that_says_what_to_write);
	tcase_add_test(tcase,
		       a_retention_is_a_duration_and_a_short_one_is_warned_of);
	tcase_add_test(tcase, a_commit_that_waits_for_no_disk_is_a_setting);
	tcase_add_test(
		tcase,
		an_option_that_is_gone_is_refused_by_name_with_what_to_do_instead);
	tcase_add_test(tcase,
		       all_faults_are_told_in_one_run_in_the_order_of_the_file);
	tcase_add_test(tcase, a_file_that_is_not_there_is_told_by_its_name);
	return tcase;
}

static TCase *properties_case(void)
{
	TCase *tcase = tcase_create("properties");

	tcase_add_checked_fixture(tcase, enter_folder, leave_folder);
	tcase_add_loop_test(tcase,
			    a_property_that_could_lose_messages_is_refused, 0,
			    COUNT(all_properties));
	tcase_add_loop_test(
		tcase, what_brokers_decide_in_the_consumer_protocol_is_refused,
		0, COUNT(theirs));
	tcase_add_test(tcase, incremental_rebalances_can_be_asked_for);
	tcase_add_test(tcase, a_property_given_twice_is_refused);
	tcase_add_test(tcase,
		       a_day_of_max_poll_interval_is_warned_of_and_taken);
	tcase_add_test(tcase,
		       what_the_library_says_is_passed_on_with_the_place);
	tcase_add_test(tcase, a_property_that_only_the_library_knows_is_taken);
	return tcase;
}

static TCase *protection_case(void)
{
	TCase *tcase = tcase_create("protection");

	tcase_add_checked_fixture(tcase, enter_folder, leave_folder);
	tcase_add_loop_test(tcase, what_is_open_to_others_is_warned_of_by_name,
			    0, COUNT(open_to_others));
	tcase_add_loop_test(tcase, a_file_that_anybody_may_write_is_refused, 0,
			    COUNT(writable));
	tcase_add_test(tcase, where_a_link_leads_is_looked_at);
	tcase_add_test(tcase, the_folder_of_the_configuration_is_warned_of);
	tcase_add_test(tcase, a_folder_that_keeps_files_of_others_is_taken);
	tcase_add_test(tcase, a_file_that_a_group_may_write_is_warned_of);
	return tcase;
}

static TCase *secrets_case(void)
{
	TCase *tcase = tcase_create("secrets");

	tcase_add_checked_fixture(tcase, enter_folder, leave_folder);
	tcase_add_loop_test(tcase, a_message_never_shows_a_secret, 0,
			    COUNT(leaky));
	tcase_add_loop_test(tcase,
			    the_printed_configuration_never_shows_a_password, 0,
			    COUNT(conninfos));
	tcase_add_test(
		tcase,
		the_printed_configuration_never_shows_the_password_of_redis);
	tcase_add_test(tcase,
		       the_printed_configuration_shows_what_is_no_secret);
	return tcase;
}

static TCase *values_case(void)
{
	TCase *tcase = tcase_create("values");

	tcase_add_checked_fixture(tcase, enter_folder, leave_folder);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, values_come_from_the_environment_and_from_files);
	tcase_add_test(
		tcase,
		an_admin_port_that_others_reach_without_a_token_is_warned_of);
	tcase_add_loop_test(
		tcase,
		a_secret_is_the_password_and_nothing_else_whatever_is_in_it, 0,
		sizeof(holders) / sizeof(holders[0]));
	tcase_add_loop_test(
		tcase,
		a_secret_of_kafka_and_of_a_handler_is_the_value_whatever_is_in_it,
		0, sizeof(passwords) / sizeof(passwords[0]));
	tcase_add_loop_test(tcase, what_is_composed_on_purpose_stays_as_it_is,
			    0, sizeof(composed) / sizeof(composed[0]));
	tcase_add_loop_test(
		tcase,
		a_file_is_a_value_or_the_whole_and_never_one_more_keyword, 0,
		sizeof(misplaced) / sizeof(misplaced[0]));
	tcase_add_loop_test(tcase, a_group_has_any_name_that_kafka_takes, 0,
			    sizeof(groups) / sizeof(groups[0]));
	tcase_add_test(tcase,
		       a_route_with_a_slash_in_its_name_has_a_scope_of_its_own);
	tcase_add_test(tcase,
		       a_plain_word_is_a_text_whatever_yaml_thinks_of_it);
	tcase_add_test(
		tcase,
		a_section_whose_options_are_commented_out_has_its_defaults);
	tcase_add_test(tcase, units_are_understood);
	tcase_add_test(tcase, a_topic_leads_to_its_route);
	tcase_add_test(tcase, the_example_says_what_would_be_so_without_it);
	tcase_add_test(
		tcase,
		the_example_has_every_available_option_in_the_tables_order);
	tcase_add_test(tcase, help_has_every_option_of_the_table);
	tcase_add_test(tcase,
		       the_page_has_the_options_as_the_table_prints_them);
	tcase_add_test(tcase,
		       a_file_cut_anywhere_is_refused_or_taken_but_never_harms);
	tcase_add_test(tcase, a_file_with_any_byte_changed_never_harms);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("config");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, faults_case());
	suite_add_tcase(suite, properties_case());
	suite_add_tcase(suite, protection_case());
	suite_add_tcase(suite, secrets_case());
	suite_add_tcase(suite, values_case());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
