/* Lines are flushed one by one: whoever interrupts a check has what was found.
 * What is good goes to stdout and what isn't to stderr, but for JSON. */
#include "check_report.h"

#include "bytes.h"
#include "readable.h"

#include <stdio.h>
#include <string.h>

void check_report_good(struct check_report *report, const char *part,
		       size_t errors_before)
{
	if (report->json || report->errors > errors_before)
		return;
	printf("%-9s good\n", part);
	fflush(stdout);
}

static void add_member(struct text *json, const char *name, const char *value)
{
	text_addf(json, "\"%s\":", name);
	text_add_json(json, bytes_text(value));
	text_adds(json, ",");
}

static void note(struct check_report *report, const char *part,
		 enum exit_code code, const char *text)
{
	struct text *json = &report->findings;

	report->codes[code] = true;
	report->errors += code != EXIT_CODE_OK;
	if (json->size > 0)
		text_adds(json, ",");
	text_adds(json, "{");
	add_member(json, "part", part);
	add_member(json, "severity",
		   code == EXIT_CODE_OK ? "warning" : "error");
	add_member(json, "text", text);
	text_addf(json, "\"exit\":%d}", (int)code);
}

/* A server may have written it. */
static void show(const char *before, const char *text)
{
	scoped_text struct text line = { 0 };

	text_adds(&line, before);
	readable_add(&line, bytes_text(text), READABLE_WHOLE);
	if (!line.broken)
		fprintf(stderr, "%s\n", line.data);
}

void check_report_add(struct check_report *report, const char *part,
		      enum exit_code code, const char *text)
{
	char before[64];

	note(report, part, code, text);
	snprintf(before, sizeof(before), "%s: %s", part,
		 code == EXIT_CODE_OK ? "warning: " : "");
	if (!report->json)
		show(before, text);
}

/* "path:12:3: warning: …", or without a place; what is behind may be anything.
 */
static bool is_warning(const char *line, const char *path)
{
	static const char mark[] = " warning: ";
	size_t size = path == NULL ? 0 : strlen(path);

	if (path == NULL || strncmp(line, path, size) != 0)
		return false;
	line += size + strspn(line + size, ":0123456789");
	return line[-1] == ':' && strncmp(line, mark, strlen(mark)) == 0;
}

static void add_line(struct check_report *report, const char *part,
		     enum exit_code code, const char *path, const char *line,
		     size_t size)
{
	scoped_text struct text text = { 0 };

	text_add(&text, line, size);
	if (text.data == NULL || text.broken)
		return;
	if (is_warning(text.data, path))
		code = EXIT_CODE_OK;
	note(report, part, code, text.data);
	if (!report->json)
		show("", text.data);
}

void check_report_add_lines(struct check_report *report, const char *part,
			    enum exit_code code, const char *path,
			    const char *lines)
{
	while (*lines != '\0') {
		size_t size = strcspn(lines, "\n");

		if (size > 0)
			add_line(report, part, code, path, lines, size);
		lines += size + (lines[size] == '\n');
	}
}

/* The gravest: what a service manager should not restart on, before what a
 * person has to look at, before what may pass by itself. */
static enum exit_code code_of(const struct check_report *report)
{
	static const enum exit_code codes[] = {
		EXIT_CODE_BUG,
		EXIT_CODE_CONFIG,
		EXIT_CODE_FOUND,
		EXIT_CODE_NO_SERVER,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (report->codes[codes[i]])
			return codes[i];
	return EXIT_CODE_OK;
}

enum exit_code check_report_end(struct check_report *report)
{
	enum exit_code code = code_of(report);

	if (report->findings.broken)
		code = EXIT_CODE_BUG;
	if (report->json)
		printf("{\"exit\":%d,\"findings\":[%s]}\n", (int)code,
		       report->findings.size == 0 || report->findings.broken
			       ? ""
			       : report->findings.data);
	text_fini(&report->findings);
	return code;
}
