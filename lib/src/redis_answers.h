/* redis_answers.h - reads what a Redis answers. The one place that knows
 * hiredis, of which it uses the reader. */
#ifndef ONCE__REDIS_ANSWERS_H
#define ONCE__REDIS_ANSWERS_H

#include <once/types.h>
#include <stdbool.h>

struct once__answers;

/* For one connection. NULL: no memory. */
struct once__answers *once__answers_create(void);
void once__answers_destroy(struct once__answers *answers);

/* A command was sent whose answer must be OK. Drops the values. */
void once__answers_expect_ok(struct once__answers *answers);
/* MGET of so many keys was sent, which is the last until it is answered. */
void once__answers_expect_values(struct once__answers *answers, size_t count);
size_t once__answers_owed(const struct once__answers *answers);

/* What has come. False: it isn't what was expected, the text says what. */
bool once__answers_feed(struct once__answers *answers, const void *data,
			size_t size) ONCE_MUST_CHECK;
const char *once__answers_fault(const struct once__answers *answers);

/* With nothing owed, after expect_values(): as many as were asked for. Borrowed
 * until something is expected. */
void once__answers_get_values(const struct once__answers *answers,
			      struct once_bytes *ret_values);

#endif
