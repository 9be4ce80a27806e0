/*
 * What texts may hold, kind by kind. A table says which check goes with which
 * kind; each check reads one text and knows nothing of options.
 */
#include "config_value.h"

#include "bytes.h"
#include "error.h"

#include <string.h>

enum {
	MIN_TOKEN = 16,
	MAX_KAFKA_NAME = 249,
	MAX_HOST = 255
};

typedef enum once_status check_f(const char *text, struct once_error *err);

static enum once_status accept_any(const char *text, struct once_error *err)
{
	(void)text;
	(void)err;
	return ONCE_OK;
}

static enum once_status check_line(const char *text, struct once_error *err)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return error_set(err, ONCE_INVALID,
					 "a control character is in it; write "
					 "printable characters in one line");
	return ONCE_OK;
}

static enum once_status check_name(const char *text, struct once_error *err)
{
	size_t size = strlen(text);

	if (size > 0 && (text[0] == ' ' || text[size - 1] == ' '))
		return error_set(err, ONCE_INVALID,
				 "a space is at its edge; write it without");
	return check_line(text, err);
}

static enum once_status check_kafka_name(const char *text,
					 struct once_error *err)
{
	size_t size = strlen(text);

	if (size > MAX_KAFKA_NAME)
		return error_set(err, ONCE_INVALID,
				 "longer than Kafka takes; write at most %d "
				 "characters",
				 MAX_KAFKA_NAME);
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return error_set(err, ONCE_INVALID,
				 "a name that Kafka refuses; write another "
				 "than \".\" and \"..\"");
	if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789._-") != size)
		return error_set(err, ONCE_INVALID,
				 "not a name that Kafka takes; write letters, "
				 "digits, \".\", \"_\" and \"-\" only");
	return ONCE_OK;
}

enum once_status value_check_topic(const char *text, struct once_error *err)
{
	if (text[0] == '\0')
		return error_set(err, ONCE_INVALID,
				 "empty; write a topic's name");
	if (text[0] == '^')
		return error_set(err, ONCE_INVALID,
				 "a pattern, and those are not available yet; "
				 "write each topic's name");
	return check_kafka_name(text, err);
}

static bool is_port(const char *text, size_t size, int64_t min)
{
	char digits[6];
	int64_t port;

	if (size >= sizeof(digits))
		return false;
	memcpy(digits, text, size);
	digits[size] = '\0';
	return value_parse_digits(digits, 65535, &port) && port >= min;
}

/* The length of the host in "host", "host:port" and "[v6]:port"; 0: none. */
static size_t host_size(const char *text, size_t size)
{
	const char *end;

	if (text[0] != '[') {
		end = memchr(text, ':', size);
		return end == NULL ? size : (size_t)(end - text);
	}
	end = memchr(text, ']', size);
	return end == NULL ? 0 : (size_t)(end + 1 - text);
}

static bool has_any(const char *text, size_t size, const char *bytes)
{
	return strcspn(text, bytes) < size;
}

static bool is_broker(const char *text, size_t size)
{
	size_t host = host_size(text, size);

	if (host == 0 || host > MAX_HOST || has_any(text, size, " /@"))
		return false;
	if (host == size)
		return true;
	return text[host] == ':' &&
	       is_port(text + host + 1, size - host - 1, 1);
}

static enum once_status check_brokers(const char *text, struct once_error *err)
{
	for (;;) {
		size_t size = strcspn(text, ",");

		if (!is_broker(text, size))
			return error_set(
				err, ONCE_INVALID,
				"not a list of addresses; write host:port, "
				"several with commas and no spaces, such as "
				"\"localhost:9092\"");
		if (text[size] == '\0')
			return check_line(text, err);
		text += size + 1;
	}
}

static enum once_status check_address(const char *text, struct once_error *err)
{
	size_t size = strlen(text);
	size_t host = host_size(text, size);

	if (size == 0)
		return ONCE_OK;
	if (host == 0 || host > MAX_HOST || text[host] != ':' ||
	    !is_port(text + host + 1, size - host - 1, 0) ||
	    has_any(text, size, " /@"))
		return error_set(err, ONCE_INVALID,
				 "not an address; write host:port, such as "
				 "\"127.0.0.1:9464\", or \"\" for off");
	return check_line(text, err);
}

/* What a bearer token is made of, and a length that can't be guessed. */
static enum once_status check_token(const char *text, struct once_error *err)
{
	size_t size = strlen(text);
	size_t usual = strspn(text, "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~+/");

	if (size == 0)
		return ONCE_OK;
	if (size < MIN_TOKEN)
		return error_set(err, ONCE_INVALID,
				 "too short to be a secret; write at least %d "
				 "characters, such as what \"openssl rand -hex "
				 "32\" prints",
				 MIN_TOKEN);
	if (usual + strspn(text + usual, "=") != size)
		return error_set(err, ONCE_INVALID,
				 "not a bearer token; write letters, digits "
				 "and -._~+/ only, with = only at the end");
	return ONCE_OK;
}

enum once_status value_check_host(const char *text, struct once_error *err)
{
	size_t size = strlen(text);

	if (size > 0 && size <= MAX_HOST &&
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789._-") == size &&
	    text[size - 1] != '.')
		return ONCE_OK;
	return error_set(err, ONCE_INVALID,
			 "not a host name; write it without scheme, port and "
			 "\"*\", such as onced.internal");
}

static check_f *check_of(enum config_kind kind)
{
	static const struct {
		enum config_kind kind;
		check_f *check;
	} checks[] = {
		{ CONFIG_NAME, check_name },
		{ CONFIG_SCOPE, check_name },
		{ CONFIG_INSTANCE, check_kafka_name },
		{ CONFIG_BROKERS, check_brokers },
		{ CONFIG_ADDRESS, check_address },
		{ CONFIG_TEMPLATE, check_line },
		{ CONFIG_TOKEN, check_token },
		{ CONFIG_FILE, check_line },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i].kind == kind)
			return checks[i].check;
	return accept_any;
}

enum once_status value_check_text(const struct config_option *option,
				  const char *text, struct once_error *err)
{
	int64_t size = (int64_t)strlen(text);

	if (size < option->min)
		return error_set(err, ONCE_INVALID,
				 "empty; write something, such as \"%s\"",
				 option->value[0] == '(' ? "{header:id}"
							 : option->value);
	if (size > option->max)
		return error_set(err, ONCE_INVALID,
				 "too long; write at most %lld bytes",
				 (long long)option->max);
	if (!bytes_are_utf8(bytes_text(text)))
		return error_set(err, ONCE_INVALID,
				 "not UTF-8; write it in UTF-8");
	return check_of(option->kind)(text, err);
}

enum once_status value_check_sqlstate(const char *text, struct once_error *err)
{
	size_t size = strlen(text);

	if ((size == 2 || size == 5) &&
	    strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == size)
		return ONCE_OK;
	return error_set(err, ONCE_INVALID,
			 "not an SQLSTATE; write five characters, like 23505, "
			 "or two for a whole class, like 22");
}
