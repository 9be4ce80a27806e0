/* An address is always known: nobody can make it point elsewhere. */
#include "admin_access.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum {
	NAME_SIZE = 256
};

static bool is_port(const char *text)
{
	return text[0] == '\0' ||
	       (text[0] == ':' &&
		strspn(text + 1, "0123456789") == strlen(text + 1));
}

/* The name of "name", "name:port", "name.:port" or "[address]:port"; false: it
 * is none of them. */
static bool split_host(const char *host, char name[NAME_SIZE])
{
	bool in_brackets = host[0] == '[';
	size_t size = strcspn(host, in_brackets ? "]" : ":");

	if (size >= NAME_SIZE || (in_brackets && host[size] != ']') ||
	    !is_port(host + size + in_brackets))
		return false;
	memcpy(name, host, size);
	name[size] = '\0';
	if (size > 1 && name[size - 1] == '.')
		name[size - 1] = '\0';
	return true;
}

static bool is_address(const char *name)
{
	unsigned char address[sizeof(struct in6_addr)];

	if (name[0] == '[')
		return inet_pton(AF_INET6, name + 1, address) == 1;
	return inet_pton(AF_INET, name, address) == 1;
}

bool access_knows_host(const struct admin_access *access, const char *host)
{
	char name[NAME_SIZE];

	if (host == NULL)
		return true;
	if (!split_host(host, name))
		return false;
	if (is_address(name) || strcasecmp(name, "localhost") == 0 ||
	    (name[0] != '\0' && strcasecmp(name, access->listen_host) == 0))
		return true;
	for (size_t i = 0; i < access->host_count; i++)
		if (strcasecmp(name, access->hosts[i]) == 0)
			return true;
	return false;
}

/* Without a branch on what is compared. */
static bool is_same(const char *expected, const char *given)
{
	size_t expected_size = strlen(expected);
	size_t size = strlen(given);
	unsigned char difference = size != expected_size;

	for (size_t i = 0; i < size; i++)
		difference |=
			(unsigned char)(given[i] ^ expected[i % expected_size]);
	return difference == 0;
}

bool access_has_token(const struct admin_access *access,
		      const char *authorization)
{
	static const char scheme[] = "Bearer ";
	size_t size = sizeof(scheme) - 1;

	if (authorization == NULL ||
	    strncasecmp(authorization, scheme, size) != 0)
		return false;
	authorization += size;
	return is_same(access->token,
		       authorization + strspn(authorization, " "));
}
