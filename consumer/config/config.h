/*
 * config.h - what onced.yaml says, checked whole.
 *
 * Ownership: a config owns all that hangs on it; it is immutable once loaded
 * and is passed down in parts. Threads: main loads, everybody reads.
 */
#ifndef ONCED_CONFIG_H
#define ONCED_CONFIG_H

#include <once/once.h>
#include <stdbool.h>
#include <stdio.h>

enum initial_position {
	INITIAL_EARLIEST,
	INITIAL_LATEST,
	INITIAL_FAIL
};

struct name_value {
	char *name;
	char *value;
	bool secret; /* by its name, or from outside the file: never shown */
	int line;    /* in the file, for messages */
	int column;
};

struct kafka_config {
	char *brokers;
	char *group;
	char *instance_id; /* "": dynamic membership */
	size_t max_memory; /* of messages that aren't handled yet, in bytes */
	struct name_value *properties;
	size_t property_count;
};

struct database_config {
	char *conninfo;
	enum once_durability durability;
	enum once_isolation isolation;
	struct once_limits limits;
};

enum on_unavailable {
	UNAVAILABLE_DATABASE,
	UNAVAILABLE_PAUSE
};

struct prefilter_config {
	size_t local_max_bytes; /* 0: off */
	char *redis_url;        /* "": off */
	int64_t redis_timeout_ms;
	int64_t redis_ttl_ms;
	enum on_unavailable redis_on_unavailable;
};

struct batch_config {
	size_t max_messages;
	size_t max_bytes;
	int64_t max_time_ms;
};

struct admin_config {
	char *listen; /* "": off */
	char *token;  /* "": none */
	char **hosts;
	size_t host_count;
};

struct retry_config {
	unsigned max_attempts; /* 0: for ever */
	int64_t first_delay_ms;
	int64_t max_delay_ms;
	unsigned max_crashes; /* 0: no limit */
	char **never;         /* SQLSTATEs, or classes of them */
	size_t never_count;
};

struct route_config {
	char *name;
	char **topics;
	size_t topic_count;
	char *plugin; /* absolute, or relative to the working directory */
	char *msg_id; /* NULL: the default template */
	char *biz_id; /* NULL: none */
	char *fingerprint;
	char *scope; /* never empty: <group>/<name> unless set */
	enum once_order order;
	enum initial_position initial_position;
	enum once_bad_key_policy on_bad_key;
	enum once_conflict_policy on_conflict;
	unsigned halt_after_dead; /* 0: never */
	int64_t timeout_ms;
	struct retry_config retry;
	char **settings; /* "name=value" */
	size_t setting_count;
	int line; /* where the route begins in the file, for messages */
	int column;
	uint64_t hidden; /* as in struct config */
};

struct config {
	struct kafka_config kafka;
	struct database_config database;
	struct prefilter_config prefilter;
	int64_t retention_ms; /* -1: for ever */
	unsigned lanes;
	struct batch_config batch;
	struct admin_config admin;
	int log_level; /* enum log_level */
	int64_t shutdown_timeout_ms;
	struct route_config *routes;
	size_t route_count;
	uint64_t hidden; /* bit n: row n of the options came from outside the
			  * file (environment, another file): never shown */
};

/* What the Kafka library says about a property: NULL if it takes it, else the
 * complaint, valid until the next call. */
typedef const char *config_property_check_f(void *arg, const char *name,
					    const char *value);

/*
 * Load and check `path`. NULL: it is wrong; every fault was written to `faults`
 * as "path:line:column: what; what to write instead", in the order of the file.
 * Warnings are written there too ("path:line:column: warning: ...") and refuse
 * nothing. `check` NULL: property names are checked against our own list.
 */
struct config *config_load(const char *path, config_property_check_f *check,
			   void *arg, FILE *faults);
void config_destroy(struct config *cfg);

/* Whether there is a prefilter, and as what libonce knows it. */
bool config_has_prefilter(const struct config *cfg);
struct once_prefilter_options config_prefilter_options(
	const struct config *cfg);

/* What a stranger may see over HTTP, in a sentence; NULL: nothing is wrong. */
const char *config_admin_warning(const struct config *cfg);

/* The index of the route that takes `topic`; -1: none. */
int config_route_of(const struct config *cfg, const char *topic);

/* What is in effect, defaults included, as YAML; secrets as "(set)". */
void config_print(const struct config *cfg, FILE *out);

/* Every option with its kind, default and sentence: for --help and the docs. */
void config_print_options(FILE *out);

#endif
