/*
 * database.h - plain SQL to the private PostgreSQL: making tables, asking for
 * numbers. What consumes messages doesn't come this way.
 *
 * Threads: main.
 */
#ifndef ONCED_DATABASE_H
#define ONCED_DATABASE_H

#include <once/types.h>

struct database;

enum once_status database_open(const char *conninfo,
			       struct database **ret_database,
			       struct once_error *err) ONCE_MUST_CHECK;
void database_close(struct database *database);

/* One statement or many, as one transaction; rows are dropped. */
enum once_status database_run(struct database *database, const char *sql,
			      struct once_error *err) ONCE_MUST_CHECK;

/* The one row of a query whose columns are `count` integers; NULL is 0. */
enum once_status database_ask(struct database *database, const char *sql,
			      int64_t *ret_numbers, size_t count,
			      struct once_error *err) ONCE_MUST_CHECK;

/* `lines` through COPY … FROM STDIN. */
enum once_status database_copy(struct database *database, const char *sql,
			       struct once_bytes lines,
			       struct once_error *err) ONCE_MUST_CHECK;

#endif
