/*
 * columns.h - a table that fits its line: text to the left, numbers to the
 * right, each column as wide as it has to be. Where that is too wide, spare
 * columns are left out, then text is cut, then numbers are rounded (12.3M).
 */
#ifndef ONCED_COLUMNS_H
#define ONCED_COLUMNS_H

#include "terminal.h"

enum {
	COLUMNS_MOST_COUNT = 16,
	COLUMNS_UNCUT = 0,
	COLUMNS_SPARE = 1
};

/* A number that nobody knows: shown as "-". */
#define COLUMNS_UNKNOWN INT64_MIN

struct column {
	char *title; /* the column's */
	bool is_number;
	size_t least; /* of a text, when it is cut; COLUMNS_UNCUT, _SPARE */
};

struct columns {
	struct column columns[COLUMNS_MOST_COUNT];
	size_t count;
	struct cell *cells; /* row by row */
	size_t cell_count;
	bool broken; /* no memory */
};

/* All zero has no columns. Titles and texts may come from anywhere: what is
 * shown can't talk to the terminal. */
void columns_add(struct columns *columns, const char *title, bool is_number,
		 size_t least);
/* The next cell; rows are as long as there are columns. */
void columns_text(struct columns *columns, enum style style,
		  const char *string);
void columns_number(struct columns *columns, enum style style, int64_t number);
void columns_render(const struct columns *columns,
		    const struct terminal *terminal, struct text *text);
void columns_fini(struct columns *columns);

#endif
