/*
 * stepper.h - a route whose handler is another function in each test, which
 * inserts rows by once_insert(); and tables whose triggers count the INSERTs
 * that the server saw.
 */
#ifndef TEST_STEPPER_H
#define TEST_STEPPER_H

#include "trial.h"

typedef enum once_verdict step_f(const struct once_message *msg,
				 struct once_call *call);

extern struct trial trial;
extern struct mail mail;

void stepper_set_up(void);
/* Its statements may take half a second. */
void stepper_set_up_hasty(void);
void stepper_tear_down(void);

/* Run the mail with that handler. */
void run(step_f *step, enum once_status expected);
int64_t count(const char *sql);
/* Rows of table `refund`. */
int64_t refunds(void);
/* INSERT statements. */
int64_t inserts(void);
bool is_value(const struct once_message *msg, const char *value);

/* A handler: a row for `refund`. A value "poison" is no number. */
enum once_verdict insert_refund(const struct once_message *msg,
				struct once_call *call);

#endif
