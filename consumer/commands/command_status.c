/* onced status: the database's word, and the process's beside it if it
 * answers. */
#include "command.h"
#include "error.h"
#include "process_status.h"
#include "status_facts.h"
#include "status_print.h"

#include <stdio.h>

struct answers {
	struct facts facts;
	struct once_error database;
	struct process_status *process;
	struct once_error asked; /* of the process */
};

static enum once_status ask(const struct config *cfg, struct answers *answers)
{
	enum once_status status =
		process_status_get(cfg->admin.listen, cfg->admin.token,
				   &answers->process, &answers->asked);

	(void)status; /* it may be down: that is what is told then */
	return once_overview(cfg->database.conninfo, cfg->kafka.group,
			     facts_take, &answers->facts, &answers->database);
}

static void show(const struct arguments *arguments,
		 const struct status_page *page)
{
	scoped_text struct text text = { 0 };
	struct terminal terminal;

	terminal_look(&terminal);
	if (arguments->json)
		status_print_json(page, &text);
	else
		status_print(page, &terminal, &text);
	if (text.data != NULL && !text.broken)
		fputs(text.data, stdout);
}

static int status(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	struct answers answers = { 0 };
	struct status_page page = { .cfg = cfg,
				    .database_why = answers.database.text,
				    .process_why = answers.asked.text };
	enum once_status got;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	got = ask(cfg, &answers);
	page.facts = got == ONCE_OK ? &answers.facts : NULL;
	page.process = answers.process;
	show(arguments, &page);
	if (got != ONCE_OK)
		command_complain("%s", answers.database.text);
	process_status_destroy(answers.process);
	facts_fini(&answers.facts);
	config_destroy(cfg);
	return exit_code_of(got);
}

const struct command command_status = {
	.name = "status",
	.summary = "positions, lag, what came of the messages, the log's size",
	.help = "From the database and, if it answers at admin.listen, the "
		"process.",
	.options = TAKES_CONFIG | TAKES_JSON,
	.run = status,
};
