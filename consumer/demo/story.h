/*
 * story.h - the demo from its first message to its verdict.
 *
 * Threads: main.
 */
#ifndef ONCED_STORY_H
#define ONCED_STORY_H

#include <once/types.h>
#include <stdbool.h>

/* `ret_is_good`: each refund took effect once. TRANSIENT: it couldn't be told
 * to its end, or we were told to stop. CONFIG: something isn't installed. */
enum once_status story_tell(bool *ret_is_good,
			    struct once_error *err) ONCE_MUST_CHECK;

#endif
