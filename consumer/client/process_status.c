/* Strings stay where jansson has put them; the tree lives as long as we do. */
#include "process_status.h"

#include "bytes.h"
#include "client.h"
#include "error.h"
#include "readable.h"
#include "scope.h"
#include "text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *name)
{
	const char *string = json_string_value(json_object_get(object, name));

	return string == NULL ? "" : string;
}

static int64_t number_of(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

/* As many as the array has, which is none if it is something else; all zero.
 * NULL: no memory. */
static void *make_array(const json_t *array, size_t size, size_t *ret_count)
{
	*ret_count = json_array_size(array);
	return calloc(*ret_count + 1, size);
}

/* ---- partitions ---- */

static void read_partition(const json_t *from, struct process_partition *to)
{
	const json_t *lag = json_object_get(from, "lag");
	int64_t partition = number_of(from, "partition");

	to->topic = text_of(from, "topic");
	to->partition = partition < INT32_MIN   ? INT32_MIN
			: partition > INT32_MAX ? INT32_MAX
						: (int32_t)partition;
	to->state = text_of(from, "state");
	to->why = text_of(from, "why");
	to->next_offset = number_of(from, "next_offset");
	to->lag = json_is_integer(lag) ? json_integer_value(lag) : -1;
}

static bool read_partitions(struct process_status *status)
{
	const json_t *array = json_object_get(status->root, "partitions");

	status->partitions = make_array(array, sizeof(*status->partitions),
					&status->partition_count);
	if (status->partitions == NULL)
		return false;
	for (size_t i = 0; i < status->partition_count; i++)
		read_partition(json_array_get(array, i),
			       &status->partitions[i]);
	return true;
}

/* ---- routes ---- */

static bool read_stages(const json_t *from, struct process_route *to)
{
	json_t *stages = json_object_get(from, "duplicates");
	const char *name;
	json_t *count;
	size_t i = 0;

	to->stage_count = json_object_size(stages);
	to->stages = calloc(to->stage_count + 1, sizeof(*to->stages));
	if (to->stages == NULL)
		return false;
	json_object_foreach(stages, name, count)
	{
		to->stages[i].name = name;
		to->stages[i++].duplicates = json_integer_value(count);
	}
	return true;
}

static bool read_keys(const json_t *repeated, struct process_route *to)
{
	const json_t *keys = json_object_get(repeated, "keys");

	to->repeated = number_of(repeated, "total");
	to->keys = make_array(keys, sizeof(*to->keys), &to->key_count);
	if (to->keys == NULL)
		return false;
	for (size_t i = 0; i < to->key_count; i++) {
		const json_t *key = json_array_get(keys, i);

		to->keys[i].key = text_of(key, "key");
		to->keys[i].kind = text_of(key, "key_kind");
		to->keys[i].count = number_of(key, "count");
		to->keys[i].error = number_of(key, "error");
	}
	return true;
}

static const json_t *find_repeated(const json_t *array, const char *route)
{
	const json_t *at;
	size_t i;

	json_array_foreach(array, i, at)
	{
		if (strcmp(text_of(at, "route"), route) == 0)
			return at;
	}
	return NULL;
}

static bool read_route(const json_t *from, const json_t *repeated,
		       struct process_route *to)
{
	to->name = text_of(from, "route");
	to->handled = number_of(from, "handled");
	to->conflicts = number_of(from, "conflicts");
	to->dead = number_of(from, "dead");
	to->retries = number_of(from, "retries");
	return read_stages(from, to) &&
	       read_keys(find_repeated(repeated, to->name), to);
}

static bool read_routes(struct process_status *status)
{
	const json_t *array = json_object_get(status->root, "routes");
	const json_t *repeated = json_object_get(status->root, "repeated");

	status->routes = make_array(array, sizeof(*status->routes),
				    &status->route_count);
	if (status->routes == NULL)
		return false;
	for (size_t i = 0; i < status->route_count; i++)
		if (!read_route(json_array_get(array, i), repeated,
				&status->routes[i]))
			return false;
	return true;
}

/* ---- the whole ---- */

static void read_process(struct process_status *status)
{
	const json_t *root = status->root;
	const json_t *lanes = json_object_get(root, "lanes");

	status->version = text_of(root, "version");
	status->group = text_of(root, "group");
	status->pid = number_of(root, "pid");
	status->uptime_seconds = number_of(root, "uptime_seconds");
	status->ready = json_is_true(json_object_get(root, "ready"));
	status->why_not_ready = text_of(root, "not_ready_because");
	status->lanes = number_of(lanes, "count");
	status->lanes_busy = number_of(lanes, "busy");
	status->prefilter =
		text_of(json_object_get(root, "prefilter"), "summary");
}

enum once_status process_status_parse(const char *json,
				      struct process_status **ret_status,
				      struct once_error *err)
{
	struct process_status *status = calloc(1, sizeof(*status));
	json_error_t fault;

	*ret_status = NULL;
	if (status == NULL)
		return error_no_memory(err);
	status->root = json_loads(json, 0, &fault);
	if (!json_is_object(status->root)) {
		if (status->root != NULL)
			snprintf(fault.text, sizeof(fault.text),
				 "it is no object");
		process_status_destroy(status);
		return error_set(err, ONCE_INVALID,
				 "what /status says can't be read: %s",
				 fault.text);
	}
	read_process(status);
	if (!read_partitions(status) || !read_routes(status)) {
		process_status_destroy(status);
		return error_no_memory(err);
	}
	*ret_status = status;
	return ONCE_OK;
}

enum once_status process_status_get(const char *listen, const char *token,
				    struct process_status **ret_status,
				    struct once_error *err)
{
	scoped_text struct text json = { 0 };
	enum once_status status = client_fetch(listen, token, "/status",
					       CLIENT_TIMEOUT_MS, &json, err);

	*ret_status = NULL;
	if (status != ONCE_OK)
		return status;
	text_adds(&json, "");
	if (process_status_parse(json.data, ret_status, err) == ONCE_OK)
		return ONCE_OK;
	return ONCE_TRANSIENT; /* somebody else has the port */
}

void process_status_destroy(struct process_status *status)
{
	if (status == NULL)
		return;
	for (size_t i = 0; status->routes != NULL && i < status->route_count;
	     i++) {
		free(status->routes[i].stages);
		free(status->routes[i].keys);
	}
	free(status->routes);
	free(status->partitions);
	json_decref(status->root);
	free(status);
}

char *process_status_dump(const struct process_status *status,
			  const char *member)
{
	const json_t *value = member == NULL
				      ? status->root
				      : json_object_get(status->root, member);

	char *json scoped_free =
		json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	scoped_text struct text text = { 0 };

	if (json == NULL)
		return NULL;
	readable_add_json(&text, bytes_text(json));
	return text.broken ? NULL : take(&text.data);
}
