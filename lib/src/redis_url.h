/* redis_url.h - where a Redis is, and who we are there. */
#ifndef ONCE__REDIS_URL_H
#define ONCE__REDIS_URL_H

#include <once/types.h>
#include <sys/un.h>

struct once__redis_url {
	char host[256]; /* "": a unix socket */
	uint16_t port;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	char user[256];
	char password[512]; /* no user and no password: no AUTH */
	unsigned database;
	char shown[300]; /* for people: the address, without secrets */
};

/* redis://[user:password@]host[:port][/database] or
 * unix://[user:password@]/path[?db=N]; the user may be left out. What stands
 * between is percent-decoded. INVALID: what to write instead; nothing of the
 * text is repeated, for it may be a password that is in the wrong place. */
enum once_status once__redis_url_parse(const char *text,
				       struct once__redis_url *ret_url,
				       struct once_error *err) ONCE_MUST_CHECK;

#endif
