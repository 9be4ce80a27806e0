/* The distance is the smallest number of single edits between two words,
 * counted row by row; a swap of neighbours looks two rows back, so three are
 * kept. */
#include "similar.h"

#include <ctype.h>
#include <string.h>

enum {
	LONGEST = 64
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t cell(size_t rows[3][LONGEST + 1], const char *a, const char *b,
		   size_t i, size_t j)
{
	const size_t *above = rows[(i + 2) % 3];
	size_t change = above[j - 1] + !same(a[i - 1], b[j - 1]);
	size_t cost = least(least(above[j], rows[i % 3][j - 1]) + 1, change);

	if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
	    same(a[i - 2], b[j - 1]))
		cost = least(cost, rows[(i + 1) % 3][j - 2] + 1);
	return cost;
}

static size_t distance(const char *a, size_t a_size, const char *b,
		       size_t b_size)
{
	size_t rows[3][LONGEST + 1];

	for (size_t j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		rows[i % 3][0] = i;
		for (size_t j = 1; j <= b_size; j++)
			rows[i % 3][j] = cell(rows, a, b, i, j);
	}
	return rows[a_size % 3][b_size];
}

void similar_offer(struct similar *similar, const char *candidate)
{
	size_t word_size = strlen(similar->word);
	size_t candidate_size = strlen(candidate);
	size_t limit = word_size < 6 ? 1 : word_size / 3;
	size_t found;

	if (word_size > LONGEST || candidate_size > LONGEST ||
	    word_size > candidate_size + limit ||
	    candidate_size > word_size + limit)
		return;
	found = distance(similar->word, word_size, candidate, candidate_size);
	if (found > limit)
		return;
	if (similar->best != NULL && similar->distance <= found)
		return;
	similar->best = candidate;
	similar->distance = found;
}
