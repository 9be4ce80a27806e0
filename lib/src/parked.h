/* parked.h - messages set aside in the database, whole. */
#ifndef ONCE__PARKED_H
#define ONCE__PARKED_H

#include "pg.h"
#include "work.h"

/* Queue the row for a message that ends as DEAD, WAITING or CONFLICT. One row
 * per message, however often it is parked. */
void once__parked_add(struct once__pg *pg, const struct once__work *work);
/* Queue the end of the row of a message that waited, and waits no more. */
void once__parked_remove(struct once__pg *pg, const struct once__work *work);

/* Until the transaction ends nobody else can take it. false in `ret_waits`: it
 * is taken, or has ended. */
bool once__parked_lock(struct once__pg *pg, const struct once__work *work,
		       bool *ret_waits);

/* Does it wait as it did before this attempt? Is there a row of this very
 * ending? For an unanswered COMMIT. */
bool once__parked_waits(struct once__pg *pg, const struct once__work *work,
			bool *ret_waits);
bool once__parked_holds(struct once__pg *pg, const struct once__work *work,
			bool *ret_holds);

#endif
