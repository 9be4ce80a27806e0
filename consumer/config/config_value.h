/*
 * config_value.h - the kinds of values: how each is written and what it allows.
 *
 * Errors: INVALID; the text is "what is wrong; what to write instead" and never
 * quotes the value, which may be a secret. It reads on from `name is "value":
 * `.
 */
#ifndef ONCED_CONFIG_VALUE_H
#define ONCED_CONFIG_VALUE_H

#include "config_options.h"

#include <once/types.h>

/* COUNT; DURATION and RETENTION (ms; -1: for ever); SIZE (bytes). */
enum once_status value_parse_number(const struct config_option *option,
				    const char *text, int64_t *ret_number,
				    struct once_error *err) ONCE_MUST_CHECK;
/* WORD: the index among the option's words. */
enum once_status value_parse_word(const struct config_option *option,
				  const char *text, int64_t *ret_index,
				  struct once_error *err) ONCE_MUST_CHECK;
/* The text kinds, FILE aside from being there. */
enum once_status value_check_text(const struct config_option *option,
				  const char *text,
				  struct once_error *err) ONCE_MUST_CHECK;
/* A topic's name. */
enum once_status value_check_topic(const char *text,
				   struct once_error *err) ONCE_MUST_CHECK;
/* A host's name, without a port. */
enum once_status value_check_host(const char *text,
				  struct once_error *err) ONCE_MUST_CHECK;
/* An SQLSTATE, or a class of them. */
enum once_status value_check_sqlstate(const char *text,
				      struct once_error *err) ONCE_MUST_CHECK;
/* Digits only, no sign; false also beyond `max`. */
bool value_parse_digits(const char *text, int64_t max, int64_t *ret_number);

enum {
	VALUE_SIZE = 32
};
/* As a person writes it: in the largest unit that needs no fraction. */
void value_format_number(enum config_kind kind, int64_t number,
			 char ret_text[VALUE_SIZE]);

#endif
