/* similar.h - "did you mean". */
#ifndef ONCE_SIMILAR_H
#define ONCE_SIMILAR_H

#include <stddef.h>

/* Start with { .word = … }, offer candidates, read `best`. All borrowed. */
struct similar {
	const char *word;
	const char *best; /* NULL: nothing offered is near */
	size_t distance;
};

/* Near: one edit (insert, delete, change, swap of neighbours) for each three
 * characters of the word, at least one; case doesn't count. */
void similar_offer(struct similar *similar, const char *candidate);

#endif
