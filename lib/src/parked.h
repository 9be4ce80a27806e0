/* parked.h - messages set aside in the database, whole. */
#ifndef ONCE__PARKED_H
#define ONCE__PARKED_H

#include "pg.h"
#include "work.h"

/* Queue the row for a message that ends as DEAD or CONFLICT. One row per
 * message, however often it is parked. */
void once__parked_add(struct once__pg *pg, const struct once__work *work);

/* Is there a row of this very ending? For an unanswered COMMIT. */
bool once__parked_holds(struct once__pg *pg, const struct once__work *work,
			bool *ret_holds);

#endif
