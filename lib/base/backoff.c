/* Full jitter: anything up to the whole wait, which doubles each time. It
 * spreads the herd best; a small floor keeps the lucky from hammering. */
#include "backoff.h"

#include <stdlib.h>
#include <sys/random.h>

enum {
	FLOOR_SHARE = 10
};

static uint32_t draw(void)
{
	uint32_t drawn = 0;

	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(drawn))
		return UINT32_MAX / 2;
	return drawn;
}

int64_t backoff_ms(unsigned attempt, int64_t first_ms, int64_t max_ms)
{
	int64_t whole = first_ms;
	int64_t floor;

	for (unsigned i = 1; i < attempt && whole < max_ms; i++)
		whole *= 2;
	if (whole > max_ms)
		whole = max_ms;
	floor = whole / FLOOR_SHARE;
	floor = floor == 0 ? 1 : floor;
	return floor +
	       (int64_t)((double)draw() / UINT32_MAX * (double)(whole - floor));
}
