/* What to write instead of a key: where it belongs if another section has it,
 * else the nearest of this section, else any of them. */
#include "config_keys.h"

#include "config_secret.h"
#include "similar.h"
#include "text.h"

#include <string.h>

/* "kafka." is told as "kafka"; the top has no name. */
static int prefix_size(const char *prefix)
{
	return prefix[0] == '\0' ? 0 : (int)strlen(prefix) - 1;
}

/* The only other section that has such a key. */
static const struct config_option *find_elsewhere(const char *key)
{
	const struct config_option *found = NULL;

	for (size_t i = 0; i < config_option_count; i++) {
		if (strcmp(config_option_key(&config_options[i]), key) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = &config_options[i];
	}
	return found;
}

static void list_keys(const char *prefix, struct text *text)
{
	for (size_t i = 0; i < config_option_count; i++) {
		const struct config_option *option = &config_options[i];

		if (config_option_is_in(option, prefix))
			text_addf(text, "%s%s", text->size > 0 ? ", " : "",
				  config_option_key(option));
	}
}

/* What the unknown key was probably meant to be; NULL: nothing is near. */
static const char *find_meant(const struct section *section, const char *key)
{
	struct similar similar = { .word = key };

	for (size_t i = 0; i < config_option_count; i++)
		if (config_option_is_in(&config_options[i], section->prefix))
			similar_offer(&similar,
				      config_option_key(&config_options[i]));
	return similar.best;
}

/* Options that were, and what to do instead. */
static const struct {
	const char *prefix;
	const char *key;
	const char *advice;
} retired[] = {
	{ "kafka.", "start_from",
	  "the position in the database always counts; remove the line. To "
	  "start once where the group's offset in Kafka is, stop the group and "
	  "run: onced seek --topic TOPIC --to group" },
};

static const char *find_advice(const struct section *section, const char *key)
{
	for (size_t i = 0; i < sizeof(retired) / sizeof(retired[0]); i++)
		if (strcmp(retired[i].prefix, section->prefix) == 0 &&
		    strcmp(retired[i].key, key) == 0)
			return retired[i].advice;
	return NULL;
}

static void refuse_key(struct reader *reader, const struct section *section,
		       const struct tree_node *member)
{
	const char *advice = find_advice(section, member->key);
	bool search = !faults_are_many(reader->faults);
	const struct config_option *elsewhere =
		search ? find_elsewhere(member->key) : NULL;
	const char *meant = search ? find_meant(section, member->key) : NULL;
	struct text keys scoped_text = { 0 };
	struct text fault scoped_text = { 0 };

	if (advice != NULL) {
		faults_add(reader->faults, member->key_place,
			   "%s%s is no option any more: %s", section->prefix,
			   member->key, advice);
		return;
	}
	list_keys(section->prefix, &keys);
	text_addf(&fault, "\"%.60s\" is no option%s%.*s; ",
		  secret_value(member->key) ? "..." : member->key,
		  section->prefix[0] == '\0' ? "" : " of ",
		  prefix_size(section->prefix), section->prefix);
	if (elsewhere != NULL)
		text_addf(&fault, "write it where it belongs, as %s",
			  elsewhere->path);
	else if (meant != NULL)
		text_addf(&fault, "did you mean \"%s\"?", meant);
	else
		text_addf(&fault, "write one of %s",
			  keys.data == NULL ? "the options" : keys.data);
	faults_add(reader->faults, member->key_place, "%s",
		   fault.data == NULL ? "unknown key" : fault.data);
}

void keys_refuse_unknown(struct reader *reader, const struct section *section)
{
	const struct tree_node *member =
		section->map == NULL ? NULL : section->map->children;

	for (; member != NULL; member = member->next)
		if (config_option_find(section->prefix, member->key) == NULL)
			refuse_key(reader, section, member);
}

/* Then its key was told as unknown, with what is meant: once is enough. Not
 * looked for beyond the faults that are shown. */
static bool is_misspelt(const struct section *section, const char *key)
{
	const struct tree_node *member =
		section->map == NULL ? NULL : section->map->children;

	for (size_t i = 0; member != NULL && i < FAULTS_SHOWN;
	     member = member->next, i++) {
		const char *meant;

		if (config_option_find(section->prefix, member->key) != NULL)
			continue;
		meant = find_meant(section, member->key);
		if (meant != NULL && strcmp(meant, key) == 0)
			return true;
	}
	return false;
}

void keys_refuse_missing(struct reader *reader, const struct section *section,
			 const struct config_option *option)
{
	const char *key = config_option_key(option);
	const char *value = option->value == NULL ? "" : option->value;

	if (is_misspelt(section, key))
		return;
	if (option->kind == CONFIG_RETENTION)
		faults_add(reader->faults, section->place,
			   "%s is missing, and how long handled messages are "
			   "remembered must be said; write \"%s: %s\", or "
			   "\"%s: forever\"",
			   option->path, key, value, key);
	else if (option->kind == CONFIG_ROUTES)
		faults_add(reader->faults, section->place,
			   "%s is missing; write a list of routes, each with "
			   "name, topics and plugin",
			   option->path);
	else
		faults_add(reader->faults, section->place,
			   "%s is missing; write \"%s: %s\"%s%.*s",
			   option->path, key, value,
			   section->prefix[0] == '\0' ? "" : " under ",
			   prefix_size(section->prefix), section->prefix);
}
