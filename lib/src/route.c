/* A route compiles its templates once; a message's keys are then a pure
 * function of the message. */
#include "route.h"

#include "bytes.h"
#include "clock.h"
#include "error.h"
#include "key_template.h"
#include "pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The smallest descriptor: up to and with `handle`. */
static const size_t smallest_handler = offsetof(struct once_handler, duplicate);

/* ---- the handler's descriptor ---- */

static enum once_status check_handler(const struct once_handler *handler,
				      struct once_error *err)
{
	if (handler == NULL)
		return error_set(err, ONCE_CONFIG, "there is no handler");
	if (handler->abi != ONCE_HANDLER_ABI)
		return error_set(err, ONCE_CONFIG,
				 "the handler was built for ABI %u, this is "
				 "ABI %u; rebuild it against this version's "
				 "once/handler.h",
				 (unsigned)handler->abi, ONCE_HANDLER_ABI);
	if (handler->size < smallest_handler)
		return error_set(err, ONCE_CONFIG,
				 "the handler's descriptor has %u bytes, at "
				 "least %zu are needed; start it with "
				 "ONCE_HANDLER_ABI_FIELDS",
				 (unsigned)handler->size, smallest_handler);
	if (handler->handle == NULL)
		return error_set(err, ONCE_CONFIG,
				 "the handler has no handle(); set it in "
				 "once_handler");
	return ONCE_OK;
}

once_duplicate_f *once__handler_duplicate(const struct once_handler *handler)
{
	if (handler->size < offsetof(struct once_handler, close))
		return NULL;
	return handler->duplicate;
}

once_close_f *once__handler_close(const struct once_handler *handler)
{
	if (handler->size < sizeof(struct once_handler))
		return NULL;
	return handler->close;
}

/* ---- making ---- */

static enum once_status parse_key(const char *which, const char *text,
				  struct once__template **ret_template,
				  struct once_error *err)
{
	enum once_status status = once__template_parse(text, ret_template, err);

	if (status == ONCE_OK && !once__template_varies(*ret_template))
		status =
			error_set(err, ONCE_INVALID,
				  "\"%s\" is the same for every message, which "
				  "would make all of them one; add a field, "
				  "such as {header:id} or {json:/id}",
				  text);
	if (status != ONCE_OK)
		error_prefix(err, "%s", which);
	return status;
}

/* Of the setting: its text. */
static uint32_t kind_of(const char *setting)
{
	return (uint32_t)once__hash64(setting, strlen(setting));
}

static enum once_status parse_fingerprint(struct once_route *route,
					  const char *text,
					  struct once_error *err)
{
	enum once_status status;

	if (text == NULL)
		text = "value";
	route->has_fingerprint = strcmp(text, "none") != 0;
	route->fingerprint_kind = kind_of(text);
	if (!route->has_fingerprint || strcmp(text, "value") == 0)
		return ONCE_OK;
	status = once__template_parse(text, &route->fingerprint, err);
	if (status != ONCE_OK)
		error_prefix(err, "fingerprint");
	return status;
}

static enum once_status copy_settings(struct once_settings *settings,
				      const struct once_route_options *options,
				      struct once_error *err)
{
	settings->pairs =
		calloc(options->setting_count + 1, sizeof(*settings->pairs));
	if (settings->pairs == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < options->setting_count; i++) {
		if (strchr(options->settings[i], '=') == NULL)
			return error_set(err, ONCE_INVALID,
					 "setting \"%s\" has no \"=\"; write "
					 "name=value",
					 options->settings[i]);
		settings->pairs[i] = strdup(options->settings[i]);
		if (settings->pairs[i] == NULL)
			return error_no_memory(err);
		settings->count++;
	}
	return ONCE_OK;
}

static bool is_sqlstate(const char *text)
{
	size_t size = strlen(text);

	return (size == 2 || size == 5) &&
	       strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == size;
}

