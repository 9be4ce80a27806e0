/* Half of the wait is fixed and half is drawn: a floor keeps a failing server
 * from being hammered, the rest spreads the herd. */
#include "backoff.h"

#include <stdlib.h>
#include <sys/random.h>

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
	int64_t half;

	for (unsigned i = 1; i < attempt && whole < max_ms; i++)
		whole *= 2;
	if (whole > max_ms)
		whole = max_ms;
	half = whole / 2;
	return whole - half +
	       (int64_t)((double)draw() / UINT32_MAX * (double)half);
}
