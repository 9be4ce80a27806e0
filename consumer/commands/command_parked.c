/* onced parked: messages set aside, and what becomes of them. Consumers may
 * run. */
#include "bytes.h"
#include "parked_choice.h"
#include "parked_print.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- list and show ---- */

typedef enum once_status read_f(const char *conninfo,
				const struct once_parked_filter *filter,
				once_parked_f *told, void *arg,
				struct once_error *err);

struct output {
	bool json;
	struct parked_page page;
};

/* Whoever reads it may have gone: then there is nothing more to do. */
static int print_message(void *arg, const struct once_parked_message *msg)
{
	struct output *output = arg;
	struct text *text = &output->page.text;

	if (output->json)
		parked_print_json(&output->page, msg);
	else
		parked_print_text(&output->page, msg);
	if (!text->broken)
		fwrite(text->data, 1, text->size, stdout);
	if (text->broken || ferror(stdout))
		return 1;
	text_reset(text);
	return 0;
}

/* A list that an error cut short is no JSON: nobody takes it for all. */
static int explain(enum once_status status, const struct once_error *err)
{
	fflush(stdout);
	command_complain("%s", err->text);
	return status == ONCE_INVALID ? EXIT_CODE_USAGE
				      : (int)exit_code_of(status);
}

static int end_output(struct output *output)
{
	if (output->page.text.broken) {
		fprintf(stderr, "onced: out of memory\n");
		return EXIT_CODE_BUG;
	}
	if (output->json)
		printf("%s]\n", output->page.count == 0 ? "[" : "");
	else if (output->page.count == 0)
		printf("nothing parked that fits\n");
	fflush(stdout);
	return EXIT_CODE_OK;
}

static int print_chosen(const struct parked_choice *choice, read_f *read,
			struct output *output)
{
	struct once_error err;
	enum once_status status =
		read(choice->cfg->database.conninfo, &choice->filter,
		     print_message, output, &err);

	if (status != ONCE_OK)
		return explain(status, &err);
	return end_output(output);
}

static int list(const struct arguments *arguments)
{
	struct output output = { .json = arguments->json };
	struct parked_choice choice;
	int code = parked_choice_init(&choice, arguments);

	output.page.cfg = choice.cfg;
	if (code == EXIT_CODE_OK)
		code = print_chosen(&choice, once_parked_list, &output);
	parked_page_fini(&output.page);
	parked_choice_fini(&choice);
	return code;
}

static int show_chosen(const struct parked_choice *choice,
		       struct output *output)
{
	int code;

	if (!choice->is_narrow) {
		fprintf(stderr, "onced: which one? Give TOPIC PARTITION "
				"OFFSET, or --key\n");
		return EXIT_CODE_USAGE;
	}
	code = print_chosen(choice, once_parked_show, output);
	if (code == EXIT_CODE_OK && output->page.count == 0)
		return EXIT_CODE_FOUND;
	return code;
}

static int show(const struct arguments *arguments)
{
	struct output output = { .json = arguments->json,
				 .page = { .whole = true } };
	struct parked_choice choice;
	int code = parked_choice_init(&choice, arguments);

	output.page.cfg = choice.cfg;
	if (code == EXIT_CODE_OK)
		code = show_chosen(&choice, &output);
	parked_page_fini(&output.page);
	parked_choice_fini(&choice);
	return code;
}

/* ---- redrive and discard ---- */

typedef enum once_status change_f(const char *conninfo,
				  const struct once_parked_order *order,
				  struct once_parked_result *ret_result,
				  struct once_error *err);

struct deed {
	const char *name;
	const char *done; /* and the count */
	change_f *change;
};

static const struct deed redrive_deed = { "redrive",
					  "redriven: ", once_parked_redrive };
static const struct deed discard_deed = { "discard",
					  "discarded: ", once_parked_discard };

static const char *plural(int64_t count)
{
	return count == 1 ? "message" : "messages";
}

static void print_result(const struct deed *deed,
			 const struct arguments *arguments,
			 const struct once_parked_result *result)
{
	if (arguments->json) {
		printf("{\"command\":\"parked %s\",\"dry_run\":%s,"
		       "\"changed\":%lld,\"skipped\":%lld}\n",
		       deed->name, arguments->dry_run ? "true" : "false",
		       (long long)result->changed, (long long)result->skipped);
		return;
	}
	printf("%s%s%lld %s\n", arguments->dry_run ? "would be " : "",
	       deed->done, (long long)result->changed, plural(result->changed));
	if (result->skipped > 0)
		printf("skipped: %lld %s that somebody else has in hand; try "
		       "again\n",
		       (long long)result->skipped, plural(result->skipped));
}

