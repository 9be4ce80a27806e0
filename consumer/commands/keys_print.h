/* keys_print.h - what `onced keys` has found for a route, for people and for
 * scripts. */
#ifndef ONCED_KEYS_PRINT_H
#define ONCED_KEYS_PRINT_H

#include "config.h"
#include "key_survey.h"
#include "sample.h"
#include "text.h"

struct keys_report {
	const struct route_config *route;
	const struct key_survey *survey; /* its places are these partitions: */
	const struct sample_partition *partitions;
	size_t partition_count;
};

/* Messages that wouldn't flow by, and partitions that would stand still. */
int64_t keys_report_parked(const struct keys_report *report);
bool keys_report_halts(const struct keys_report *report);

/* 80 columns wide. */
void keys_print_text(struct text *text, const struct keys_report *report);
/* One object. */
void keys_print_json(struct text *text, const struct keys_report *report);

#endif
