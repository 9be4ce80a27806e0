/* Options become a filter. Without a route or scope it means all scopes of the
 * configuration's group and handlers: another service's messages in the same
 * database are none of ours. */
#include "parked_choice.h"

#include "bytes.h"
#include "config_value.h"
#include "similar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
	fprintf(stderr, "onced: out of memory\n");
	return EXIT_CODE_BUG;
}

/* ---- route and scope ---- */

static int refuse_route(const struct config *cfg, const char *route)
{
	struct similar similar = { .word = route };

	for (size_t i = 0; i < cfg->route_count; i++)
		similar_offer(&similar, cfg->routes[i].name);
	fprintf(stderr, "onced: no handler has the name \"%s\"", route);
	if (similar.best != NULL)
		fprintf(stderr, "; did you mean \"%s\"?", similar.best);
	fprintf(stderr,
		"\nonced: if it was renamed, give the scope it had, such as "
		"--scope %s/%s\n",
		cfg->kafka.group, route);
	return EXIT_CODE_USAGE;
}

/* Its scope: no two routes of a configuration have the same. */
static int choose_route(struct parked_choice *choice, const char *route)
{
	const struct config *cfg = choice->cfg;

	for (size_t i = 0; i < cfg->route_count; i++)
		if (strcmp(cfg->routes[i].name, route) == 0) {
			choice->scopes[0] = cfg->routes[i].scope;
			choice->filter.scope_count = 1;
			return EXIT_CODE_OK;
		}
	return refuse_route(cfg, route);
}

static void choose_scope(struct parked_choice *choice, const char *scope)
{
	const struct config *cfg = choice->cfg;

	choice->scopes[0] = scope;
	choice->filter.scope_count = 1;
	for (size_t i = 0; i < cfg->route_count; i++)
		if (strcmp(cfg->routes[i].scope, scope) == 0)
			return;
	fprintf(stderr,
		"onced: no handler of this configuration has the scope \"%s\": "
		"what is redriven there waits until one has\n",
		scope);
}

static void choose_all_scopes(struct parked_choice *choice)
{
	const struct config *cfg = choice->cfg;

	choice->filter.group = cfg->kafka.group;
	for (size_t i = 0; i < cfg->route_count; i++)
		choice->scopes[i] = cfg->routes[i].scope;
	choice->filter.scope_count = cfg->route_count;
}

static int choose_scopes(struct parked_choice *choice,
			 const struct arguments *arguments)
{
	const char *route = arguments->given[OPTION_ROUTE];
	const char *scope = arguments->given[OPTION_SCOPE];
	const char *to_route = arguments->given[OPTION_TO_ROUTE];

	choice->scopes =
		calloc(choice->cfg->route_count + 1, sizeof(*choice->scopes));
	if (choice->scopes == NULL)
		return no_memory();
	choice->filter.scopes = choice->scopes;
	if ((route != NULL) + (scope != NULL) + (to_route != NULL) > 1) {
		fprintf(stderr, "onced: give --route, --scope or --to-route, "
				"only one of them\n");
		return EXIT_CODE_USAGE;
	}
	if (to_route != NULL)
		return choose_route(choice, to_route);
	if (scope == NULL)
		choice->filter.for_group = choice->cfg->kafka.group;
	if (route != NULL)
		return choose_route(choice, route);
	if (scope != NULL)
		choose_scope(choice, scope);
	else
		choose_all_scopes(choice);
	return EXIT_CODE_OK;
}

/* ---- words and numbers ---- */

static int choose_cause(struct parked_choice *choice, const char *word)
{
	static const char *const words[] = {
#define X(name, word) word,
		ONCE_CAUSE_TABLE(X)
#undef X
	};
	const size_t count = sizeof(words) / sizeof(words[0]);

	choice->filter.cause = word;
	for (size_t i = 0; word != NULL && i < count; i++)
		if (i != ONCE_CAUSE_NONE && strcmp(words[i], word) == 0)
			return EXIT_CODE_OK;
	if (word == NULL)
		return EXIT_CODE_OK;
	fprintf(stderr, "onced: there is no reason \"%s\"; known are", word);
	for (size_t i = ONCE_CAUSE_NONE + 1; i < count; i++)
		fprintf(stderr, "%s %s", i == ONCE_CAUSE_NONE + 1 ? "" : ",",
			words[i]);
	fprintf(stderr, "\n");
	return EXIT_CODE_USAGE;
}

static int choose_state(struct parked_choice *choice, const char *word)
{
	if (word == NULL)
		return EXIT_CODE_OK;
	if (strcmp(word, "dead") == 0)
		choice->filter.state = ONCE_PARKED_DEAD;
	else if (strcmp(word, "waiting") == 0)
		choice->filter.state = ONCE_PARKED_WAITING;
	else {
		fprintf(stderr,
			"onced: --state is \"%s\"; write dead or waiting\n",
			word);
		return EXIT_CODE_USAGE;
	}
	return EXIT_CODE_OK;
}

