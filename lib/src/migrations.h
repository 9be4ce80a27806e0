/* migrations.h - the SQL of migrations/, compiled in. */
#ifndef ONCE_MIGRATIONS_H
#define ONCE_MIGRATIONS_H

struct once__migration {
	int version;
	int least_version; /* a libonce that knows that much runs on it */
	const char *name;  /* the file's, without ".sql" */
	const char *sql;
};

/* In order; the last one has version 0. */
extern const struct once__migration once__migrations[];

#endif
