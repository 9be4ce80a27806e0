/* backoff.h - how long to wait before the next try: exponential, with full
 * jitter, so that many who failed together don't return together. */
#ifndef ONCE_BACKOFF_H
#define ONCE_BACKOFF_H

#include <stdint.h>

/* Before try number `attempt` + 1: between a tenth and the whole of
 * min(max_ms, first_ms * 2^(attempt - 1)). Never 0 for a positive first_ms. */
int64_t backoff_ms(unsigned attempt, int64_t first_ms, int64_t max_ms);

#endif
