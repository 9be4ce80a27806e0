/* name_set.h - names that were seen, each with a number: a line, an index. What
 * looks for duplicates takes the time of the names, not of their square. */
#ifndef ONCED_NAME_SET_H
#define ONCED_NAME_SET_H

#include <stdbool.h>
#include <stddef.h>

struct name_entry;

/* All zero is empty. Names are borrowed. */
struct name_set {
	struct name_entry *entries;
	size_t count;
	size_t capacity;
	bool broken; /* memory ran out: nothing more is found or kept */
};

/* True: it is new, and kept with `number`. False: it was seen, and its number
 * then is in `ret_first`, which may be NULL. */
bool name_set_add(struct name_set *set, const char *name, size_t size,
		  size_t number, size_t *ret_first);
/* Its number, without adding it. */
bool name_set_find(const struct name_set *set, const char *name, size_t size,
		   size_t *ret_number);
void name_set_fini(struct name_set *set);

#define scoped_name_set __attribute__((cleanup(name_set_fini)))

#endif
