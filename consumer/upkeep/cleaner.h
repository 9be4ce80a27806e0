/*
 * cleaner.h - the thread that keeps the log's size: removes what is older than
 * the retention, and tells the numbers how the log stands.
 *
 * It takes at most half of the time, and looks once a minute when there is
 * nothing to remove. Of several processes one does it at a time.
 *
 * Threads: main; the cleaner's own is inside.
 */
#ifndef ONCED_CLEANER_H
#define ONCED_CLEANER_H

#include "config.h"
#include "numbers.h"

struct cleaner;

/* Both outlive it. */
enum once_status cleaner_start(const struct config *cfg,
			       struct numbers *numbers,
			       struct cleaner **ret_cleaner,
			       struct once_error *err);
/* It ends behind the transaction that it is in. */
void cleaner_ask_to_stop(struct cleaner *cleaner);
bool cleaner_has_ended(const struct cleaner *cleaner);
/* Waits for its end. */
void cleaner_destroy(struct cleaner *cleaner);

#endif
