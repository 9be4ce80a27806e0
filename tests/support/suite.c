/* suite.c - running one Check suite. CK_RUN_CASE, CK_FORK=no and the other
 * variables of Check work. */
#include "suite.h"

int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
