/*
 * redis_url.c - reads the URL of a Redis, strictly.
 *
 * The idea: a URL that is half understood connects to the wrong place, or
 * without a password. So whatever isn't plainly meant is refused, and the text
 * says what to write, but never repeats what was written.
 */
#include "redis_url.h"

#include "bytes.h"
#include "error.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>

#define DEFAULT_PORT 6379
#define MAX_PORT 65535
#define MAX_DATABASE 999999999

static const char encode_text[] =
	"write characters such as @ : / ? # % in a user or password as %40 %3A "
	"%2F %3F %23 %25";
static const char host_text[] =
	"write a host, as in redis://redis.example.com:6379/0";
static const char port_text[] =
	"write a port from 1 to 65535 behind the host, as in "
	"redis://redis.example.com:6379/0, and characters such as @ : / in a "
	"password as %40 %3A %2F";
static const char brackets_text[] =
	"write an IPv6 address in brackets, as in redis://[::1]:6379/0";
static const char database_text[] =
	"write the database as a number, as in redis://redis.example.com/0 or "
	"unix:///run/redis.sock?db=0, and nothing behind it";
static const char path_text[] =
	"write the path of the socket behind unix://, as in "
	"unix:///run/redis.sock?db=0";
static const char scheme_text[] =
	"write redis://host:6379/0 or unix:///path/of/socket?db=0";
static const char tls_text[] =
	"rediss:// isn't available, for onced has no TLS to Redis: let stunnel "
	"listen beside it and write redis://localhost:6379/0, or use "
	"unix:///path/of/socket";

static enum once_status refuse(struct once_error *err, const char *text)
{
	return error_set(err, ONCE_INVALID, "%s", text);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One character, maybe escaped; 0: there is none that could stand in a text. */
static char decode_one(const char **at, const char *end)
{
	int high;
	int low;

	if (**at != '%')
		return *(*at)++;
	if (end - *at < 3)
		return '\0';
	high = hex_digit((*at)[1]);
	low = hex_digit((*at)[2]);
	*at += 3;
	return high < 0 || low < 0 ? '\0' : (char)(high * 16 + low);
}

static enum once_status decode(struct once_bytes from, char *to, size_t size,
			       const char *what, struct once_error *err)
{
	const char *at = from.data;
	const char *end = at + from.size;
	size_t used = 0;

	while (at < end) {
		if (used + 1 >= size)
			return error_set(err, ONCE_INVALID,
					 "the %s is longer than %zu bytes",
					 what, size - 1);
		to[used] = decode_one(&at, end);
		if (to[used++] == '\0')
			return error_set(err, ONCE_INVALID,
					 "the %s has a %% that isn't followed "
					 "by two hexadecimal digits, or by 00; "
					 "%s",
					 what, encode_text);
	}
	to[used] = '\0';
	return ONCE_OK;
}

/* A decimal number and nothing else, up to `max`. */
static bool parse_number(struct once_bytes text, unsigned max,
			 unsigned *ret_number)
{
	const char *digits = text.data;
	unsigned number = 0;

	for (size_t i = 0; i < text.size; i++) {
		if (digits[i] < '0' || digits[i] > '9' || number > max / 10)
			return false;
		number = number * 10 + (unsigned)(digits[i] - '0');
	}
	*ret_number = number;
	return text.size > 0 && number <= max;
}

/* [user][:password], without the @ behind it. */
static enum once_status parse_user(struct once_bytes text,
				   struct once__redis_url *url,
				   struct once_error *err)
{
	const char *data = text.data;
	const char *colon = memchr(data, ':', text.size);
	size_t user = colon == NULL ? text.size : (size_t)(colon - data);
	size_t password = colon == NULL ? 0 : text.size - user - 1;

	if (colon == NULL && user > 0)
		return error_set(err, ONCE_INVALID,
				 "a user needs a password: write "
				 "user:password@, or :password@ for the "
				 "default user");
	if (decode(bytes_of(data, user), url->user, sizeof(url->user), "user",
		   err) != ONCE_OK)
		return err->status;
	return decode(bytes_of(colon == NULL ? data : colon + 1, password),
		      url->password, sizeof(url->password), "password", err);
}

/* Takes what stands before the @, if there is one, out of `authority`. */
static enum once_status take_user(struct once_bytes *authority,
				  struct once__redis_url *url,
				  struct once_error *err)
{
	const char *data = authority->data;
	const char *at = memchr(data, '@', authority->size);
	size_t size = at == NULL ? 0 : (size_t)(at - data);

	if (at == NULL)
		return ONCE_OK;
	*authority = bytes_of(at + 1, authority->size - size - 1);
	if (memchr(at + 1, '@', authority->size) != NULL)
		return refuse(err, encode_text);
	return parse_user(bytes_of(data, size), url, err);
}

static bool copy_host(struct once__redis_url *url, const char *host,
		      size_t size)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:";

