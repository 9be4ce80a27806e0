/*
 * marked.h - a trial whose messages come from one partition, so that prefilters
 * are told of them; given one at a time.
 */
#ifndef TEST_MARKED_H
#define TEST_MARKED_H

#include "trial.h"

struct marked {
	struct trial trial;
	struct once_strand strand;
	struct mail mail; /* one message: the last */
};

/* As trial_init(), then a prefilter and a session that knows it. `options`
 * NULL: a local one of 1 MiB. */
void marked_init(struct marked *marked, const struct once_route_options *route,
		 const struct once_prefilter_options *options);
void marked_fini(struct marked *marked);

/* Another process starts where the last one was: a prefilter and a session of
 * its own. */
void marked_restart(struct marked *marked,
		    const struct once_prefilter_options *options);
/* Take the partition, as a new reader does. */
void marked_take(struct marked *marked);

/* The next message; its item lives until the following one. */
const struct once_item *marked_give(struct marked *marked, const char *id,
				    const char *biz, const char *value);
/* The same with something other than OK expected. */
const struct once_item *marked_give_expect(struct marked *marked,
					   const char *id, const char *biz,
					   const char *value,
					   enum once_status expected);

#define ck_stopped_by(item, expected_ending, expected_stage, expected_kind) \
	do { \
		const struct once_item *stopped = (item); \
		ck_ending(*stopped, expected_ending); \
		ck_assert_str_eq(once_stage_word(stopped->stage), \
				 once_stage_word(expected_stage)); \
		ck_assert_str_eq(once_key_kind_word(stopped->key_kind), \
				 once_key_kind_word(expected_kind)); \
	} while (0)

#endif
