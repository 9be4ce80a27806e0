/*
 * test_marks.c - the table in memory: it may forget, but what it tells of a key
 * was put under that key, whole.
 */
#include "marks.h"
#include "suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	SMALL_BYTES = 16 * 1024,
	COUNT_THREADS = 4,
	ROUNDS = 200000,
	COUNT_KEYS = 2000
};

static struct once__marks *marks;

static struct once__digest digest_of(uint64_t number)
{
	struct once__digest digest;

	once__digest_of(7, (struct once_bytes){ &number, sizeof(number) },
			&digest);
	return digest;
}

/* All of it is made of the key's number and the version. */
static struct once__mark mark_of(uint64_t number, uint64_t version)
{
	struct once__mark mark = {
		.tenure = (int64_t)(number + version) + 1,
		.offset = (int64_t)version,
		.other = number ^ version,
		.has_fingerprint = version % 2 != 0,
		.has_result = version % 3 == 0,
	};

	memset(mark.fingerprint, (int)(version % 251),
	       sizeof(mark.fingerprint));
	return mark;
}

static void put(uint64_t number, uint64_t version, int64_t life_ms)
{
	struct once__digest digest = digest_of(number);
	struct once__mark mark = mark_of(number, version);

	once__marks_put(marks, &digest, &mark, life_ms);
}

/* true: nothing, or what was put. */
static bool is_whole(uint64_t number, bool *ret_found)
{
	struct once__digest digest = digest_of(number);
	struct once__mark mark = { 0 };
	struct once__mark wanted;

	*ret_found = once__marks_find(marks, &digest, &mark);
	if (!*ret_found)
		return true;
	wanted = mark_of(number, (uint64_t)mark.offset);
	return mark.tenure == wanted.tenure && mark.other == wanted.other &&
	       mark.has_fingerprint == wanted.has_fingerprint &&
	       mark.has_result == wanted.has_result &&
	       memcmp(mark.fingerprint, wanted.fingerprint,
		      sizeof(mark.fingerprint)) == 0;
}

static bool finds(uint64_t number)
{
	bool found;

	ck_assert(is_whole(number, &found));
	return found;
}

static void set_up(void)
{
	marks = once__marks_create(SMALL_BYTES);
	ck_assert_ptr_nonnull(marks);
}

static void tear_down(void)
{
	once__marks_destroy(marks);
}

START_TEST(a_full_table_forgets_and_never_mixes_up)
{
	size_t found = 0;

	for (uint64_t i = 0; i < COUNT_KEYS; i++)
		put(i, i, -1);
	for (uint64_t i = 0; i < COUNT_KEYS; i++)
		found += finds(i);
	ck_assert_uint_gt(found, once__marks_capacity(marks) / 2);
	ck_assert_uint_le(found, once__marks_capacity(marks));
	ck_assert(finds(COUNT_KEYS - 1));
}
END_TEST

START_TEST(what_is_put_again_is_what_is_found)
{
	struct once__digest digest = digest_of(1);
	struct once__mark mark;

	put(1, 5, -1);
	put(1, 6, -1);
	ck_assert(once__marks_find(marks, &digest, &mark));
	ck_assert_int_eq(mark.offset, 6);
}
END_TEST

START_TEST(what_has_less_than_a_second_to_live_is_not_believed)
{
	put(1, 1, 0);
	put(2, 2, 999);
	put(3, 3, 3600000);
	put(4, 4, INT64_MAX / 2);
	ck_assert(!finds(1));
	ck_assert(!finds(2));
	ck_assert(finds(3));
	ck_assert(finds(4));
	put(3, 3, 0);
	ck_assert(!finds(3));
}
END_TEST

START_TEST(what_is_looked_at_outlives_what_is_not)
{
	put(0, 0, -1);
	for (uint64_t i = 1; i < COUNT_KEYS; i++) {
		ck_assert(finds(0));
		put(i, i, -1);
	}
}
END_TEST

static atomic_uint broken;

static void *put_and_find(void *arg)
{
	uint64_t dice = *(const uint64_t *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		bool found;

		dice = dice * 6364136223846793005u + 1442695040888963407u;
		if (dice >> 63 != 0)
			put(dice >> 33 & 255, dice >> 45 & 1023, -1);
		else if (!is_whole(dice >> 33 & 255, &found))
			broken++;
	}
	return NULL;
}

START_TEST(threads_see_marks_whole)
{
	static uint64_t seeds[COUNT_THREADS] = { 1, 2, 3, 4 };
	pthread_t threads[COUNT_THREADS];

	for (int i = 0; i < COUNT_THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, put_and_find,
						&seeds[i]),
				 0);
	for (int i = 0; i < COUNT_THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(broken, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("marks");
	TCase *tcase = tcase_create("marks");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_full_table_forgets_and_never_mixes_up);
	tcase_add_test(tcase, what_is_put_again_is_what_is_found);
	tcase_add_test(tcase,
		       what_has_less_than_a_second_to_live_is_not_believed);
	tcase_add_test(tcase, what_is_looked_at_outlives_what_is_not);
	tcase_add_test(tcase, threads_see_marks_whole);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