	if (size == 0 || size >= sizeof(url->host))
		return false;
	memcpy(url->host, host, size);
	url->host[size] = '\0';
	return strspn(url->host, allowed) == size;
}

static enum once_status parse_port(struct once_bytes text,
				   struct once__redis_url *url,
				   struct once_error *err)
{
	unsigned port = DEFAULT_PORT;
	const char *data = text.data;

	if (text.size > 0 && (data[0] != ':' ||
			      !parse_number(bytes_of(data + 1, text.size - 1),
					    MAX_PORT, &port) ||
			      port == 0))
		return refuse(err, port_text);
	url->port = (uint16_t)port;
	return ONCE_OK;
}

static enum once_status parse_ipv6(struct once_bytes text,
				   struct once__redis_url *url,
				   struct once_error *err)
{
	const char *data = text.data;
	const char *end = memchr(data, ']', text.size);
	struct in6_addr address;

	if (end == NULL ||
	    !copy_host(url, data + 1, (size_t)(end - data - 1)) ||
	    inet_pton(AF_INET6, url->host, &address) != 1)
		return refuse(err, brackets_text);
	return parse_port(
		bytes_of(end + 1, text.size - (size_t)(end + 1 - data)), url,
		err);
}

static enum once_status parse_host(struct once_bytes text,
				   struct once__redis_url *url,
				   struct once_error *err)
{
	const char *data = text.data;
	const char *colon = memchr(data, ':', text.size);
	size_t size = colon == NULL ? text.size : (size_t)(colon - data);

	if (text.size > 0 && data[0] == '[')
		return parse_ipv6(text, url, err);
	if (colon != NULL &&
	    memchr(colon + 1, ':', text.size - size - 1) != NULL)
		return refuse(err, brackets_text);
	if (!copy_host(url, data, size))
		return refuse(err, host_text);
	return parse_port(bytes_of(data + size, text.size - size), url, err);
}

static enum once_status parse_database(const char *text,
				       struct once__redis_url *url,
				       struct once_error *err)
{
	if (text[0] == '\0' ||
	    parse_number(bytes_text(text), MAX_DATABASE, &url->database))
		return ONCE_OK;
	return refuse(err, database_text);
}

static enum once_status parse_tcp(const char *text, struct once__redis_url *url,
				  struct once_error *err)
{
	struct once_bytes authority = bytes_of(text, strcspn(text, "/?#"));
	const char *rest = text + authority.size;

	if (strchr(rest, '@') != NULL)
		return refuse(err, encode_text);
	if (take_user(&authority, url, err) != ONCE_OK ||
	    parse_host(authority, url, err) != ONCE_OK)
		return err->status;
	snprintf(url->shown, sizeof(url->shown),
		 strchr(url->host, ':') == NULL ? "%s:%u" : "[%s]:%u",
		 url->host, (unsigned)url->port);
	if (rest[0] == '?' || rest[0] == '#')
		return refuse(err, database_text);
	return parse_database(rest[0] == '/' ? rest + 1 : rest, url, err);
}

static enum once_status parse_unix(const char *text,
				   struct once__redis_url *url,
				   struct once_error *err)
{
	static const char db[] = "?db=";
	struct once_bytes authority = bytes_of(text, strcspn(text, "/?#"));
	const char *path = text + authority.size;
	size_t size = strcspn(path, "?#");

	if (take_user(&authority, url, err) != ONCE_OK)
		return err->status;
	if (authority.size > 0 || size < 2)
		return refuse(err, path_text);
	if (decode(bytes_of(path, size), url->path, sizeof(url->path), "path",
		   err) != ONCE_OK)
		return err->status;
	snprintf(url->shown, sizeof(url->shown), "%s", url->path);
	path += size;
	if (path[0] == '\0')
		return ONCE_OK;
	if (strncmp(path, db, sizeof(db) - 1) != 0 ||
	    path[sizeof(db) - 1] == '\0')
		return refuse(err, database_text);
	return parse_database(path + sizeof(db) - 1, url, err);
}

/* True: it begins with the scheme, and stands behind it now. */
static bool skip_scheme(const char **text, const char *scheme)
{
	size_t size = strlen(scheme);

	if (strncasecmp(*text, scheme, size) != 0)
		return false;
	*text += size;
	return true;
}

enum once_status once__redis_url_parse(const char *text,
				       struct once__redis_url *ret_url,
				       struct once_error *err)
{
	memset(ret_url, 0, sizeof(*ret_url));
	if (skip_scheme(&text, "redis://"))
		return parse_tcp(text, ret_url, err);
	if (skip_scheme(&text, "unix://"))
		return parse_unix(text, ret_url, err);
	return refuse(err,
		      skip_scheme(&text, "rediss:") ? tls_text : scheme_text);
}
