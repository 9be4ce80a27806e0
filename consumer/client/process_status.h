/*
 * process_status.h - what a running process says of itself at /status, taken
 * apart. The one who writes it is consumer/run/describe.c.
 *
 * Ownership: strings and arrays belong to the status.
 */
#ifndef ONCED_PROCESS_STATUS_H
#define ONCED_PROCESS_STATUS_H

#include <once/types.h>
#include <stdbool.h>
#include <stddef.h>

struct json_t;

struct process_partition {
	const char *topic;
	int32_t partition;
	const char *state;
	const char *why; /* "": nothing is wrong */
	int64_t next_offset;
	int64_t lag; /* -1: not known */
};

struct process_stage {
	const char *name;
	int64_t duplicates;
};

struct process_key {
	const char *key; /* cut, and safe to be shown */
	const char *kind;
	int64_t count;
	int64_t error;
};

/* Since the process started. */
struct process_route {
	const char *name;
	int64_t handled;
	struct process_stage *stages; /* duplicates, by who stopped them */
	size_t stage_count;
	int64_t conflicts;
	int64_t dead;
	int64_t retries;
	int64_t repeated; /* duplicates and conflicts: 100 % of the keys' */
	struct process_key *keys; /* the most repeated first */
	size_t key_count;
};

struct process_status {
	struct json_t *root;
	const char *version;
	const char *group;
	int64_t pid;
	int64_t uptime_seconds;
	bool ready;
	const char *why_not_ready; /* a line for each reason */
	int64_t lanes;
	int64_t lanes_busy;
	const char *prefilter; /* "": there is none */
	struct process_partition *partitions;
	size_t partition_count;
	struct process_route *routes;
	size_t route_count;
};

/* INVALID: it isn't what /status says. Members that it lacks are 0 or "". */
enum once_status process_status_parse(const char *json,
				      struct process_status **ret_status,
				      struct once_error *err) ONCE_MUST_CHECK;
/* Ask for it and parse it; TRANSIENT and CONFIG as client_fetch(). */
enum once_status process_status_get(const char *listen, const char *token,
				    struct process_status **ret_status,
				    struct once_error *err) ONCE_MUST_CHECK;
void process_status_destroy(struct process_status *status);

/* A member, or NULL: all of it, in one line of JSON that means the same and
 * can't talk to the terminal. The caller's to free; NULL: no memory, or no such
 * member. */
char *process_status_dump(const struct process_status *status,
			  const char *member);

#endif
