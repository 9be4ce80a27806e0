/* onced run */
#include "command.h"
#include "log.h"
#include "runtime.h"

static int run(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	int code;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	log_set_level((enum log_level)cfg->log_level);
	code = runtime_run(cfg);
	config_destroy(cfg);
	return code;
}

const struct command command_run = {
	.name = "run",
	.summary = "consumes until told to stop",
	.help = "Reads the topics of all handlers. SIGTERM and SIGINT stop it: "
		"what is in flight is\nfinished, offsets are committed, the "
		"group is left. A second signal ends it at once,\nwhich is "
		"safe too. It waits for a database or broker that isn't there.",
	.options = TAKES_CONFIG,
	.takes_signals = true,
	.run = run,
};
