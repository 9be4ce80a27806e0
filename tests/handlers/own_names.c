/*
 * own_names - a handler that brings its own zstd, xxHash, libyaml and hiredis,
 * as one that was linked statically does: functions of the same names as those
 * that onced stands on. libpq and malloc it shares with onced.
 */
#include <libpq-fe.h>
#include <once/handler.h>
#include <stdbool.h>

enum {
	OWN = 4711
};

#define OWN_NAMES(X) \
	X(ZSTD_versionNumber) \
	X(XXH3_128bits_withSeed) \
	X(XXH3_64bits) \
	X(yaml_parser_initialize) \
	X(redisConnect)

/* Not hidden, and so the linker may bind a call to somebody else's. */
#define X(name) \
	__attribute__((visibility("default"), noinline)) int name(void); \
	int name(void) \
	{ \
		return OWN; \
	}
OWN_NAMES(X)
#undef X

static int open_own_names(struct once_settings *settings, void **ret_self)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} own[] = {
#define X(name) { #name, name },
		OWN_NAMES(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].call() != OWN) {
			once_refuse(settings, "%s() is somebody else's",
				    own[i].name);
			return -1;
		}
	*ret_self = NULL;
	return 0;
}

/* The session was made by onced's libpq, and is used by this one. */
static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	PGconn *conn = once_pgconn(call);
	PGresult *res;
	bool done;

	(void)self;
	(void)msg;
	if (conn == NULL)
		return ONCE_RETRY;
	res = PQexec(conn, "INSERT INTO effect (msg_id) VALUES ('own')");
	done = PQresultStatus(res) == PGRES_COMMAND_OK;
	PQclear(res);
	return done ? ONCE_DONE : ONCE_REJECT;
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS,
	.name = "own_names",
	.open = open_own_names,
	.handle = handle,
};
