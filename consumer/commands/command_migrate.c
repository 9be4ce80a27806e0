/* onced migrate */
#include "command.h"

#include <stdio.h>

struct telling {
	bool dry_run;
	int applied;
};

static void tell(void *arg, int version, const char *name, int applied,
		 const char *sql)
{
	struct telling *telling = arg;

	(void)version;
	telling->applied += applied;
	if (telling->dry_run && applied)
		printf("-- %s\n%s\n", name, sql);
	else if (!telling->dry_run)
		printf("%s %s\n", name, applied ? "applied" : "was there");
}

static int migrate(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	struct telling telling = { arguments->dry_run, 0 };
	enum once_status status;
	struct once_error err;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	status = once_migrate(cfg->database.conninfo, arguments->dry_run, tell,
			      &telling, &err);
	config_destroy(cfg);
	if (status != ONCE_OK)
		command_complain("%s", err.text);
	return exit_code_of(status);
}

const struct command command_migrate = {
	.name = "migrate",
	.summary = "brings schema \"once\" up to date",
	.help = "Safe to run from many processes at once. --dry-run prints the "
		"SQL instead.",
	.options = TAKES_CONFIG | TAKES_DRY_RUN,
	.interrupted = "each migration is applied whole or not at all; run it "
		       "again for the rest",
	.run = migrate,
};
