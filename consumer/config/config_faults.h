/* config_faults.h - what is wrong with a configuration: gathered in any order,
 * told in the order of the file. */
#ifndef ONCED_CONFIG_FAULTS_H
#define ONCED_CONFIG_FAULTS_H

#include <once/types.h>
#include <stdbool.h>
#include <stdio.h>

enum {
	FAULTS_KEPT = 200,
	FAULTS_SHOWN = 50 /* nobody mends more than that at once */
};

/* In the file, from 1; line 0: the file as a whole. */
struct place {
	int line;
	int column;
};

struct fault {
	struct place place;
	size_t number; /* in the order found: keeps sorting stable */
	bool warning;
	char *text;
};

/* All zero is empty. */
struct faults {
	struct fault *items; /* FAULTS_KEPT at most */
	size_t count;
	size_t unshown; /* errors that weren't kept */
	size_t errors;  /* those that aren't warnings */
	bool broken;    /* memory ran out: the configuration is refused */
};

/* Text: "what is wrong; what to write instead". Never holds a secret. */
void faults_add(struct faults *faults, struct place place, const char *fmt, ...)
	ONCE_PRINTF(3, 4);
void faults_warn(struct faults *faults, struct place place, const char *fmt,
		 ...) ONCE_PRINTF(3, 4);
/* As many errors as are kept: one more is only counted, so its text needs no
 * search for what was meant. */
bool faults_are_many(const struct faults *faults);
bool faults_refuse(const struct faults *faults);
/* Sorts, then writes one line for each, safe to be shown, and one that counts
 * what is left out. */
void faults_write(struct faults *faults, const char *path, FILE *out);
void faults_fini(struct faults *faults);

#endif
