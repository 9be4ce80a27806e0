/* schema.h - which version of schema `once` a database has. */
#ifndef ONCE__SCHEMA_H
#define ONCE__SCHEMA_H

#include "pg.h"

/* CONFIG: missing, older than this library's, or newer and not for it any more;
 * all versions are named. */
enum once_status once__schema_check_version(struct once__pg *pg,
					    struct once_error *err);
/* TRANSIENT, and SQLSTATE 55000: its tables aren't as the migrations made them,
 * and what they decide can't be relied on. */
enum once_status once__schema_check_shape(struct once__pg *pg,
					  struct once_error *err);
/* The version and the shape; and DENIED: the role lacks what running takes. */
enum once_status once__schema_check(struct once__pg *pg,
				    struct once_error *err);

/* Before a program starts, and for "onced check": CONFIG, a table of ours is
 * published and can't be written. */
enum once_status once__schema_check_published(struct once__pg *pg,
					      struct once_error *err);

#endif
