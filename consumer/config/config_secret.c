/*
 * Names that tell a secret, and the two forms of libpq's connection string.
 * What libpq wouldn't understand is hidden whole: a misplaced quote must not
 * push a password into a place where nobody looks for one.
 */
#include "config_secret.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char hidden[] = "(set)";

bool secret_name(const char *name)
{
	static const char *const parts[] = { "password",   "passwd",
					     "secret",     "key",
					     "pem",        "token",
					     "credential", "oauthbearer.config",
					     "sasl.jaas" };

	for (; *name != '\0'; name++)
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			if (strncasecmp(name, parts[i], strlen(parts[i])) == 0)
				return true;
	return false;
}

bool secret_value(const char *value)
{
	return strpbrk(value, "@=") != NULL;
}

/* The end of a keyword's value, after its quotes; NULL: a quote is open. */
static const char *value_end(const char *at)
{
	bool quoted = *at == '\'';

	for (at += quoted; *at != '\0'; at++) {
		if (*at == '\\' && at[1] != '\0')
			at++;
		else if (quoted && *at == '\'')
			return at + 1;
		else if (!quoted && isspace((unsigned char)*at))
			return at;
	}
	return quoted ? NULL : at;
}

static const char *skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* Parameters that tell where and who; all others are hidden. A dbname can hold
 * a whole connection string of its own. */
static bool is_shown(const char *name, size_t size, const char *value,
		     size_t value_size)
{
	static const char *const shown[] = { "host",   "hostaddr", "port",
					     "user",   "dbname",   "sslmode",
					     "service" };

	if (memchr(value, '=', value_size) != NULL ||
	    memchr(value, '@', value_size) != NULL)
		return false;
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (strlen(shown[i]) == size &&
		    memcmp(shown[i], name, size) == 0)
			return true;
	return false;
}

static bool add_keywords(struct text *text, const char *at)
{
	const char *between = "";

	for (at = skip_space(at); *at != '\0'; at = skip_space(at)) {
		const char *name = at;
		size_t size = strcspn(at, "= \t\r\n\f\v");
		const char *value = skip_space(at + size);

		if (*value != '=')
			return false;
		value = skip_space(value + 1);
		at = value_end(value);
		if (at == NULL)
			return false;
		text_addf(text, "%s%.*s=", between, (int)size, name);
		between = " ";
		if (is_shown(name, size, value, (size_t)(at - value)))
			text_add(text, value, (size_t)(at - value));
		else
			text_adds(text, hidden);
	}
	return true;
}

/* scheme://user:password@host/name?parameters; `url` has its "://". */
static bool add_url(struct text *text, const char *url)
{
	const char *start = strstr(url, "://") + 3;
	const char *end = start + strcspn(start, "?");
	const char *host = strrchr(start, '@');
	const char *colon;

	if (host != NULL && host > end)
		return false;
	text_add(text, url, (size_t)(start - url));
	if (host != NULL) {
		colon = memchr(start, ':', (size_t)(host - start));
		text_add(text, start,
			 (size_t)((colon == NULL ? host : colon) - start));
		text_adds(text, colon == NULL ? "" : ":(set)");
		start = host;
	}
	text_add(text, start, (size_t)(end - start));
	if (*end != '\0')
		text_addf(text, "?%s", hidden);
	return true;
}

/* Whatever its scheme and its case: not all that reads it cares. */
static bool is_url(const char *text)
{
	size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ+");

	return scheme > 0 && strncmp(text + scheme, "://", 3) == 0;
}

void secret_redact_conninfo(struct text *text, const char *conninfo)
{
	size_t before = text->size;

	if (is_url(conninfo) ? add_url(text, conninfo)
			     : add_keywords(text, conninfo))
		return;
	text->size = before;
	text_adds(text, hidden);
}
