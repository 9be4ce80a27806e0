/*
 * A secret put anywhere into a conninfo, which is the input: it goes where the
 * first 0x01 stands, else to the end. If libpq takes it as a part of a
 * password, it isn't shown; in our own words it never is.
 */
#include "config_secret.h"
#include "pg_conninfo.h"

#include <libpq-fe.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[] = "ZqJxWv";

static void require(int truth)
{
	if (!truth)
		abort();
}

static char *put_secret(const uint8_t *data, size_t size)
{
	const uint8_t *at = size == 0 ? NULL : memchr(data, 1, size);
	size_t before = at == NULL ? size : (size_t)(at - data);
	size_t skip = at == NULL ? 0 : 1;
	char *text = calloc(size + sizeof(secret), 1);

	require(text != NULL);
	if (before > 0)
		memcpy(text, data, before);
	memcpy(text + before, secret, sizeof(secret) - 1);
	if (size > before + skip)
		memcpy(text + before + sizeof(secret) - 1, data + before + skip,
		       size - before - skip);
	return text;
}

static bool has_secret(const char *text)
{
	return text != NULL && strstr(text, secret) != NULL;
}

static bool is_password(const char *conninfo)
{
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	bool found = false;

	for (const PQconninfoOption *option = options;
	     option != NULL && option->keyword != NULL; option++)
		found |= (strcmp(option->keyword, "password") == 0 ||
			  strcmp(option->keyword, "sslpassword") == 0) &&
			 has_secret(option->val);
	PQconninfoFree(options);
	return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *conninfo = put_secret(data, size);
	struct once_error err = { 0 };
	struct text shown = { 0 };

	if (strstr(strstr(conninfo, secret) == NULL
			   ? ""
			   : strstr(conninfo, secret) + 1,
		   secret) == NULL) {
		secret_redact_conninfo(&shown, conninfo);
		if (is_password(conninfo))
			require(!has_secret(shown.data));
		if (once__pg_conninfo_check(conninfo, &err) != ONCE_OK)
			require(err.text[0] != '\0' && !has_secret(err.text));
		text_fini(&shown);
	}
	free(conninfo);
	return 0;
}
