/*
 * tables.h - the demo's tables: those of the handler, filled with what refunds
 * refer to, and schema demo for what the demo itself knows.
 *
 * Threads: main.
 */
#ifndef ONCED_TABLES_H
#define ONCED_TABLES_H

#include "database.h"
#include "ledger.h"

enum once_status tables_create(struct database *database,
			       struct once_error *err) ONCE_MUST_CHECK;

/* The ledger becomes the table demo.sent. */
enum once_status tables_add_ledger(struct database *database,
				   const struct ledger *ledger,
				   struct once_error *err) ONCE_MUST_CHECK;

#endif
