/*
 * Numbers and words. A quantity is a whole number and a unit with nothing
 * between; units are tables, largest last, used to read and to write.
 */
#include "config_value.h"

#include "error.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

struct unit {
	const char *word;
	int64_t factor;
};

/* clang-format off */
static const struct unit duration_units[] = {
	{ "ms", 1 },
	{ "s",  1000 },
	{ "m",  INT64_C(60) * 1000 },
	{ "h",  INT64_C(3600) * 1000 },
	{ "d",  INT64_C(24) * 3600 * 1000 },
	{ NULL, 0 },
};

static const struct unit size_units[] = {
	{ "B",   1 },
	{ "KiB", INT64_C(1) << 10 },
	{ "MiB", INT64_C(1) << 20 },
	{ "GiB", INT64_C(1) << 30 },
	{ NULL,  0 },
};
/* clang-format on */

/* For COUNT: no unit is the unit. */
static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };

static const struct unit *units_of(enum config_kind kind)
{
	if (kind == CONFIG_SIZE)
		return size_units;
	if (kind == CONFIG_DURATION || kind == CONFIG_RETENTION)
		return duration_units;
	return no_units;
}

bool value_parse_digits(const char *text, int64_t max, int64_t *ret_number)
{
	int64_t number = 0;

	if (text[0] == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (number > (max - (*text - '0')) / 10)
			return false;
		number = number * 10 + (*text - '0');
	}
	*ret_number = number;
	return true;
}

void value_format_number(enum config_kind kind, int64_t number,
			 char ret_text[VALUE_SIZE])
{
	const struct unit *units = units_of(kind);
	const struct unit *best = units;

	for (; units->word != NULL; units++)
		if (number != 0 && number % units->factor == 0)
			best = units;
	if (number < 0)
		snprintf(ret_text, VALUE_SIZE, "forever");
	else
		snprintf(ret_text, VALUE_SIZE, "%lld%s",
			 (long long)(number / best->factor), best->word);
}

/* What to write: the default, or for want of one the least that is allowed. */
static const char *example_of(const struct config_option *option,
			      char text[VALUE_SIZE])
{
	if (config_option_has_default(option) ||
	    option->kind == CONFIG_RETENTION)
		return option->value;
	value_format_number(option->kind, option->min, text);
	return text;
}

static const char *or_forever(const struct config_option *option)
{
	return option->kind == CONFIG_RETENTION ? ", or: forever" : "";
}

static enum once_status refuse_shape(const struct config_option *option,
				     struct once_error *err)
{
	char text[VALUE_SIZE];
	const char *example = example_of(option, text);

	if (option->kind == CONFIG_SIZE)
		return error_set(err, ONCE_INVALID,
				 "not a size; write a whole number with B, "
				 "KiB, MiB or GiB, such as %s",
				 example);
	if (units_of(option->kind) == duration_units)
		return error_set(err, ONCE_INVALID,
				 "not a duration; write a whole number with "
				 "ms, s, m, h or d, such as %s%s",
				 example, or_forever(option));
	return error_set(err, ONCE_INVALID,
			 "not a number; write a whole number in digits, such "
			 "as %s",
			 example);
}

static enum once_status refuse_unit(const struct config_option *option,
				    const char *unit, struct once_error *err)
{
	char text[VALUE_SIZE];
	const char *example = example_of(option, text);
	const char *fault = unit[0] == '\0' ? "the unit is missing"
					    : "the unit isn't known";

	if (option->kind == CONFIG_SIZE)
		return error_set(err, ONCE_INVALID,
				 "%s; write B, KiB, MiB or GiB right behind "
				 "the number, such as %s",
				 fault, example);
	if (units_of(option->kind) == duration_units)
		return error_set(err, ONCE_INVALID,
				 "%s; write ms, s, m, h or d right behind the "
				 "number, such as %s%s",
				 fault, example, or_forever(option));
	return refuse_shape(option, err);
}

static enum once_status refuse_range(const struct config_option *option,
				     struct once_error *err)
{
	char min[VALUE_SIZE];
	char max[VALUE_SIZE];

	value_format_number(option->kind, option->min, min);
	value_format_number(option->kind, option->max, max);
	return error_set(err, ONCE_INVALID,
			 "out of range; write something from %s to %s%s", min,
			 max, or_forever(option));
}

enum once_status value_parse_number(const struct config_option *option,
				    const char *text, int64_t *ret_number,
				    struct once_error *err)
{
	size_t size = strspn(text, "0123456789");
	const struct unit *unit = units_of(option->kind);
	char digits[20];

	if (option->kind == CONFIG_RETENTION && strcmp(text, "forever") == 0) {
		*ret_number = -1;
		return ONCE_OK;
	}
	if (size == 0)
		return refuse_shape(option, err);
	while (unit->word != NULL && strcmp(unit->word, text + size) != 0)
		unit++;
	if (unit->word == NULL)
		return refuse_unit(option, text + size, err);
	snprintf(digits, sizeof(digits), "%.*s", (int)size, text);
	if (size >= sizeof(digits) ||
	    !value_parse_digits(digits, INT64_MAX / unit->factor, ret_number))
		return refuse_range(option, err);
	*ret_number *= unit->factor;
	if (*ret_number < option->min || *ret_number > option->max)
		return refuse_range(option, err);
	return ONCE_OK;
}

static enum once_status refuse_word(const struct config_option *option,
				    struct once_error *err)
{
	struct text list scoped_text = { 0 };
	const char *word;
	size_t size;

	for (size_t i = 0;
	     (word = config_word_at(option->words, i, &size)) != NULL; i++)
		text_addf(&list, "%s\"%.*s\"", list.size == 0 ? "" : ", ",
			  (int)size, word);
	return error_set(err, ONCE_INVALID,
			 "not one of its words; write one of %s",
			 list.data == NULL ? "the known words" : list.data);
}

enum once_status value_parse_word(const struct config_option *option,
				  const char *text, int64_t *ret_index,
				  struct once_error *err)
{
	const char *word;
	size_t size;

	for (size_t i = 0;
	     (word = config_word_at(option->words, i, &size)) != NULL; i++) {
		if (strlen(text) != size || strncmp(word, text, size) != 0)
			continue;
		*ret_index = (int64_t)i;
		return ONCE_OK;
	}
	return refuse_word(option, err);
}
