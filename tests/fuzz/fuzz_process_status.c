/*
 * Any bytes as the answer of /status, as the commands read it: it is refused,
 * or all that is taken from it can be read.
 */
#include "client.h"
#include "process_status.h"
#include "text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* Nothing is fetched. */
enum once_status client_fetch(const char *listen, const char *token,
			      const char *path, int timeout_ms,
			      struct text *body, struct once_error *err)
{
	(void)listen;
	(void)token;
	(void)path;
	(void)timeout_ms;
	(void)body;
	(void)err;
	return ONCE_TRANSIENT;
}

static void check_route(const struct process_route *route)
{
	size_t sum = strlen(route->name);

	for (size_t i = 0; i < route->stage_count; i++)
		sum += strlen(route->stages[i].name);
	for (size_t i = 0; i < route->key_count; i++)
		sum += strlen(route->keys[i].key) + strlen(route->keys[i].kind);
	require(sum < SIZE_MAX / 2);
}

static void check_status(const struct process_status *status)
{
	char *dumped = process_status_dump(status, NULL);
	size_t sum = strlen(status->version) + strlen(status->group) +
		     strlen(status->why_not_ready) + strlen(status->prefilter);

	for (size_t i = 0; i < status->partition_count; i++)
		sum += strlen(status->partitions[i].topic) +
		       strlen(status->partitions[i].state) +
		       strlen(status->partitions[i].why);
	for (size_t i = 0; i < status->route_count; i++)
		check_route(&status->routes[i]);
	require(sum < SIZE_MAX / 2);
	require(dumped == NULL || strchr(dumped, '\n') == NULL);
	free(dumped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_status *status = NULL;
	struct once_error err = { 0 };
	char *json = calloc(size + 1, 1);

	require(json != NULL);
	if (size > 0)
		memcpy(json, data, size);
	if (process_status_parse(json, &status, &err) == ONCE_OK)
		check_status(status);
	else
		require(status == NULL && err.text[0] != '\0');
	process_status_destroy(status);
	free(json);
	return 0;
}
