/*
 * config_options.h - the table of options (config/options.tbl) as an array.
 *
 * A section's prefix is what its options' paths begin with: "" at the top,
 * "kafka.", "handlers[].", "handlers[].retry.".
 */
#ifndef ONCED_CONFIG_OPTIONS_H
#define ONCED_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a value is written, and the word for that in --help. */
/* clang-format off */
#define CONFIG_KIND_TABLE(X)           \
	X(SECTION,    "section")       \
	X(ROUTES,     "list of routes") \
	X(TEXT,       "text")          \
	X(CONNINFO,   "text")          \
	X(URL,        "text")          \
	X(NAME,       "name")          \
	X(SCOPE,      "name")          \
	X(INSTANCE,   "Kafka name")    \
	X(BROKERS,    "addresses")     \
	X(ADDRESS,    "address")       \
	X(TEMPLATE,   "template")      \
	X(TOKEN,      "token")         \
	X(FILE,       "file")          \
	X(WORD,       "word")          \
	X(COUNT,      "number")        \
	X(DURATION,   "duration")      \
	X(RETENTION,  "duration, or: forever") \
	X(SIZE,       "size")          \
	X(TOPICS,     "list of topics") \
	X(PROPERTIES, "list of name=value") \
	X(SETTINGS,   "list of name=value") \
	X(SQLSTATES,  "list of SQLSTATEs") \
	X(HOSTS,      "list of host names")
/* clang-format on */

enum config_kind {
#define X(name, word) CONFIG_##name,
	CONFIG_KIND_TABLE(X)
#undef X
};

enum config_flag {
	CONFIG_REQUIRED = 1,
	CONFIG_SECRET = 2 /* may hold a password: never shown whole */
};

struct config_option {
	const char *path;
	enum config_kind kind;
	unsigned flags;
	size_t offset; /* of the field in its owner */
	size_t size;   /* of the field */
	size_t count;  /* a list: offset of the field with its length */
	int64_t min;
	int64_t max;
	const char *words;
	const char *value; /* see options.tbl; NULL: a section */
	const char *text;
};

extern const struct config_option config_options[];
extern const size_t config_option_count;

/* The last part of the path: what is written in the file. */
const char *config_option_key(const struct config_option *option);
/* The index of the row. */
size_t config_option_index(const struct config_option *option);
/* Directly in the section, not deeper. */
bool config_option_is_in(const struct config_option *option,
			 const char *prefix);
/* NULL: no such option in that section. */
const struct config_option *config_option_find(const char *prefix,
					       const char *key);
/* `value` is a default that can be parsed. */
bool config_option_has_default(const struct config_option *option);
const char *config_kind_word(enum config_kind kind);
bool config_kind_is_text(enum config_kind kind);
/* The part of the words that stands at `index`; its length in `ret_size`; NULL:
 * past the last. */
const char *config_word_at(const char *words, size_t index, size_t *ret_size);

enum {
	CONFIG_PREFIX_SIZE = 64
};
/* The prefix of what is inside the section `option`. */
void config_option_prefix(const struct config_option *option,
			  char ret_prefix[CONFIG_PREFIX_SIZE]);

#endif
