/* What the user may set is decided by the configuration; here stand our own
 * defaults and the values that nobody may change. */
#include "kafka_conf.h"

#include "error.h"
#include "log_event.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

struct setting {
	const char *name;
	const char *value;
};

/* clang-format off */

/* Better for us than librdkafka's own; the user's properties come after. */
static const struct setting defaults[] = {
	{ "client.id",                          "onced" },
	{ "check.crcs",                         "true" },
	{ "queued.max.messages.kbytes",         "16384" },
	{ "fetch.max.bytes",                    "16777216" },
	{ "fetch.wait.max.ms",                  "100" },
	{ "topic.metadata.refresh.interval.ms", "30000" },
	{ "socket.keepalive.enable",            "true" },
	{ "socket.nagle.disable",               "true" },
	{ "reconnect.backoff.ms",               "50" },
	{ "reconnect.backoff.max.ms",           "500" },
};

/* How long its thread leaves full queues alone; a second unless it is told. */
static const struct setting queue_backoff[] = {
	{ "fetch.queue.backoff.ms",             "20" },
};

/* Without these, messages are lost. */
static const struct setting guards[] = {
	{ "enable.auto.commit",       "false" },
	{ "enable.auto.offset.store", "false" },
	{ "auto.offset.reset",        "error" },
	{ "isolation.level",          "read_committed" },
};

static const struct setting owned[] = {
	{ "enable.partition.eof",     "false" },
	{ "allow.auto.create.topics", "false" },
};

/* Who is in no group can't join or commit, and needs no right to one. */
static const struct setting looking[] = {
	{ "group.id",             "" },
	{ "group.instance.id",    "" },
	{ "enable.partition.eof", "true" },
};

/* What an older librdkafka hasn't got, or has with faults: cooperative-sticky
 * aborted, looped or lost its assignment at times. NULL: any value. */
static const struct {
	const char *name;
	const char *value;
	int version;
	const char *text;
} needs[] = {
	{ "partition.assignment.strategy", "cooperative-sticky", 0x020a0100, "2.10.1" },
	{ "group.protocol",                "consumer",           0x020c0000, "2.12.0" },
	{ "group.remote.assignor",         NULL,                 0x020c0000, "2.12.0" },
};
/* clang-format on */

enum {
	COUNT_DEFAULTS = sizeof(defaults) / sizeof(defaults[0]),
	COUNT_GUARDS = sizeof(guards) / sizeof(guards[0]),
	COUNT_OWNED = sizeof(owned) / sizeof(owned[0]),
	COUNT_LOOKING = sizeof(looking) / sizeof(looking[0]),
	COUNT_QUEUE_BACKOFF = sizeof(queue_backoff) / sizeof(queue_backoff[0]),
	COUNT_NEEDS = sizeof(needs) / sizeof(needs[0]),
	LINE_NAME_SIZE = 400
};

static enum once_status set(rd_kafka_conf_t *conf, const char *name,
			    const char *value, struct once_error *err)
{
	char text[400];

	if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) ==
	    RD_KAFKA_CONF_OK)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG, "kafka property %s: %s", name, text);
}

static enum once_status set_all(rd_kafka_conf_t *conf,
				const struct setting *settings, size_t count,
				struct once_error *err)
{
	enum once_status status = ONCE_OK;

	for (size_t i = 0; i < count && status == ONCE_OK; i++)
		status = set(conf, settings[i].name, settings[i].value, err);
	return status;
}

static enum once_status set_number(rd_kafka_conf_t *conf, const char *name,
				   size_t value, struct once_error *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", value);
	return set(conf, name, text, err);
}

static enum once_status set_memory(rd_kafka_conf_t *conf,
				   const struct kafka_memory *memory,
				   struct once_error *err)
{
	const struct {
		const char *name;
		size_t value;
	} limits[] = {
		{ "queued.max.messages.kbytes", memory->queue_values / 1024 },
		{ "queued.min.messages", memory->queue_count },
		{ "fetch.message.max.bytes", memory->fetch_values },
		{ "fetch.max.bytes", memory->fetch_whole },
	};
	enum once_status status = ONCE_OK;

