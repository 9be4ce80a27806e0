/* What a program's sessions share: a table in memory, and a circuit. */
#include "prefilter.h"

#include "bytes.h"
#include "error.h"

#include <stdlib.h>
#include <string.h>

static enum once_status fill(struct once_prefilter *prefilter,
			     const struct once_prefilter_options *options,
			     struct once_error *err)
{
	prefilter->ttl_ms = options->redis_ttl_ms;
	prefilter->retention_ms = options->retention_ms;
	prefilter->pause = options->redis_pause;
	if (options->local_max_bytes > 0) {
		prefilter->marks = once__marks_create(options->local_max_bytes);
		if (prefilter->marks == NULL)
			return error_no_memory(err);
	}
	if (options->redis_url == NULL)
		return ONCE_OK;
	if (options->retention_ms >= 0 &&
	    options->redis_ttl_ms > options->retention_ms)
		return error_set(err, ONCE_INVALID,
				 "marks in Redis would outlive the rows that "
				 "they tell of; write a ttl of at most the "
				 "retention");
	return once__circuit_create(options->redis_url,
				    options->redis_timeout_ms,
				    &prefilter->circuit, err);
}

enum once_status once_prefilter_create(
	const struct once_prefilter_options *options,
	struct once_prefilter **ret_prefilter, struct once_error *err)
{
	struct once_prefilter *prefilter = calloc(1, sizeof(*prefilter));
	enum once_status status;

	if (prefilter == NULL)
		return error_no_memory(err);
	status = fill(prefilter, options, err);
	if (status != ONCE_OK) {
		once_prefilter_destroy(prefilter);
		return status;
	}
	*ret_prefilter = prefilter;
	return ONCE_OK;
}

void once_prefilter_destroy(struct once_prefilter *prefilter)
{
	if (prefilter == NULL)
		return;
	once__circuit_destroy(prefilter->circuit);
	once__marks_destroy(prefilter->marks);
	free(prefilter);
}

enum once_status once_prefilter_check(struct once_prefilter *prefilter,
				      struct once_error *err)
{
	struct once_bytes name = bytes_text("once:check");
	struct once_bytes value;
	struct once__circuit_view view;
	struct once__redis *redis;
	bool answered;

	if (prefilter->circuit == NULL)
		return ONCE_OK;
	redis = once__redis_create(prefilter->circuit);
	if (redis == NULL)
		return error_no_memory(err);
	answered = once__redis_get(redis, &name, 1, &value);
	once__redis_destroy(redis);
	once__circuit_get_view(prefilter->circuit, &view);
	return answered ? ONCE_OK
			: error_set(err, ONCE_TRANSIENT, "%s", view.trouble);
}

void once_prefilter_get_view(const struct once_prefilter *prefilter,
			     struct once_prefilter_view *ret_view)
{
	struct once__circuit_view circuit = { 0 };

	if (prefilter->circuit != NULL)
		once__circuit_get_view(prefilter->circuit, &circuit);
	ret_view->redis_open = circuit.open;
	ret_view->redis_errors = circuit.errors;
	memcpy(ret_view->redis_trouble, circuit.trouble,
	       sizeof(circuit.trouble));
}

int64_t once__prefilter_life_ms(const struct once_prefilter *prefilter,
				int64_t age_ms)
{
	if (prefilter->retention_ms < 0)
		return -1;
	return age_ms < prefilter->retention_ms
		       ? prefilter->retention_ms - age_ms
		       : 0;
}
