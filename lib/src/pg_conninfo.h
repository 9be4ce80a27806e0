/* pg_conninfo.h - what libpq would refuse in a conninfo, said in our words. */
#ifndef ONCE_PG_CONNINFO_H
#define ONCE_PG_CONNINFO_H

#include <once/types.h>

/* CONFIG: libpq can't connect with it, now or later, or it looks as if a part
 * of a password had become something else. The text never holds a value. The
 * PG* environment variables that would be used are looked at too. */
enum once_status once__pg_conninfo_check(
	const char *conninfo, struct once_error *err) ONCE_MUST_CHECK;

#endif
