/* config_faults.h - what is wrong with a configuration: gathered in any order,
 * told in the order of the file. */
#ifndef ONCED_CONFIG_FAULTS_H
#define ONCED_CONFIG_FAULTS_H

#include <once/types.h>
#include <stdbool.h>
#include <stdio.h>

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
	struct fault *items;
	size_t count;
	size_t errors; /* those that aren't warnings */
	bool broken;   /* memory ran out: the configuration is refused */
};

/* Text: "what is wrong; what to write instead". Never holds a secret. */
void faults_add(struct faults *faults, struct place place, const char *fmt, ...)
	ONCE_PRINTF(3, 4);
void faults_warn(struct faults *faults, struct place place, const char *fmt,
		 ...) ONCE_PRINTF(3, 4);
bool faults_refuse(const struct faults *faults);
/* Sorts, then writes one line for each, safe to be shown. */
void faults_write(struct faults *faults, const char *path, FILE *out);
void faults_fini(struct faults *faults);

#endif
