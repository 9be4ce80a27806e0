/* Tenures prove what prefilters remember. One that has ended a retention ago
 * proves nothing that is still asked for; without it a mark is given to the
 * database, no more. It has ended when the next one of its partition began; so
 * the last one of each stays. */
#include "upkeep_impl.h"

#include "bytes.h"
#include "pg_array.h"

#define THIRTY_DAYS_MS "2592000000"

/* They are all groups', so the longest retention of all counts. Few: there is
 * one for each time that a partition changes hands. One that was taken off its
 * position has no end, but a next one. */
static const char forget_sql[] = "SELECT once.forget_tenures($1::int8)";

enum once_status once__cleaner_forget_tenures(struct once_cleaner *cleaner,
					      struct once_error *err)
{
	int64_t retention_ms = cleaner->options.retention_ms;
	enum once_status status;
	char age[24];

	once__pg_begin(cleaner->pg);
	once__pg_send(
		cleaner->pg, ONCE__PG_OURS, forget_sql,
		ONCE_PARAMS(retention_ms > 0
				    ? once__pg_int8(age, retention_ms)
				    : (struct once_param)ONCE_TEXT(
					      bytes_text(THIRTY_DAYS_MS))));
	if (once__pg_commit(cleaner->pg) == ONCE__PG_COMMITTED)
		return ONCE_OK;
	status = once__pg_error(cleaner->pg, err);
	once__pg_rollback(cleaner->pg);
	return status;
}