static int choose_age(const char *option, const char *text, int64_t *ret_ms)
{
	static const struct config_option age = { .kind = CONFIG_DURATION,
						  .min = 1,
						  .max = INT64_C(36500) * 24 *
							 3600 * 1000,
						  .value = "1h" };
	struct once_error err;

	if (text == NULL ||
	    value_parse_number(&age, text, ret_ms, &err) == ONCE_OK)
		return EXIT_CODE_OK;
	command_complain("--%s is \"%s\": %s", option, text, err.text);
	return EXIT_CODE_USAGE;
}

static int choose_number(const char *what, const char *text, int64_t min,
			 int64_t max, int64_t *ret_number)
{
	if (text == NULL ||
	    (value_parse_digits(text, max, ret_number) && *ret_number >= min))
		return EXIT_CODE_OK;
	fprintf(stderr,
		"onced: %s is \"%s\"; write a whole number from %lld to %lld\n",
		what, text, (long long)min, (long long)max);
	return EXIT_CODE_USAGE;
}

static int choose_place(struct parked_choice *choice, const char *topic,
			const char *partition, const char *offset)
{
	int64_t number = 0;

	choice->filter.topic = topic;
	if (choose_number("the partition", partition, 0, INT32_MAX, &number) !=
		    EXIT_CODE_OK ||
	    choose_number("the offset", offset, 0, INT64_MAX,
			  &choice->offset) != EXIT_CODE_OK)
		return EXIT_CODE_USAGE;
	choice->partition = (int32_t)number;
	choice->filter.partition =
		partition == NULL ? NULL : &choice->partition;
	choice->filter.offset = offset == NULL ? NULL : &choice->offset;
	return EXIT_CODE_OK;
}

static int choose_places(struct parked_choice *choice,
			 const struct arguments *arguments)
{
	const char *const *given = arguments->given;
	const char *const *operands = arguments->operands;

	if (arguments->operand_count == 0)
		return choose_place(choice, given[OPTION_TOPIC],
				    given[OPTION_PARTITION],
				    given[OPTION_OFFSET]);
	if (arguments->operand_count != 3 || given[OPTION_TOPIC] != NULL ||
	    given[OPTION_PARTITION] != NULL || given[OPTION_OFFSET] != NULL) {
		fprintf(stderr, "onced: a message is TOPIC PARTITION OFFSET: "
				"all three, or options\n");
		return EXIT_CODE_USAGE;
	}
	return choose_place(choice, operands[0], operands[1], operands[2]);
}

/* ---- all of it ---- */

static bool is_narrow(const struct arguments *arguments)
{
	static const enum command_option narrowing[] = {
		OPTION_ROUTE,      OPTION_SCOPE,  OPTION_TOPIC,
		OPTION_PARTITION,  OPTION_OFFSET, OPTION_REASON,
		OPTION_KEY,        OPTION_STATE,  OPTION_OLDER_THAN,
		OPTION_NEWER_THAN,
	};

	for (size_t i = 0; i < sizeof(narrowing) / sizeof(narrowing[0]); i++)
		if (arguments->given[narrowing[i]] != NULL)
			return true;
	return arguments->operand_count > 0;
}

static int choose(struct parked_choice *choice,
		  const struct arguments *arguments)
{
	const char *const *given = arguments->given;
	struct once_parked_filter *filter = &choice->filter;
	int code = choose_cause(choice, given[OPTION_REASON]);

	if (code == EXIT_CODE_OK)
		code = choose_state(choice, given[OPTION_STATE]);
	if (code == EXIT_CODE_OK)
		code = choose_places(choice, arguments);
	if (code == EXIT_CODE_OK)
		code = choose_age("older-than", given[OPTION_OLDER_THAN],
				  &filter->older_than_ms);
	if (code == EXIT_CODE_OK)
		code = choose_age("newer-than", given[OPTION_NEWER_THAN],
				  &filter->newer_than_ms);
	if (code == EXIT_CODE_OK)
		code = choose_number("--limit", given[OPTION_LIMIT], 1,
				     INT64_MAX, &filter->limit);
	filter->key = bytes_text(given[OPTION_KEY]);
	choice->is_narrow = is_narrow(arguments);
	return code;
}

int parked_choice_init(struct parked_choice *choice,
		       const struct arguments *arguments)
{
	int code;

	*choice = (struct parked_choice){ 0 };
	code = choose(choice, arguments);
	if (code != EXIT_CODE_OK)
		return code;
	choice->cfg = command_load_config(arguments);
	if (choice->cfg == NULL)
		return EXIT_CODE_CONFIG;
	return choose_scopes(choice, arguments);
}

void parked_choice_fini(struct parked_choice *choice)
{
	free(choice->scopes);
	config_destroy(choice->cfg);
}
