/*
 * servers.h - the servers that all tests of a run share. A user's own stand in
 * where ONCE_TEST_PG (conninfo or URL), ONCE_TEST_KAFKA (bootstrap servers) or
 * ONCE_TEST_REDIS (URL) is set; otherwise ctest starts throwaway ones and says
 * in the files of the directory ONCE_TEST_STATE where they are.
 *
 * Being shared, they are never stopped by a test, and each test uses names of
 * its own (pg_fixture.h, kafka_fixture.h give them).
 */
#ifndef TEST_SERVERS_H
#define TEST_SERVERS_H

#include <limits.h>
#include <once/types.h>

/* clang-format off */
#define SERVER_TABLE(X)                              \
	X(PG,    "pg",    "ONCE_TEST_PG",    "PostgreSQL") \
	X(KAFKA, "kafka", "ONCE_TEST_KAFKA", "Kafka")      \
	X(REDIS, "redis", "ONCE_TEST_REDIS", "Redis")
/* clang-format on */

enum server_kind {
#define X(kind, word, variable, name) SERVER_##kind,
	SERVER_TABLE(X)
#undef X
};

struct server_names {
	const char *word;     /* of its state file */
	const char *variable; /* of the environment */
	const char *name;     /* for people */
};

#define SERVER_KINDS 3
extern const struct server_names server_names[SERVER_KINDS];

#define NEED(kind) (1u << SERVER_##kind)

/* Call first in main(), with NEED(PG) | NEED(KAFKA) and the like. Where one
 * isn't there, the program ends: 77 (skipped), or 1 (failed) where CI or
 * ONCE_TEST_NO_SKIP is set. */
void servers_need(unsigned kinds);
/* 77 or 1, as above. */
int servers_skip_code(void);

/* Its conninfo, bootstrap servers or URL; NULL: it isn't there. Static. */
const char *servers_find(enum server_kind kind);
/* Its log, to be read by tests; NULL: a user's own server, or none. Static. */
const char *servers_find_log(enum server_kind kind);

/* The file that says where a server is, in lines: "address=", "log=", "server="
 * (its process) and "keeper=" (the process that keeps it). */
enum once_status servers_state_path(char path[PATH_MAX], const char *directory,
				    enum server_kind kind,
				    struct once_error *err) ONCE_MUST_CHECK;
/* The value of a line of that file; NULL: there is none. The caller's. */
char *servers_read_state(const char *path, const char *name) ONCE_MUST_CHECK;

#endif
