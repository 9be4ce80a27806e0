/* Cells are kept as they are until all widths are known. */
#include "columns.h"

#include "bytes.h"
#include "readable.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	GAP = 2,
	MOST_TITLE = 20 /* characters: above numbers nothing can be cut */
};

struct cell {
	const char *string; /* NULL: a number */
	char *owned;        /* the same, if it is the cell's */
	int64_t number;
	enum style style;
};

struct layout {
	const struct terminal *terminal;
	bool rounded;
	bool narrow; /* spare columns are left out */
	size_t widths[COLUMNS_MOST_COUNT];
};

/* ---- filling it ---- */

/* NULL: no memory. */
static char *copy_readable(const char *string, size_t most)
{
	struct text shown = { 0 };

	text_adds(&shown, "");
	readable_add(&shown, bytes_text(string), most);
	if (shown.broken)
		text_fini(&shown);
	return shown.data;
}

void columns_add(struct columns *columns, const char *title, bool is_number,
		 size_t least)
{
	char *shown;

	if (columns->count == COLUMNS_MOST_COUNT)
		return;
	shown = copy_readable(title, MOST_TITLE);
	columns->broken = columns->broken || shown == NULL;
	columns->columns[columns->count++] =
		(struct column){ shown, is_number, least };
}

static struct cell *add_cell(struct columns *columns)
{
	struct cell *cells = columns->cells;

	if (columns->cell_count % 64 == 0)
		cells = realloc(cells,
				(columns->cell_count + 64) * sizeof(*cells));
	if (cells == NULL) {
		columns->broken = true;
		return NULL;
	}
	columns->cells = cells;
	cells[columns->cell_count] = (struct cell){ 0 };
	return &cells[columns->cell_count++];
}

void columns_text(struct columns *columns, enum style style, const char *string)
{
	struct cell *cell = columns->broken ? NULL : add_cell(columns);

	if (cell == NULL)
		return;
	cell->owned = copy_readable(string, READABLE_WHOLE);
	columns->broken = cell->owned == NULL;
	cell->string = cell->owned;
	cell->style = style;
}

void columns_number(struct columns *columns, enum style style, int64_t number)
{
	struct cell *cell = columns->broken ? NULL : add_cell(columns);

	if (cell == NULL)
		return;
	cell->number = number;
	cell->style = style;
}

/* ---- a cell ---- */

static void add_rounded(struct text *text, int64_t number)
{
	static const char units[] = "KMGTPE";
	double rest = (double)number;
	size_t unit = 0;

	if (number < 10000) {
		text_addf(text, "%lld", (long long)number);
		return;
	}
	rest /= 1000;
	while (rest >= 999.5) {
		rest /= 1000;
		unit++;
	}
	text_addf(text, "%.*f%c", rest < 99.95, rest, units[unit]);
}

static void add_cell_text(const struct layout *layout, const struct cell *cell,
			  struct text *text)
{
	if (cell->string != NULL)
		text_adds(text, cell->string);
	else if (cell->number == COLUMNS_UNKNOWN)
		text_adds(text, "-");
	else if (layout->rounded)
		add_rounded(text, cell->number);
	else
		terminal_add_number(layout->terminal, text, cell->number);
}

static struct once_bytes bytes_in(const struct text *text)
{
	return bytes_of(text->data, text->size);
}

static size_t width_of(const struct layout *layout, const struct cell *cell)
{
	scoped_text struct text text = { 0 };

	add_cell_text(layout, cell, &text);
	return readable_width(bytes_in(&text));
}

/* ---- widths ---- */

static void measure(const struct columns *columns, struct layout *layout)
{
	for (size_t i = 0; i < columns->count; i++)
		layout->widths[i] =
			readable_width(bytes_text(columns->columns[i].title));
	for (size_t i = 0; i < columns->cell_count; i++) {
		size_t *width = &layout->widths[i % columns->count];
		size_t needed = width_of(layout, &columns->cells[i]);

		if (needed > *width)
			*width = needed;
	}
}

