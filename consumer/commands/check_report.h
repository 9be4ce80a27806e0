/*
 * check_report.h - what `onced check` has found: for people as it is found, for
 * scripts as one object at the end.
 *
 *	{"exit":78,"findings":[{"part":"kafka","severity":"error",
 *	"text":"…","exit":1}]}
 */
#ifndef ONCED_CHECK_REPORT_H
#define ONCED_CHECK_REPORT_H

#include "exit_codes.h"
#include "text.h"

#include <stdbool.h>

/* All zero but for `json` at first. */
struct check_report {
	bool json;
	struct text findings;
	bool codes[EXIT_CODE_CONFIG + 1]; /* that a finding has */
	size_t errors;
};

/* Of a part ("kafka"), if `errors_before` of the report are still all. */
void check_report_good(struct check_report *report, const char *part,
		       size_t errors_before);
/* EXIT_CODE_OK: a warning. */
void check_report_add(struct check_report *report, const char *part,
		      enum exit_code code, const char *text);
/* The same of lines that say themselves which file they are about. Those of the
 * file at `path` may say that they are warnings; NULL: none is one. */
void check_report_add_lines(struct check_report *report, const char *part,
			    enum exit_code code, const char *path,
			    const char *lines);
/* Print the object, if it is wanted; the exit code. */
enum exit_code check_report_end(struct check_report *report);

#endif
