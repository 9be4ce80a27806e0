/* struct once_rows is libpq's PGresult under another name. */
#include "bytes.h"
#include "pg_impl.h"

#include <stdlib.h>

static const PGresult *result_of(const struct once_rows *rows)
{
	return (const PGresult *)rows;
}

size_t once_rows_count(const struct once_rows *rows)
{
	return (size_t)PQntuples(result_of(rows));
}

size_t once_rows_affected(const struct once_rows *rows)
{
	union {
		const PGresult *borrowed;
		PGresult *asked; /* PQcmdTuples reads, but isn't const */
	} res = { result_of(rows) };

	return (size_t)strtoull(PQcmdTuples(res.asked), NULL, 10);
}

struct once_bytes once_rows_get(const struct once_rows *rows, size_t row,
				size_t column)
{
	const PGresult *res = result_of(rows);
	int at = (int)row;
	int field = (int)column;

	if (row >= once_rows_count(rows) || field >= PQnfields(res) ||
	    PQgetisnull(res, at, field))
		return bytes_of(NULL, 0);
	return bytes_of(PQgetvalue(res, at, field),
			(size_t)PQgetlength(res, at, field));
}

int64_t once__rows_int64(const struct once_rows *rows, size_t row,
			 size_t column)
{
	struct once_bytes value = once_rows_get(rows, row, column);

	return value.data == NULL ? 0 : strtoll(value.data, NULL, 10);
}

int once_libpq_version(void)
{
	return PQlibVersion();
}
