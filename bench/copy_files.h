/* copy_files.h - rows out of a table into a file, and back into it, by
 * PostgreSQL's COPY, through the client. */
#ifndef BENCH_COPY_FILES_H
#define BENCH_COPY_FILES_H

#include <libpq-fe.h>
#include <once/types.h>

/* `sql`: COPY … TO STDOUT */
enum once_status copy_to_file(PGconn *conn, const char *sql, const char *path,
			      struct once_error *err) ONCE_MUST_CHECK;
/* `sql`: COPY … FROM STDIN */
enum once_status copy_from_file(PGconn *conn, const char *sql, const char *path,
				struct once_error *err) ONCE_MUST_CHECK;

#endif
