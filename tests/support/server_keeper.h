/*
 * server_keeper.h - a shared server's life for one run of ctest: kept by a
 * process of its own, which ends with the run, however that ends.
 */
#ifndef TEST_SERVER_KEEPER_H
#define TEST_SERVER_KEEPER_H

#include "servers.h"

#include <sys/types.h>

/* Start a server and write its state file into `directory`; it stays until
 * server_keeper_stop() or until `owner` is gone. CONFIG: it isn't installed.
 * TRANSIENT: it didn't come up, or another run uses that directory. */
enum once_status server_keeper_start(enum server_kind kind,
				     const char *directory, pid_t owner,
				     struct once_error *err) ONCE_MUST_CHECK;
/* Returns when the server and its directory are gone, or never were there. */
enum once_status server_keeper_stop(enum server_kind kind,
				    const char *directory,
				    struct once_error *err) ONCE_MUST_CHECK;

#endif