	for (size_t i = 0;
	     i < sizeof(limits) / sizeof(limits[0]) && status == ONCE_OK; i++)
		status = set_number(conf, limits[i].name, limits[i].value, err);
	return status;
}

static enum once_status set_ours(rd_kafka_conf_t *conf,
				 const struct kafka_config *kafka,
				 struct once_error *err)
{
	enum once_status status =
		set(conf, "bootstrap.servers", kafka->brokers, err);

	if (status == ONCE_OK)
		status = set(conf, "group.id", kafka->group, err);
	if (status == ONCE_OK && kafka->instance_id[0] != '\0')
		status =
			set(conf, "group.instance.id", kafka->instance_id, err);
	if (status == ONCE_OK)
		status = set_all(conf, guards, COUNT_GUARDS, err);
	if (status == ONCE_OK)
		status = set_all(conf, owned, COUNT_OWNED, err);
	return status;
}

/* What it says each 27 ms of a connection that fails differs in numbers: of
 * ports, times and tries. */
static void name_line(const char *facility, const char *text,
		      char ret_name[LINE_NAME_SIZE])
{
	size_t size =
		(size_t)snprintf(ret_name, LINE_NAME_SIZE, "%.40s ", facility);

	for (; *text != '\0' && size + 1 < LINE_NAME_SIZE; text++)
		if (*text < '0' || *text > '9')
			ret_name[size++] = *text;
	ret_name[size] = '\0';
}

void kafka_conf_log(const rd_kafka_t *rk, int level, const char *facility,
		    const char *text)
{
	enum log_level ours = level <= LOG_ERR       ? LOG_LEVEL_WARNING
			      : level <= LOG_WARNING ? LOG_LEVEL_INFO
						     : LOG_LEVEL_DEBUG;
	const struct log_field *fields = LOG_FIELDS(
		LOG_TEXT("from", "librdkafka"), LOG_TEXT("facility", facility));
	char name[LINE_NAME_SIZE];

	(void)rk;
	if (ours == LOG_LEVEL_DEBUG) { /* no two are alike */
		log_line(ours, fields, "%s", text);
		return;
	}
	name_line(facility, text, name);
	log_often(name, 1, ours, fields, "%s", text);
}

rd_kafka_conf_t *kafka_conf_create(const struct config *cfg,
				   const struct kafka_memory *memory,
				   struct once_error *err)
{
	const struct kafka_config *kafka = &cfg->kafka;
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	enum once_status status = set_all(conf, defaults, COUNT_DEFAULTS, err);

	if (status == ONCE_OK && kafka_conf_has_queue_backoff())
		status = set_all(conf, queue_backoff, COUNT_QUEUE_BACKOFF, err);
	if (status == ONCE_OK && memory != NULL)
		status = set_memory(conf, memory, err);
	for (size_t i = 0; i < kafka->property_count && status == ONCE_OK; i++)
		status = set(conf, kafka->properties[i].name,
			     kafka->properties[i].value, err);
	if (status == ONCE_OK)
		status = set_ours(conf, kafka, err);
	if (status != ONCE_OK) {
		rd_kafka_conf_destroy(conf);
		return NULL;
	}
	rd_kafka_conf_set_log_cb(conf, kafka_conf_log);
	return conf;
}

rd_kafka_conf_t *kafka_conf_create_onlooker(const struct config *cfg,
					    struct once_error *err)
{
	rd_kafka_conf_t *conf = kafka_conf_create(cfg, NULL, err);

	if (conf == NULL ||
	    set_all(conf, looking, COUNT_LOOKING, err) == ONCE_OK)
		return conf;
	rd_kafka_conf_destroy(conf);
	return NULL;
}

