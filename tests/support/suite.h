/* suite.h - a test program: one Check suite. */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>

/* Run and destroy it; what main() returns. */
int suite_run(Suite *suite);

#endif