static int change_chosen(const struct deed *deed,
			 const struct arguments *arguments,
			 const struct parked_choice *choice)
{
	struct once_parked_order order = { .filter = choice->filter,
					   .dry_run = arguments->dry_run };
	struct once_parked_result result;
	scoped_text struct text person = { 0 };
	struct once_error err;
	enum once_status status;

	command_add_person(&person);
	order.person = person.data;
	order.to_route = arguments->given[OPTION_TO_ROUTE];
	if (order.to_route != NULL)
		order.to_group = choice->cfg->kafka.group;
	if (order.filter.state == ONCE_PARKED_ANY &&
	    arguments->given[OPTION_WAITING] == NULL)
		order.filter.state = ONCE_PARKED_DEAD;
	status = deed->change(choice->cfg->database.conninfo, &order, &result,
			      &err);
	if (status == ONCE_OK || result.changed > 0)
		print_result(deed, arguments, &result);
	return status == ONCE_OK ? EXIT_CODE_OK : explain(status, &err);
}

static int change(const struct deed *deed, const struct arguments *arguments)
{
	struct parked_choice choice;
	int code = parked_choice_init(&choice, arguments);

	if (code == EXIT_CODE_OK && !choice.is_narrow && !arguments->dry_run &&
	    arguments->given[OPTION_ALL] == NULL) {
		fprintf(stderr,
			"onced: that is every dead message of the group: say "
			"--all if you mean it, or which ones\n");
		code = EXIT_CODE_USAGE;
	}
	if (code == EXIT_CODE_OK)
		code = change_chosen(deed, arguments, &choice);
	parked_choice_fini(&choice);
	return code;
}

static int redrive(const struct arguments *arguments)
{
	return change(&redrive_deed, arguments);
}

static int discard(const struct arguments *arguments)
{
	return change(&discard_deed, arguments);
}

/* ---- the table ---- */

static const struct command list_command = {
	.name = "parked list",
	.summary = "what is set aside, two lines for each message",
	.help = "Without --route or --scope: of all handlers of the "
		"configuration.",
	.options = PARKED_CHOICE_OPTIONS | TAKES_STATE | TAKES_JSON,
	.run = list,
};

static const struct command show_command = {
	.name = "parked show",
	.summary = "whole messages: headers, key, value, what went wrong",
	.help = "Ends with 1 if there is none. What can't be shown on a "
		"terminal is shown in hex;\nwith --json it is base64.",
	.operands = "[TOPIC PARTITION OFFSET]",
	.operands_most = 3,
	.options = PARKED_CHOICE_OPTIONS | TAKES_STATE | TAKES_JSON,
	.run = show,
};

static const struct command redrive_command = {
	.name = "parked redrive",
	.summary = "dead messages are handled again, as if they had just come",
	.help = "They are claimed like any message: one that was handled "
		"meanwhile is a duplicate,\na conflict is a conflict again. "
		"Consumers may run; they take them up by themselves.\n"
		"A route that was renamed, or whose group is gone, takes up "
		"nothing more: --to-route\ngives what is for it to another one "
		"with the same scope; --waiting: also what waits.",
	.operands = "[TOPIC PARTITION OFFSET]",
	.operands_most = 3,
	.options = PARKED_CHOICE_OPTIONS | TAKES_TO_ROUTE | TAKES_WAITING |
		   TAKES_ALL | TAKES_DRY_RUN | TAKES_JSON,
	.interrupted = "what was redriven so far stays redriven, and "
		       "once.audit says which; run it again for the rest",
	.run = redrive,
};

static const struct command discard_command = {
	.name = "parked discard",
	.summary = "dead messages are deleted for good",
	.help = "once.audit keeps where they were and their keys, not what "
		"they held.",
	.operands = "[TOPIC PARTITION OFFSET]",
	.operands_most = 3,
	.options = PARKED_CHOICE_OPTIONS | TAKES_WAITING | TAKES_ALL |
		   TAKES_DRY_RUN | TAKES_JSON,
	.interrupted = "what was discarded so far stays discarded, and "
		       "once.audit says which; run it again for the rest",
	.run = discard,
};

static const struct command *const parts[] = {
	&list_command, &show_command, &redrive_command, &discard_command, NULL,
};

const struct command command_parked = {
	.name = "parked",
	.summary = "messages set aside: list, show, redrive, discard",
	.help = "See onced parked PART --help.",
	.parts = parts,
};
