/* settings.h - a route's settings, and what its handler asks for of them. */
#ifndef ONCE__SETTINGS_H
#define ONCE__SETTINGS_H

#include <once/once.h>
#include <stdbool.h>

struct once__asked;

struct once_settings {
	char **pairs; /* "name=value" */
	size_t count;
	/* Of a copy that is lent to open(); NULL in the route's. */
	char *refusal; /* NULL: not refused */
	struct once__asked *asked;
};

/* `ret_lent`: for one open(); borrows the pairs. To be fini()ed also after a
 * failure. */
enum once_status once__settings_lend(const struct once_settings *settings,
				     struct once_settings *ret_lent,
				     struct once_error *err);
/* CONFIG: one is set that open() hasn't asked for. */
enum once_status once__settings_check(const struct once_settings *lent,
				      struct once_error *err);
void once__settings_fini(struct once_settings *lent);

#endif
