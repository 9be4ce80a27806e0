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
#include <stdio.h>

/* Every option of every command: its word; what stands behind it (NULL: it is
 * given or not); a sentence for --help. */
/* clang-format off */
#define COMMAND_OPTION_TABLE(X)                                              \
	X(CONFIG,     "config",     "FILE",   "the configuration; onced.yaml") \
	X(SQL,        "sql",        "FILE",   "statements to run first")      \
	X(ROUTE,      "route",      "NAME",   "of this handler only")         \
	X(TO_ROUTE,   "to-route",   "NAME",   "give them to this handler, which " \
					      "has their scope")              \
	X(SCOPE,      "scope",      "SCOPE",  "of this scope, whatever the "  \
					      "configuration says")           \
	X(TOPIC,      "topic",      "TOPIC",  "of this topic")                \
	X(PARTITION,  "partition",  "N",      "of this partition")            \
	X(TO,         "to",         "PLACE",  "earliest, latest, group, an "  \
					      "offset, @TIME")                \
	X(OFFSET,     "offset",     "N",      "at this offset")               \
	X(STATE,      "state",      "STATE",  "dead or waiting")              \
	X(REASON,     "reason",     "CAUSE",  "parked for this reason")       \
	X(KEY,        "key",        "KEY",    "msg_id, biz_id or Kafka key is " \
					      "exactly that")                 \
	X(OLDER_THAN, "older-than", "TIME",   "longer ago than that; 90s, 1h, 7d") \
	X(NEWER_THAN, "newer-than", "TIME",   "parked since then")            \
	X(LIMIT,      "limit",      "N",      "at most so many")              \
	X(MESSAGES,   "messages",   "N",      "the newest so many; 100000")   \
	X(WAITING,    "waiting",    NULL,     "waiting ones, too")            \
	X(ALL,        "all",        NULL,     "really all: no other choice is made") \
	X(CLOCK_IS_RIGHT, "clock-is-right", NULL, "the database's clock may be " \
					      "believed; once.audit says who said so") \
	X(ANOTHER_LOG, "another-log", NULL,   "the topic was made again")     \
	X(BEYOND_RETENTION, "beyond-retention", NULL, "further back than the "  \
					      "log remembers")                \
	X(ONCE,       "once",       NULL,     "on a terminal, too: one time only") \
	X(OFFLINE,    "offline",    NULL,     "ask no server")                \
	X(DRY_RUN,    "dry-run",    NULL,     "only say what it would do")    \
	X(JSON,       "json",       NULL,     "for scripts")
/* clang-format on */

enum command_option {
#define X(name, word, value, text) OPTION_##name,
	COMMAND_OPTION_TABLE(X)
#undef X
	COUNT_OPTIONS
};

/* Which of them a command takes. */
enum {
#define X(name, word, value, text) TAKES_##name = 1 << OPTION_##name,
	COMMAND_OPTION_TABLE(X)
#undef X
};

struct arguments {
	const char *config_path; /* "onced.yaml" unless it is given */
	bool json;
	bool dry_run;
	const char *given[COUNT_OPTIONS]; /* NULL: not given */
	const char *const *operands;      /* what isn't an option */
	size_t operand_count;
};

struct text;

typedef int command_f(const struct arguments *arguments);

struct command {
	const char *name;     /* "status", "parked list" */
	const char *summary;  /* one line, for the list */
	const char *help;     /* more, for --help of it */
	const char *operands; /* as the usage shows them; NULL: none */
	size_t operands_most; /* how many it takes */
	unsigned options;     /* TAKES_…, beside --help */
	bool takes_signals;   /* they are blocked, and it looks for them */
	/* Else SIGINT, SIGTERM and SIGHUP end it. What is said then of what it
	 * may have done; NULL: nothing. */
	const char *interrupted;
	command_f *run; /* NULL: a second word names one of */
	const struct command *const *parts; /* these; NULL-terminated */
};

extern const struct command command_run;
extern const struct command command_check;
extern const struct command command_migrate;
extern const struct command command_dev;
extern const struct command command_demo;
extern const struct command command_gc;
extern const struct command command_keys;
extern const struct command command_seek;
extern const struct command command_status;
extern const struct command command_top;
extern const struct command command_parked;
extern const struct command command_version;

/* "onced: …" on stderr. What came from a server or a file in it can't talk to
 * the terminal; its further lines are indented. */
void command_complain(const char *fmt, ...) ONCE_PRINTF(1, 2);

/* For a command that looks for them at times only: block SIGINT, SIGTERM and
 * SIGHUP from here on. */
void command_block_signals(void);

/* For the audit: name@host. */
void command_add_person(struct text *person);

/* The checked configuration, or NULL when all its faults are on stderr. */
struct config *command_load_config(const struct arguments *arguments);
/* The same, with faults and warnings going to `faults`. */
struct config *command_load_config_telling(const struct arguments *arguments,
					   FILE *faults);

#endif