static enum once_status copy_never(struct once_route *route,
				   const struct once_route_options *options,
				   struct once_error *err)
{
	route->never = calloc(options->never_count + 1, sizeof(*route->never));
	if (route->never == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < options->never_count; i++) {
		if (!is_sqlstate(options->never[i]))
			return error_set(
				err, ONCE_INVALID,
				"\"%s\" is not an SQLSTATE; write five "
				"characters like 23505, or two for a "
				"class like 22",
				options->never[i]);
		memcpy(route->never[i], options->never[i],
		       strlen(options->never[i]) + 1);
	}
	route->never_count = options->never_count;
	return ONCE_OK;
}

static enum once_status fill(struct once_route *route,
			     const struct once_route_options *options,
			     struct once_error *err)
{
	const char *msg_id = options->msg_id == NULL ? once__default_msg_id
						     : options->msg_id;
	enum once_status status;

	route->name = strdup(options->name);
	route->scope = strdup(options->scope);
	route->shared = calloc(1, sizeof(*route->shared));
	if (route->name == NULL || route->scope == NULL ||
	    route->shared == NULL)
		return error_no_memory(err);
	once__turns_init(&route->shared->turns);
	route->on_bad_key = options->on_bad_key;
	route->on_conflict = options->on_conflict;
	route->max_attempts = options->max_attempts;
	route->order = options->order;
	route->first_delay_ms = options->first_delay_ms;
	route->max_delay_ms = options->max_delay_ms;
	route->max_crashes = options->max_crashes;
	route->halt_after_dead = options->halt_after_dead;
	route->timeout_ms = options->timeout_ms;
	route->handler = options->handler;
	status = parse_key("msg_id", msg_id, &route->msg_id, err);
	if (status == ONCE_OK && options->biz_id != NULL)
		status = parse_key("biz_id", options->biz_id, &route->biz_id,
				   err);
	if (status == ONCE_OK)
		status = parse_fingerprint(route, options->fingerprint, err);
	if (status == ONCE_OK)
		status = copy_never(route, options, err);
	if (status == ONCE_OK)
		status = copy_settings(&route->settings, options, err);
	return status;
}

enum once_status once__route_compile(const struct once_route_options *options,
				     struct once_route **ret_route,
				     struct once_error *err)
{
	struct once_route *route = calloc(1, sizeof(*route));
	enum once_status status;

	if (route == NULL)
		return error_no_memory(err);
	status = fill(route, options, err);
	if (status != ONCE_OK) {
		once_route_destroy(route);
		return status;
	}
	*ret_route = route;
	return ONCE_OK;
}

enum once_status once_route_create(const struct once_route_options *options,
				   struct once_route **ret_route,
				   struct once_error *err)
{
	enum once_status status = check_handler(options->handler, err);

	return status == ONCE_OK ? once__route_compile(options, ret_route, err)
				 : status;
}

void once_route_destroy(struct once_route *route)
{
	if (route == NULL)
		return;
	for (size_t i = 0; i < route->settings.count; i++)
		free(route->settings.pairs[i]);
	free(route->settings.pairs);
	free(route->never);
	once__template_destroy(route->msg_id);
	once__template_destroy(route->biz_id);
	once__template_destroy(route->fingerprint);
	if (route->shared != NULL)
		once__turns_fini(&route->shared->turns);
	free(route->shared);
	free(route->scope);
	free(route->name);
	free(route);
}

int once_route_takes_turns(const struct once_route *route)
{
	return once__turns_are_on(&route->shared->turns, clock_ms());
}

const char *once_route_name(const struct once_route *route)
{
	return route->name;
}

bool once__route_never(const struct once_route *route, const char *sqlstate)
{
	for (size_t i = 0; i < route->never_count; i++)
		if (once__sqlstate_is(sqlstate, route->never[i]))
			return true;
	return false;
}

/* ---- keys ---- */

