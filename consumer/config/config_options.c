/* The table as an array, and how to find one's way in it. Sections are rows
 * like any other; what belongs to one is told by the path alone. */
#include "config_options.h"

#include "config.h"

#include <stdio.h>
#include <string.h>

#define FLAG_0 0
#define FLAG_REQUIRED CONFIG_REQUIRED
#define FLAG_SECRET CONFIG_SECRET

/* clang-format off */
#define SECTION(a_path, a_kind, a_flags, a_text) \
	{ .path = a_path, .kind = CONFIG_##a_kind, .flags = FLAG_##a_flags, \
	  .text = a_text },
#define OPTION(a_path, a_kind, owner, field, a_min, a_max, a_value, a_flags, \
	       a_text)                                                      \
	{ .path = a_path, .kind = CONFIG_##a_kind, .flags = FLAG_##a_flags, \
	  .offset = offsetof(struct owner, field),                          \
	  .size = sizeof(((struct owner *)0)->field),                       \
	  .min = a_min, .max = a_max, .value = a_value, .text = a_text },
#define WORDS(a_path, owner, field, a_words, a_value, a_text) \
	{ .path = a_path, .kind = CONFIG_WORD,                \
	  .offset = offsetof(struct owner, field),            \
	  .size = sizeof(((struct owner *)0)->field),         \
	  .words = a_words, .value = a_value, .text = a_text },
#define LIST(a_path, a_kind, owner, field, a_count, a_value, a_flags, a_text) \
	{ .path = a_path, .kind = CONFIG_##a_kind, .flags = FLAG_##a_flags,   \
	  .offset = offsetof(struct owner, field),                            \
	  .size = sizeof(((struct owner *)0)->field),                         \
	  .count = offsetof(struct owner, a_count),                           \
	  .value = a_value, .text = a_text },
/* clang-format on */

const struct config_option config_options[] = {
#include "options.tbl"
};

const size_t config_option_count =
	sizeof(config_options) / sizeof(config_options[0]);

_Static_assert(sizeof(config_options) / sizeof(config_options[0]) <= 64,
	       "struct config's `hidden` has a bit for each option");

const char *config_option_key(const struct config_option *option)
{
	const char *dot = strrchr(option->path, '.');

	return dot == NULL ? option->path : dot + 1;
}

size_t config_option_index(const struct config_option *option)
{
	return (size_t)(option - config_options);
}

bool config_option_is_in(const struct config_option *option, const char *prefix)
{
	size_t size = (size_t)(config_option_key(option) - option->path);

	return size == strlen(prefix) &&
	       strncmp(option->path, prefix, size) == 0;
}

const struct config_option *config_option_find(const char *prefix,
					       const char *key)
{
	for (size_t i = 0; i < config_option_count; i++)
		if (config_option_is_in(&config_options[i], prefix) &&
		    strcmp(config_option_key(&config_options[i]), key) == 0)
			return &config_options[i];
	return NULL;
}

bool config_option_has_default(const struct config_option *option)
{
	return option->value != NULL && option->value[0] != '(' &&
	       (option->flags & CONFIG_REQUIRED) == 0;
}

const char *config_kind_word(enum config_kind kind)
{
	static const char *const words[] = {
#define X(name, word) word,
		CONFIG_KIND_TABLE(X)
#undef X
	};

	return words[kind];
}

bool config_kind_is_text(enum config_kind kind)
{
	return kind >= CONFIG_TEXT && kind <= CONFIG_FILE;
}

const char *config_word_at(const char *words, size_t index, size_t *ret_size)
{
	for (; index > 0 && words != NULL; index--) {
		words = strchr(words, '|');
		words = words == NULL ? NULL : words + 1;
	}
	if (words == NULL)
		return NULL;
	*ret_size = strcspn(words, "|");
	return words;
}

void config_option_prefix(const struct config_option *option,
			  char ret_prefix[CONFIG_PREFIX_SIZE])
{
	snprintf(ret_prefix, CONFIG_PREFIX_SIZE, "%s%s.", option->path,
		 option->kind == CONFIG_ROUTES ? "[]" : "");
}
