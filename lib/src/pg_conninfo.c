/*
 * pg_conninfo.c - a conninfo before libpq connects with it.
 *
 * The idea: libpq quotes the values that it refuses. In a URL whose password
 * has an unescaped @, : or /, such a value is a part of the password, and the
 * error goes into logs and pages. So whatever libpq would refuse without asking
 * a server (connectOptions2() in fe-connect.c) is refused here first, without
 * the value. It wouldn't get better by waiting, either.
 */
#include "pg_conninfo.h"

#include "error.h"

#include <ctype.h>
#include <libpq-fe.h>
#include <limits.h>
#include <netdb.h>
#include <once/once.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char encode_text[] =
	"in a URL, write characters such as @ : / ? # % in a user or password "
	"as %40 %3A %2F %3F %23 %25";

/* One of a list with commas. */
typedef bool is_good_f(const char *text, size_t size);

static bool is_host(const char *text, size_t size)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:%";

	/* The folder of a socket, or an abstract one. */
	if (size > 0 && (text[0] == '/' || text[0] == '@'))
		return true;
	return strspn(text, allowed) >= size;
}

static bool is_address(const char *text, size_t size)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	char address[80];

	if (size == 0)
		return true;
	if (size >= sizeof(address))
		return false;
	memcpy(address, text, size);
	address[size] = '\0';
	if (getaddrinfo(address, NULL, &hints, &found) != 0)
		return false;
	freeaddrinfo(found);
	return true;
}

/* As libpq reads numbers: blanks around it are fine. */
static bool is_number(const char *text, size_t size, long long min,
		      long long max)
{
	char *end;
	long long number;

	if (size == 0)
		return true;
	number = strtoll(text, &end, 10);
	if (end == text || number < min || number > max)
		return false;
	while (end < text + size && isspace((unsigned char)*end))
		end++;
	return end == text + size;
}

static bool is_port(const char *text, size_t size)
{
	return is_number(text, size, 1, 65535);
}

static bool is_integer(const char *text, size_t size)
{
	return is_number(text, size, INT_MIN, INT_MAX);
}

/* Which kind of value a parameter has, and what to write. A newer libpq may
 * know more parameters; those aren't looked at. */
/* clang-format off */
static const struct rule {
	const char *keyword;
	is_good_f *is_good; /* NULL: one of the words */
	const char *what;   /* the words, or what to write */
} rules[] = {
	{ "host", is_host, "the name of a host, or the folder of a socket" },
	{ "hostaddr", is_address, "a numeric address" },
	{ "port", is_port, "a number from 1 to 65535" },
	{ "connect_timeout", is_integer, "a whole number" },
	{ "keepalives", is_integer, "a whole number" },
	{ "keepalives_idle", is_integer, "a whole number" },
	{ "keepalives_interval", is_integer, "a whole number" },
	{ "keepalives_count", is_integer, "a whole number" },
	{ "tcp_user_timeout", is_integer, "a whole number" },
	{ "sslmode", NULL,
	  "disable, allow, prefer, require, verify-ca, verify-full" },
	{ "sslnegotiation", NULL, "postgres, direct" },
	{ "sslcertmode", NULL, "disable, allow, require" },
	{ "channel_binding", NULL, "disable, prefer, require" },
	{ "gssencmode", NULL, "disable, prefer, require" },
	{ "load_balance_hosts", NULL, "disable, random" },
	{ "target_session_attrs", NULL,
	  "any, read-write, read-only, primary, standby, prefer-standby" },
	{ "ssl_min_protocol_version", NULL, "TLSv1, TLSv1.1, TLSv1.2, TLSv1.3" },
	{ "ssl_max_protocol_version", NULL, "TLSv1, TLSv1.1, TLSv1.2, TLSv1.3" },
};
/* clang-format on */

/* Case counts in all words but the versions of TLS, of which none is fine too.
 */
static bool is_word(const char *words, const char *text)
{
	bool is_tls = strncmp(words, "TLS", 3) == 0;
	size_t size = strlen(text);

	if (size == 0)
		return is_tls;
	for (; *words != '\0'; words += strspn(words, ", ")) {
		size_t word = strcspn(words, ",");

		if (word == size && (is_tls ? strncasecmp(words, text, size)
					    : strncmp(words, text, size)) == 0)
			return true;
		words += word;
	}
	return false;
}

static bool is_list_good(is_good_f *is_good, const char *text)
{
	for (;;) {
		size_t size = strcspn(text, ",");

		if (!is_good(text, size))
			return false;
		if (text[size] == '\0')
			return true;
		text += size + 1;
	}
}

static enum once_status check_option(const PQconninfoOption *option,
				     bool is_url, struct once_error *err)
{
	const struct rule *rule = rules;
	const struct rule *end = rules + sizeof(rules) / sizeof(rules[0]);
	bool given = option->val != NULL;
	const char *value = option->val;

	if (!given && option->envvar != NULL)
		value = getenv(option->envvar);
	while (rule < end && strcmp(rule->keyword, option->keyword) != 0)
		rule++;
	if (rule == end || value == NULL ||
	    (rule->is_good != NULL ? is_list_good(rule->is_good, value)
				   : is_word(rule->what, value)))
		return ONCE_OK;
	return error_set(err, ONCE_CONFIG,
			 "%s%s can't have its value, which isn't shown; write "
			 "%s%s%s%s",
			 given ? "the conninfo's "
			       : "the environment variable ",
			 given ? rule->keyword : option->envvar,
			 rule->is_good == NULL ? "one of " : "", rule->what,
			 given && is_url ? ", and " : "",
			 given && is_url ? encode_text : "");
}

static bool is_url(const char *conninfo)
{
	return strncmp(conninfo, "postgresql://", 13) == 0 ||
	       strncmp(conninfo, "postgres://", 11) == 0;
}

/* The only @ that needs no escape stands before the host. libpq takes a user
 * and a password up to the first @, unless a / comes before it. */
static bool has_stray_at(const char *url)
{
	const char *start = strstr(url, "://") + 3;
	const char *at = strchr(start, '@');

	return at != NULL &&
	       (memchr(start, '/', (size_t)(at - start)) != NULL ||
		strchr(at + 1, '@') != NULL);
}

static enum once_status refuse_shape(bool url, struct once_error *err)
{
	if (url)
		return error_set(err, ONCE_CONFIG,
				 "the database's URL can't be read; write it "
				 "like postgresql://user:password@host/dbname; "
				 "%s",
				 encode_text);
	return error_set(err, ONCE_CONFIG,
			 "the database's conninfo can't be read; write it like "
			 "host=… dbname=…, and what has spaces in single "
			 "quotes");
}

enum once_status once__pg_conninfo_check(const char *conninfo,
					 struct once_error *err)
{
	bool url = is_url(conninfo);
	enum once_status status = ONCE_OK;
	PQconninfoOption *options;

	if (url && has_stray_at(conninfo))
		return error_set(err, ONCE_CONFIG,
				 "the database's URL has an @ that doesn't "
				 "stand before the host; %s",
				 encode_text);
	/* Without any of these it is a database's name. */
	options = PQconninfoParse(
		strpbrk(conninfo, "=/") == NULL ? "" : conninfo, NULL);
	if (options == NULL)
		return refuse_shape(url, err);
	for (const PQconninfoOption *option = options;
	     option->keyword != NULL && status == ONCE_OK; option++)
		status = check_option(option, url, err);
	PQconninfoFree(options);
	return status;
}

enum once_status once_conninfo_check(const char *conninfo,
				     struct once_error *err)
{
	return once__pg_conninfo_check(conninfo, err);
}
