/* A handler says which settings it has by asking for them: there is no list of
 * them. So what is set and was never asked for, when open() has returned, is a
 * name that it doesn't know, and its own default would be in effect. */
#include "settings.h"

#include "error.h"
#include "similar.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct once__asked {
	char **names; /* each once */
	size_t count;
	bool pairs[]; /* of the settings: somebody has asked for it */
};

/* ---- for handlers ---- */

/* Only for what a complaint may suggest; without memory it does without. */
static void note_name(struct once__asked *asked, const char *name)
{
	char **names;

	for (size_t i = 0; i < asked->count; i++)
		if (strcmp(asked->names[i], name) == 0)
			return;
	names = realloc(asked->names, (asked->count + 1) * sizeof(*names));
	if (names == NULL)
		return;
	asked->names = names;
	names[asked->count] = strdup(name);
	asked->count += names[asked->count] != NULL;
}

const char *once_setting(const struct once_settings *settings, const char *name,
			 const char *otherwise)
{
	const char *value = NULL;
	size_t size = strlen(name);

	for (size_t i = settings->count; i > 0; i--) {
		const char *pair = settings->pairs[i - 1];

		if (strncmp(pair, name, size) != 0 || pair[size] != '=')
			continue;
		if (settings->asked != NULL)
			settings->asked->pairs[i - 1] = true;
		if (value == NULL)
			value = pair + size + 1;
	}
	if (settings->asked != NULL)
		note_name(settings->asked, name);
	return value == NULL ? otherwise : value;
}

void once_refuse(struct once_settings *settings, const char *fmt, ...)
{
	char text[ONCE_REASON_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	free(settings->refusal);
	settings->refusal = strdup(text);
}

/* ---- for sessions ---- */

enum once_status once__settings_lend(const struct once_settings *settings,
				     struct once_settings *ret_lent,
				     struct once_error *err)
{
	*ret_lent = *settings;
	ret_lent->refusal = NULL;
	ret_lent->asked = calloc(1, sizeof(*ret_lent->asked) +
					    settings->count * sizeof(bool));
	return ret_lent->asked == NULL ? error_no_memory(err) : ONCE_OK;
}

static void list_names(const struct once__asked *asked, struct text *text)
{
	for (size_t i = 0; i < asked->count; i++)
		text_addf(text, "%s\"%s\"", i == 0 ? "" : ", ",
			  asked->names[i]);
	if (asked->count == 0)
		text_adds(text, "none");
}

static enum once_status refuse(const struct once__asked *asked,
			       const char *name, struct once_error *err)
{
	struct similar similar = { .word = name };
	scoped_text struct text names = { 0 };

	for (size_t i = 0; i < asked->count; i++)
		similar_offer(&similar, asked->names[i]);
	if (similar.best != NULL)
		return error_set(err, ONCE_CONFIG,
				 "it has no setting \"%.60s\"; did you mean "
				 "\"%s\"?",
				 name, similar.best);
	list_names(asked, &names);
	return error_set(err, ONCE_CONFIG,
			 "it has no setting \"%.60s\"; it asks for %.120s",
			 name, names.data == NULL ? "others" : names.data);
}

enum once_status once__settings_check(const struct once_settings *lent,
				      struct once_error *err)
{
	for (size_t i = 0; i < lent->count; i++) {
		scoped_text struct text name = { 0 };

		if (lent->asked->pairs[i])
			continue;
		text_add(&name, lent->pairs[i], strcspn(lent->pairs[i], "="));
		return refuse(lent->asked, name.data == NULL ? "" : name.data,
			      err);
	}
	return ONCE_OK;
}

void once__settings_fini(struct once_settings *lent)
{
	free(lent->refusal);
	for (size_t i = 0; lent->asked != NULL && i < lent->asked->count; i++)
		free(lent->asked->names[i]);
	if (lent->asked != NULL)
		free(lent->asked->names);
	free(lent->asked);
}
