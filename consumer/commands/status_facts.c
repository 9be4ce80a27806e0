/* Copies: what is told ends with the call. */
#include "status_facts.h"

#include "bytes.h"

#include <stdlib.h>

/* The rest is text. */
static const char *const numbers[] = { "partition",   "next_offset",
				       "age_seconds", "attempts",
				       "count",       "rows",
				       "rows_about",  "bytes" };

static bool is_number(const char *name)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (strcmp(numbers[i], name) == 0)
			return true;
	return false;
}

/* ---- keeping ---- */

static char **copy_all(const char *const *strings, size_t count)
{
	char **copies = calloc(count, sizeof(*copies));

	for (size_t i = 0; copies != NULL && i < count; i++)
		copies[i] = strdup(strings[i] == NULL ? "" : strings[i]);
	return copies;
}

static void free_all(char **strings, size_t count)
{
	for (size_t i = 0; strings != NULL && i < count; i++)
		free(strings[i]);
	free(strings);
}

static bool is_whole(const struct fact *fact)
{
	if (fact->section == NULL || fact->names == NULL ||
	    fact->values == NULL)
		return false;
	for (size_t i = 0; i < fact->count; i++)
		if (fact->names[i] == NULL || fact->values[i] == NULL)
			return false;
	return true;
}

void facts_take(void *arg, const char *section, const char *const *names,
		const char *const *values, size_t count)
{
	struct facts *facts = arg;
	struct fact *rows =
		realloc(facts->rows, (facts->count + 1) * sizeof(*rows));

	if (rows == NULL) {
		facts->broken = true;
		return;
	}
	facts->rows = rows;
	rows[facts->count] =
		(struct fact){ strdup(section), count, copy_all(names, count),
			       copy_all(values, count) };
	if (!is_whole(&rows[facts->count]))
		facts->broken = true;
	facts->count++;
}

void facts_fini(struct facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		free(facts->rows[i].section);
		free_all(facts->rows[i].names, facts->rows[i].count);
		free_all(facts->rows[i].values, facts->rows[i].count);
	}
	free(facts->rows);
	*facts = (struct facts){ 0 };
}

/* ---- asking ---- */

bool fact_is_of(const struct fact *fact, const char *section)
{
	return strcmp(fact->section, section) == 0;
}

const char *fact_text(const struct fact *fact, const char *name)
{
	for (size_t i = 0; i < fact->count; i++)
		if (strcmp(fact->names[i], name) == 0)
			return fact->values[i];
	return "";
}

int64_t fact_number(const struct fact *fact, const char *name)
{
	return strtoll(fact_text(fact, name), NULL, 10);
}

/* ---- JSON ---- */

static void add_row(const struct fact *fact, struct text *json)
{
	text_adds(json, "{");
	for (size_t i = 0; i < fact->count; i++) {
		text_adds(json, i == 0 ? "" : ",");
		text_add_json(json, bytes_text(fact->names[i]));
		text_adds(json, ":");
		if (is_number(fact->names[i]) && fact->values[i][0] == '\0')
			text_adds(json, "null");
		else if (is_number(fact->names[i]))
			text_addf(json, "%lld",
				  (long long)fact_number(fact, fact->names[i]));
		else
			text_add_json(json, bytes_text(fact->values[i]));
	}
	text_adds(json, "}");
}

void facts_add_json(const struct facts *facts, struct text *json)
{
	const char *section = NULL;

	for (size_t i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->rows[i];
		bool begins = section == NULL || !fact_is_of(fact, section);

		if (begins) {
			text_adds(json, section == NULL ? "," : "],");
			text_add_json(json, bytes_text(fact->section));
			text_adds(json, ":[");
		} else {
			text_adds(json, ",");
		}
		section = fact->section;
		add_row(fact, json);
	}
	text_adds(json, section == NULL ? "" : "]");
}
