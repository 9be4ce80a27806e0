/* parked.h - messages set aside in the database, whole. */
#ifndef ONCE__PARKED_H
#define ONCE__PARKED_H

#include "bytes.h"
#include "pg.h"
#include "pg_array.h"
#include "work.h"

/* A message's own name among the parked: how SQL tells it, and the first six
 * parameters that say it. */
#define ONCE__THIS_PARKED \
	"WHERE consumer_id = $1::int8 AND topic = $2::text " \
	"AND partition = $3::int4 AND message_offset = $4::int8 " \
	"AND message_time_ms = $5::int8 AND log_generation = $6::int4 "

struct once__parked_key {
	char numbers[5][24];
};

#define ONCE__PARKED_KEY(key, consumer, record) \
	once__pg_int8((key)->numbers[0], consumer), \
		ONCE_TEXT(bytes_text((record)->topic)), \
		once__pg_int8((key)->numbers[1], (record)->partition), \
		once__pg_int8((key)->numbers[2], (record)->offset), \
		once__pg_int8((key)->numbers[3], (record)->time_ms), \
		once__pg_int8((key)->numbers[4], (record)->log_generation)

/* Queue the row for a message that ends as DEAD, WAITING or CONFLICT. One row
 * per message, however often it is parked. It is for its route's handler in
 * that group; "": for any route of its scope. */
void once__parked_add(struct once__pg *pg, const struct once__work *work,
		      const char *group);
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