enum once_status kafka_conf_check(rd_kafka_t *rk, struct once_error *err)
{
	for (size_t i = 0; i < COUNT_GUARDS; i++) {
		char value[64] = "";
		size_t size = sizeof(value);

		if (rd_kafka_conf_get(rd_kafka_conf(rk), guards[i].name, value,
				      &size) == RD_KAFKA_CONF_OK &&
		    strcmp(value, guards[i].value) == 0)
			continue;
		return error_set(err, ONCE_CONFIG,
				 "kafka property %s is \"%s\" although onced "
				 "set it to \"%s\"; remove what overrides it",
				 guards[i].name, value, guards[i].value);
	}
	return ONCE_OK;
}

size_t kafka_conf_get_number(rd_kafka_t *rk, const char *name)
{
	char value[24] = "";
	size_t size = sizeof(value);

	if (rd_kafka_conf_get(rd_kafka_conf(rk), name, value, &size) !=
	    RD_KAFKA_CONF_OK)
		return 0;
	return strtoul(value, NULL, 10);
}

bool kafka_conf_has_queue_backoff(void)
{
	return rd_kafka_version() >= 0x02020000;
}

enum once_status kafka_conf_check_version(int version, struct once_error *err)
{
	int minor = version >> 16; /* 0x020001ff: 2.0.1 */

	if (minor != 0x0201 && minor != 0x0202)
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "librdkafka %s loses offsets; install 2.0.2, or 2.3.0 "
			 "or newer",
			 rd_kafka_version_str());
}

bool kafka_conf_check_value(int version, const char *name, const char *value,
			    char *text, size_t size)
{
	for (size_t i = 0; i < COUNT_NEEDS; i++) {
		if (version >= needs[i].version ||
		    strcmp(name, needs[i].name) != 0 ||
		    (needs[i].value != NULL &&
		     strstr(value, needs[i].value) == NULL))
			continue;
		snprintf(text, size,
			 "%s needs librdkafka %s or newer, and this is %s",
			 needs[i].value == NULL ? "it" : needs[i].value,
			 needs[i].text, rd_kafka_version_str());
		return false;
	}
	return true;
}

/* It sends its nonce twice (librdkafka issue 4895), which Kafka 3 lets pass. */
bool kafka_conf_warn(int version, const struct config *cfg, char *text,
		     size_t size)
{
	for (size_t i = 0; i < cfg->kafka.property_count; i++) {
		const struct name_value *at = &cfg->kafka.properties[i];

		if (version >= 0x02060100 ||
		    strncmp(at->name, "sasl.mechanism",
			    strlen("sasl.mechanism")) != 0 ||
		    strncmp(at->value, "SCRAM-", strlen("SCRAM-")) != 0)
			continue;
		snprintf(text, size,
			 "%s=%s is refused by Kafka 4 with librdkafka %s, "
			 "although user and password are right; install "
			 "librdkafka 2.6.1 or newer, or write PLAIN with "
			 "security.protocol=SASL_SSL",
			 at->name, at->value, rd_kafka_version_str());
		return true;
	}
	return false;
}

const char *source_get_warning(const struct config *cfg)
{
	static char text[400]; /* main thread */

	return kafka_conf_warn(rd_kafka_version(), cfg, text, sizeof(text))
		       ? text
		       : NULL;
}

const char *source_library_version(void)
{
	return rd_kafka_version_str();
}

static bool try_property(const char *name, const char *value, char *text,
			 size_t size)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_res_t res =
		rd_kafka_conf_set(conf, name, value, text, size);

	rd_kafka_conf_destroy(conf);
	return res == RD_KAFKA_CONF_OK;
}

const char *source_check_property(void *arg, const char *name,
				  const char *value)
{
	static char text[400]; /* main thread, while the file is checked */

	(void)arg;
	if (!kafka_conf_check_value(rd_kafka_version(), name, value, text,
				    sizeof(text)) ||
	    !try_property(name, value, text, sizeof(text)))
		return text;
	return NULL;
}
