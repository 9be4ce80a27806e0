/*
 * command.h - the commands: a table, one file each.
 *
 * A command writes what was asked for to stdout, what is wrong to stderr, and
 * returns the exit code. Threads: main.
 */
#ifndef ONCED_COMMAND_H
#define ONCED_COMMAND_H

#include "config.h"
#include "exit_codes.h"

#include <stdbool.h>

struct arguments {
	const char *config_path; /* -c; "onced.yaml" */
	bool json;               /* --json */
	bool dry_run;            /* --dry-run */
	const char *sql_path;    /* --sql; NULL: not given */
	const char *topic;       /* --topic; likewise, */
	const char *partition;   /* --partition, */
	const char *to;          /* --to */
};

typedef int command_f(const struct arguments *arguments);

/* Which options a command takes, beside --help. */
enum command_option {
	TAKES_CONFIG = 1,
	TAKES_JSON = 2,
	TAKES_DRY_RUN = 4,
	TAKES_SQL = 8,
	TAKES_PLACE = 16
};

struct command {
	const char *name;
	const char *summary; /* one line, for the list */
	const char *help;    /* more, for --help of it */
	unsigned options;    /* enum command_option */
	command_f *run;
};

extern const struct command command_run;
extern const struct command command_check;
extern const struct command command_migrate;
extern const struct command command_dev;
extern const struct command command_demo;
extern const struct command command_seek;
extern const struct command command_status;
extern const struct command command_version;

/* The checked configuration, or NULL when all its faults are on stderr. */
struct config *command_load_config(const struct arguments *arguments);

#endif
