/*
 * terminal.h - what stdout is: a person's terminal, or a file or pipe.
 */
#ifndef ONCED_TERMINAL_H
#define ONCED_TERMINAL_H

#include "text.h"

/* Colour only points at what the words say already. */
enum style {
	STYLE_PLAIN,
	STYLE_TITLE,
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_BAD
};

struct terminal {
	bool interactive; /* somebody looks: digits in groups of three */
	bool colour;      /* not with NO_COLOR, or TERM=dumb */
	size_t columns;   /* 80 to 160; 80 where nobody looks */
	size_t lines;     /* 24 where nobody looks */
};

void terminal_look(struct terminal *terminal);

void terminal_add(const struct terminal *terminal, struct text *text,
		  enum style style, const char *string);
/* 1234567 as "1,234,567", or plain where nobody looks. */
void terminal_add_number(const struct terminal *terminal, struct text *text,
			 int64_t number);
/* In two units at most: "45 s", "2 h 13 min", "12 d 4 h". */
void terminal_add_duration(struct text *text, int64_t seconds);
/* "1.2 GiB" */
void terminal_add_bytes(struct text *text, int64_t bytes);
/* Safe to be shown, lines of at most so many columns, broken at spaces where
 * they have some; all but the first are indented. */
void terminal_add_wrapped(struct text *text, const char *string, size_t indent,
			  size_t columns);

#endif
