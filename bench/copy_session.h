/* copy_session.h - rows into both tables, in one transaction. */
#ifndef BENCH_COPY_SESSION_H
#define BENCH_COPY_SESSION_H

#include "copy_rows.h"

#include <libpq-fe.h>
#include <once/types.h>

/* `durability`: as onced's option. NULL is what a failure leaves. */
enum once_status copy_session_open(const char *conninfo, const char *durability,
				   PGconn **ret_conn,
				   struct once_error *err) ONCE_MUST_CHECK;

/* Committed when it returns ONCE_OK. */
enum once_status copy_session_run(PGconn *conn, const struct copy_rows *rows,
				  struct once_error *err) ONCE_MUST_CHECK;

#endif
