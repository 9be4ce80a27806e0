/*
 * A password may hold all that libpq or a URL reads as syntax. The idea: what
 * has been written so far tells how the next byte would be read; what is put in
 * there is written so that it is read as itself. libpq's rules are those of
 * conninfo_parse() and conninfo_uri_parse() in fe-connect.c.
 */
#include "config_quote.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum spot {
	SPOT_KEYWORD,     /* or within one */
	SPOT_VALUE_START, /* behind the "=" */
	SPOT_VALUE,       /* not in quotes */
	SPOT_QUOTED
};

/* ---- keyword = value ---- */

static const char *skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* At the end of the value, or of the text. A "\" that is the text's last byte
 * stands before what comes then. */
static const char *skip_value(const char *at, bool quoted, bool *ret_escaped)
{
	for (; *at != '\0'; at++) {
		if (*at != '\\') {
			if (quoted ? *at == '\''
				   : isspace((unsigned char)*at) != 0)
				break;
		} else if (*++at == '\0') {
			*ret_escaped = true;
			break;
		}
	}
	return at;
}

static enum spot find_spot(const char *at, bool *ret_escaped)
{
	*ret_escaped = false;
	for (;;) {
		bool quoted;

		at = skip_space(at);
		while (*at != '\0' && *at != '=' &&
		       !isspace((unsigned char)*at))
			at++;
		at = skip_space(at);
		if (*at != '=')
			return SPOT_KEYWORD;
		at = skip_space(at + 1);
		if (*at == '\0')
			return SPOT_VALUE_START;
		quoted = *at == '\'';
		at = skip_value(at + quoted, quoted, ret_escaped);
		if (*at == '\0')
			return quoted ? SPOT_QUOTED : SPOT_VALUE;
		at++;
	}
}

static void add_escaped(struct text *text, const char *value, enum spot spot,
			bool escaped)
{
	for (; *value != '\0'; value++) {
		bool special =
			*value == '\\' || *value == '\'' ||
			(spot != SPOT_QUOTED && isspace((unsigned char)*value));

		if (special && !escaped)
			text_adds(text, "\\");
		text_add(text, value, 1);
		escaped = false;
	}
}

static bool add_keyword_value(struct text *text, const char *value,
			      bool only_value, const char *rest)
{
	bool escaped;
	enum spot spot = find_spot(text->data, &escaped);

	if (spot == SPOT_KEYWORD && only_value)
		return false;
	if (spot == SPOT_KEYWORD)
		text_adds(text, value);
	else if (spot == SPOT_VALUE_START && value[0] == '\0' &&
		 (rest[0] == '\0' || isspace((unsigned char)rest[0])))
		text_adds(text, "''"); /* else the next word would be it */
	else
		add_escaped(text, value, spot, escaped);
	return true;
}

/* ---- URLs ---- */

/* Does the part that `rest` continues end with an "@"? References in it don't
 * count. */
static bool is_before_at(const char *rest)
{
	for (; *rest != '\0' && strchr("/?#", *rest) == NULL; rest++) {
		if (*rest == '@')
			return true;
		if (strncmp(rest, "${", 2) == 0)
			rest += strcspn(rest, "}");
		if (*rest == '\0')
			break;
	}
	return false;
}

/* What may stand as it is beside letters and digits. A host's text may bring
 * its port, and others; the path of a socket has slashes. */
static const char *plain_at(const char *url, const char *rest)
{
	const char *at = strstr(url, "://") + 3;
	bool is_socket = strncasecmp(url, "unix:", 5) == 0;

	if (strchr(at, '?') != NULL)
		return "-._~";
	if (strchr(at, '@') == NULL && is_before_at(rest))
		return "-._~";
	if (is_socket)
		return "-._~/";
	return strchr(at, '/') != NULL ? "-._~" : "-._~:,[]";
}

static bool is_plain(char c, const char *plain)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || strchr(plain, c) != NULL;
}

static bool add_url_value(struct text *text, const char *value, bool only_value,
			  const char *rest)
{
	const char *plain = plain_at(text->data, rest);
	char last = text->data[text->size - 1];

	if (last == '?' || last == '&') {
		if (only_value)
			return false;
		text_adds(text, value);
		return true;
	}
	for (; *value != '\0'; value++)
		if (is_plain(*value, plain))
			text_add(text, value, 1);
		else
			text_addf(text, "%%%02X",
				  (unsigned)(unsigned char)*value);
	return true;
}

/* libpq knows these two, in this case. */
static bool is_libpq_url(const char *text)
{
	return strncmp(text, "postgresql://", 13) == 0 ||
	       strncmp(text, "postgres://", 11) == 0;
}

bool quote_add(struct text *text, enum quote_syntax syntax, const char *value,
	       bool only_value, const char *rest)
{
	bool is_url = text->data != NULL &&
		      (syntax == QUOTE_URL ? strstr(text->data, "://") != NULL
					   : is_libpq_url(text->data));

	if (text->broken || text->data == NULL || syntax == QUOTE_NONE ||
	    *skip_space(text->data) == '\0') {
		text_adds(text, value);
		return true;
	}
	if (is_url)
		return add_url_value(text, value, only_value, rest);
	if (syntax == QUOTE_CONNINFO)
		return add_keyword_value(text, value, only_value, rest);
	text_adds(text, value); /* no scheme yet: the URL will be refused */
	return true;
}
