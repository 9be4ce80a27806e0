/*
 * outage.h - a database server of a test's own that is to fail, a load, and
 * what must be true when all is over.
 */
#ifndef TEST_OUTAGE_H
#define TEST_OUTAGE_H

#include "onced_fixture.h"
#include "pg_server.h"

enum {
	OUTAGE_WAIT_MS = 40000
};

/* These fail the test when there is no such server. */
void outage_create_server(struct pg_server *server,
			  const char *const *settings);
void outage_create_standby(struct pg_server *server,
			   const struct pg_server *primary);
void outage_start_server(struct pg_server *server);

/* Send some messages every few milliseconds, for that time. */
void outage_send_for(struct onced_fixture *fixture, int64_t ms);

/* All took effect, each one once and at its first attempt; nothing is parked;
 * Kafka was told of all. Stops the process. */
void outage_check_that_nothing_happened(struct onced *onced);

/* The most memory it ever had. */
long outage_get_memory_kb(const struct onced *onced);

#endif
