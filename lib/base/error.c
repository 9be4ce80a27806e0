/* Errors live in the caller's frame, so running out of memory can be told. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum once_status error_set(struct once_error *err, enum once_status status,
			   const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return status;
	err->status = status;
	err->sqlstate[0] = '\0';
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return status;
}

enum once_status error_no_memory(struct once_error *err)
{
	return error_set(err, ONCE_TRANSIENT, "out of memory");
}

void error_prefix(struct once_error *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list args;
	size_t used;

	if (err == NULL)
		return;
	memcpy(text, err->text, sizeof(text));
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", text);
}

void error_clear(struct once_error *err)
{
	err->status = ONCE_OK;
	err->sqlstate[0] = '\0';
	err->text[0] = '\0';
}
