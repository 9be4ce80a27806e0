/*
 * Any bytes as the answers of a Redis, whole and in pieces: the judgement is
 * the same, and what was asked for is what is got. The first three bytes say
 * how many OKs are owed, how many values, and how large the pieces are.
 */
#include "redis_answers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 3
#define VALUES_MAX 7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static struct once__answers *create(const uint8_t *head)
{
	struct once__answers *answers = once__answers_create();

	require(answers != NULL);
	for (int i = 0; i < head[0] % 4; i++)
		once__answers_expect_ok(answers);
	if (head[1] % (VALUES_MAX + 1) > 0)
		once__answers_expect_values(answers,
					    head[1] % (VALUES_MAX + 1));
	return answers;
}

static bool feed(struct once__answers *answers, const uint8_t *data,
		 size_t size, size_t piece)
{
	size_t more;

	for (; size > 0; data += more, size -= more) {
		more = size < piece ? size : piece;
		if (!once__answers_feed(answers, data, more))
			return false;
	}
	return true;
}

static void check_values(const struct once__answers *answers, uint8_t count)
{
	struct once_bytes values[VALUES_MAX];
	unsigned sum = 0;

	if (count == 0 || once__answers_owed(answers) > 0)
		return;
	once__answers_get_values(answers, values);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < values[i].size; j++)
			sum += ((const unsigned char *)values[i].data)[j];
	require(sum < UINT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct once__answers *whole;
	struct once__answers *pieces;
	bool good;

	if (size <= HEAD)
		return 0;
	whole = create(data);
	pieces = create(data);
	good = feed(whole, data + HEAD, size - HEAD, size);
	require(feed(pieces, data + HEAD, size - HEAD, data[2] % 16 + 1U) ==
		good);
	require(once__answers_owed(whole) == once__answers_owed(pieces));
	require(strcmp(once__answers_fault(whole),
		       once__answers_fault(pieces)) == 0);
	require(good == (once__answers_fault(whole)[0] == '\0'));
	if (good)
		check_values(pieces, data[1] % (VALUES_MAX + 1));
	once__answers_destroy(whole);
	once__answers_destroy(pieces);
	return 0;
}
