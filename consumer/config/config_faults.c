/* Faults are found section by section and option by option; a person reads them
 * from the top of the file, so they are kept and sorted before they are told.
 */
#include "config_faults.h"

#include "bytes.h"
#include "readable.h"

#include <stdarg.h>
#include <stdlib.h>

enum {
	TEXT_SIZE = 1024
};

static struct fault *grow(struct faults *faults)
{
	struct fault *grown;

	/* Doubled at each power of two; 0 and 1 are among them. */
	if ((faults->count & (faults->count - 1)) != 0)
		return &faults->items[faults->count];
	grown = realloc(faults->items,
			(faults->count * 2 + 1) * sizeof(*faults->items));
	if (grown == NULL)
		return NULL;
	faults->items = grown;
	return &faults->items[faults->count];
}

ONCE_PRINTF(4, 0)
static void keep(struct faults *faults, struct place place, bool warning,
		 const char *fmt, va_list args)
{
	struct fault *fault;
	char *text;

	faults->errors += !warning;
	if (faults->count >= FAULTS_KEPT) {
		faults->unshown += !warning;
		return;
	}
	fault = grow(faults);
	text = malloc(TEXT_SIZE);
	if (fault == NULL || text == NULL) {
		faults->broken = true;
		free(text);
		return;
	}
	vsnprintf(text, TEXT_SIZE, fmt, args);
	*fault = (struct fault){ .place = place,
				 .number = faults->count,
				 .warning = warning,
				 .text = text };
	faults->count++;
}

void faults_add(struct faults *faults, struct place place, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	keep(faults, place, false, fmt, args);
	va_end(args);
}

void faults_warn(struct faults *faults, struct place place, const char *fmt,
		 ...)
{
	va_list args;

	va_start(args, fmt);
	keep(faults, place, true, fmt, args);
	va_end(args);
}

bool faults_are_many(const struct faults *faults)
{
	return faults->count >= FAULTS_KEPT;
}

bool faults_refuse(const struct faults *faults)
{
	return faults->errors > 0 || faults->broken;
}

static int compare(const void *left, const void *right)
{
	const struct fault *a = left;
	const struct fault *b = right;

	if (a->place.line != b->place.line)
		return a->place.line < b->place.line ? -1 : 1;
	if (a->place.column != b->place.column)
		return a->place.column < b->place.column ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void write_fault(const struct fault *fault, const char *path, FILE *out)
{
	scoped_text struct text shown = { 0 };

	fputs(path, out);
	if (fault->place.line > 0)
		fprintf(out, ":%d:%d", fault->place.line, fault->place.column);
	fputs(fault->warning ? ": warning: " : ": ", out);
	readable_add(&shown, bytes_text(fault->text), READABLE_WHOLE);
	fprintf(out, "%s\n", shown.data == NULL ? "" : shown.data);
}

void faults_write(struct faults *faults, const char *path, FILE *out)
{
	size_t shown = 0;
	size_t more;

	if (faults->count > 0)
		qsort(faults->items, faults->count, sizeof(*faults->items),
		      compare);
	for (size_t i = 0; i < faults->count && shown < FAULTS_SHOWN; i++) {
		write_fault(&faults->items[i], path, out);
		shown++;
	}
	more = faults->count - shown + faults->unshown;
	if (more > 0)
		fprintf(out, "%s: and %zu more\n", path, more);
	if (faults->broken)
		fprintf(out, "%s: out of memory\n", path);
}

void faults_fini(struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		free(faults->items[i].text);
	free(faults->items);
	*faults = (struct faults){ 0 };
}