static bool is_shown(const struct columns *columns, const struct layout *layout,
		     size_t i)
{
	return !layout->narrow || columns->columns[i].least != COLUMNS_SPARE;
}

static size_t total_of(const struct columns *columns,
		       const struct layout *layout)
{
	size_t total = 0;

	for (size_t i = 0; i < columns->count; i++)
		if (is_shown(columns, layout, i))
			total += layout->widths[i] + (i > 0 ? GAP : 0);
	return total;
}

/* The text that has most to spare loses a column; false: none has. */
static bool cut_one(const struct columns *columns, struct layout *layout)
{
	size_t most = 0;
	size_t cut = 0;

	for (size_t i = 0; i < columns->count; i++) {
		size_t least = columns->columns[i].least;

		if (least <= COLUMNS_SPARE || layout->widths[i] <= least ||
		    layout->widths[i] - least <= most)
			continue;
		most = layout->widths[i] - least;
		cut = i;
	}
	if (most > 0)
		layout->widths[cut]--;
	return most > 0;
}

static bool fit(const struct columns *columns, struct layout *layout)
{
	measure(columns, layout);
	layout->narrow = false;
	layout->narrow = total_of(columns, layout) > layout->terminal->columns;
	while (total_of(columns, layout) > layout->terminal->columns)
		if (!cut_one(columns, layout))
			return false;
	return true;
}

/* ---- lines ---- */

static void cut_to(struct text *text, size_t width)
{
	if (text->broken || readable_width(bytes_in(text)) <= width)
		return;
	text->size = readable_fit(bytes_in(text), width - 1);
	text_adds(text, "…");
}

/* Padded to its column; behind the last one stands nothing, no blanks either.
 */
static void render_cell(const struct columns *columns,
			const struct layout *layout, size_t i,
			const struct cell *cell, struct text *line)
{
	scoped_text struct text shown = { 0 };
	bool is_number = columns->columns[i].is_number;
	size_t width = layout->widths[i];
	size_t taken;
	int blanks;

	add_cell_text(layout, cell, &shown);
	cut_to(&shown, width);
	taken = readable_width(bytes_in(&shown));
	blanks = taken < width ? (int)(width - taken) : 0;
	text_addf(line, "%*s", is_number ? blanks : 0, "");
	terminal_add(layout->terminal, line, cell->style,
		     shown.data == NULL ? "" : shown.data);
	if (i + 1 < columns->count)
		text_addf(line, "%*s", is_number ? GAP : blanks + GAP, "");
}

static void render_row(const struct columns *columns,
		       const struct layout *layout, const struct cell *row,
		       struct text *text)
{
	for (size_t i = 0; i < columns->count; i++)
		if (is_shown(columns, layout, i))
			render_cell(columns, layout, i, &row[i], text);
	text_adds(text, "\n");
}

static void render_titles(const struct columns *columns,
			  const struct layout *layout, struct text *text)
{
	struct cell titles[COLUMNS_MOST_COUNT];

	for (size_t i = 0; i < columns->count; i++)
		titles[i] = (struct cell){ .string = columns->columns[i].title,
					   .style = STYLE_TITLE };
	render_row(columns, layout, titles, text);
}

void columns_render(const struct columns *columns,
		    const struct terminal *terminal, struct text *text)
{
	struct layout layout = { .terminal = terminal };

	text->broken = text->broken || columns->broken;
	if (text->broken || columns->count == 0)
		return;
	if (!fit(columns, &layout)) {
		layout.rounded = true;
		(void)fit(columns, &layout);
	}
	render_titles(columns, &layout, text);
	for (size_t i = 0; i + columns->count <= columns->cell_count;
	     i += columns->count)
		render_row(columns, &layout, &columns->cells[i], text);
}

void columns_fini(struct columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		free(columns->columns[i].title);
	for (size_t i = 0; i < columns->cell_count; i++)
		free(columns->cells[i].owned);
	free(columns->cells);
	*columns = (struct columns){ 0 };
}
