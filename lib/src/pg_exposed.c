/* Does a password or a row go over a network where somebody could read it, or
 * pose as the server? libpq's own default asks for encryption and takes
 * whatever it gets, so only sslmode=verify-full is protection. */
#include <libpq-fe.h>
#include <once/once.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool begins(const char *text, size_t size, const char *prefix)
{
	size_t length = strlen(prefix);

	return size >= length && strncmp(text, prefix, length) == 0;
}

/* A socket's directory, or this machine. */
static bool is_local(const char *host, size_t size)
{
	return size == 0 || *host == '/' || *host == '@' ||
	       begins(host, size, "127.") ||
	       (size == 3 && begins(host, size, "::1")) ||
	       (size == 9 && begins(host, size, "localhost"));
}

static bool are_local(const char *hosts)
{
	while (true) {
		size_t size = strcspn(hosts, ",");

		if (!is_local(hosts, size))
			return false;
		if (hosts[size] == '\0')
			return true;
		hosts += size + 1;
	}
}

/* "": nowhere set. */
static const char *value_of(const PQconninfoOption *given,
			    const PQconninfoOption *usual, const char *name)
{
	const PQconninfoOption *const lists[] = { given, usual };

	for (size_t i = 0; i < 2; i++)
		for (const PQconninfoOption *at = lists[i];
		     at != NULL && at->keyword != NULL; at++)
			if (strcmp(at->keyword, name) == 0 && at->val != NULL &&
			    at->val[0] != '\0')
				return at->val;
	return "";
}

/* What isn't one is refused later, and may be a part of a password. */
static bool is_mode(const char *sslmode)
{
	static const char *const modes[] = { "disable", "allow", "prefer",
					     "require", "verify-ca" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(sslmode, modes[i]) == 0)
			return true;
	return false;
}

int once_conninfo_is_exposed(const char *conninfo, char *ret_sslmode,
			     size_t size)
{
	PQconninfoOption *given = PQconninfoParse(conninfo, NULL);
	PQconninfoOption *usual = PQconndefaults();
	const char *hosts = value_of(given, usual, "hostaddr");
	const char *sslmode = value_of(given, usual, "sslmode");
	bool is_exposed;

	if (hosts[0] == '\0')
		hosts = value_of(given, usual, "host");
	snprintf(ret_sslmode, size, "%s", is_mode(sslmode) ? sslmode : "");
	is_exposed =
		!are_local(hosts) && strcmp(sslmode, "verify-full") != 0 &&
		strcmp(value_of(given, usual, "gssencmode"), "require") != 0;
	PQconninfoFree(usual);
	PQconninfoFree(given);
	return is_exposed;
}