static enum once_status format_key(const char *which,
				   const struct once__template *template,
				   struct once__reading *reading,
				   struct once_bytes *ret_key,
				   struct once_error *err)
{
	const char *field = "";
	enum once__key_fault fault;

	if (template == NULL) {
		*ret_key = bytes_of(NULL, 0);
		return ONCE_OK;
	}
	fault = once__template_format(template, reading, ret_key, &field);
	if (fault == ONCE__KEY_OK)
		return ONCE_OK;
	if (fault == ONCE__KEY_NO_MEMORY)
		return error_no_memory(err);
	return error_set(err, ONCE_INVALID, "%s: %s %s", which, field,
			 once__key_fault_text(fault));
}

static bool find_compared(const struct once_route *route,
			  struct once__reading *reading,
			  struct once__compared *ret_compared)
{
	struct once_bytes value = reading->record->value;

	if (route->fingerprint != NULL)
		return once__template_compare(route->fingerprint, reading,
					      ret_compared);
	ret_compared->marks = bytes_of(value.data == NULL ? NULL : "", 0);
	ret_compared->text = value;
	return true;
}

static enum once_status make_fingerprint(const struct once_route *route,
					 struct once__reading *reading,
					 struct once_bytes *ret_fingerprint,
					 struct once_error *err)
{
	struct once__compared compared;
	unsigned char *digest;

	*ret_fingerprint = bytes_of(NULL, 0);
	if (!route->has_fingerprint)
		return ONCE_OK;
	digest = arena_take(reading->arena, ONCE__FINGERPRINT_SIZE);
	if (digest == NULL || !find_compared(route, reading, &compared))
		return error_no_memory(err);
	memcpy(digest, &route->fingerprint_kind, ONCE__FINGERPRINT_KIND_SIZE);
	once__hash128(compared.marks, compared.text,
		      digest + ONCE__FINGERPRINT_KIND_SIZE);
	*ret_fingerprint = bytes_of(digest, ONCE__FINGERPRINT_SIZE);
	return ONCE_OK;
}

enum once_status once__route_keys(const struct once_route *route,
				  struct once__reading *reading,
				  struct once__keys *ret_keys,
				  struct once_error *err)
{
	enum once_status status = format_key("msg_id", route->msg_id, reading,
					     &ret_keys->msg_id, err);

	if (status == ONCE_OK)
		status = format_key("biz_id", route->biz_id, reading,
				    &ret_keys->biz_id, err);
	if (status == ONCE_OK || status == ONCE_INVALID)
		if (make_fingerprint(route, reading, &ret_keys->fingerprint,
				     err) != ONCE_OK)
			return ONCE_TRANSIENT;
	return status;
}

/* Rows of earlier versions: every message that lacked a field of the template
 * had this one, which says nothing about it. Of kind "value" it is a
 * tombstone's. */
static bool is_of_nothing(const unsigned char *fingerprint)
{
	unsigned char nothing[ONCE__HASH128_SIZE];
	uint32_t value_kind = kind_of("value");

	if (memcmp(fingerprint, &value_kind, sizeof(value_kind)) == 0)
		return false;
	once__hash128(bytes_of(NULL, 0), bytes_of(NULL, 0), nothing);
	return memcmp(fingerprint + ONCE__FINGERPRINT_KIND_SIZE, nothing,
		      sizeof(nothing)) == 0;
}

bool once__fingerprints_differ(struct once_bytes a, struct once_bytes b)
{
	if (a.data == NULL || b.data == NULL ||
	    a.size != ONCE__FINGERPRINT_SIZE ||
	    b.size != ONCE__FINGERPRINT_SIZE)
		return false;
	if (memcmp(a.data, b.data, ONCE__FINGERPRINT_KIND_SIZE) != 0)
		return false;
	return memcmp(a.data, b.data, ONCE__FINGERPRINT_SIZE) != 0 &&
	       !is_of_nothing(a.data) && !is_of_nothing(b.data);
}
