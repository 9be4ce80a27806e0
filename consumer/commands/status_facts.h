/*
 * status_facts.h - what the database says of a group (once_overview()), kept
 * row by row under the names that it gives. A section or a name that is new
 * there needs nothing here to be in the JSON.
 */
#ifndef ONCED_STATUS_FACTS_H
#define ONCED_STATUS_FACTS_H

#include "text.h"

struct fact {
	char *section;
	size_t count;
	char **names;
	char **values;
};

/* All zero is empty. */
struct facts {
	struct fact *rows;
	size_t count;
	bool broken; /* no memory */
};

/* once_overview_f; `arg` is a struct facts. */
void facts_take(void *arg, const char *section, const char *const *names,
		const char *const *values, size_t count);
void facts_fini(struct facts *facts);

bool fact_is_of(const struct fact *fact, const char *section);
/* "": there is no such name. */
const char *fact_text(const struct fact *fact, const char *name);
/* 0: there is none, or it is no number. */
int64_t fact_number(const struct fact *fact, const char *name);

/* ,"position":[{…}],"parked":[…]… behind a member of an object. */
void facts_add_json(const struct facts *facts, struct text *json);

#endif
