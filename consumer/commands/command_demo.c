/* onced demo */
#include "command.h"
#include "story.h"

#include <stdio.h>

static int demo(const struct arguments *arguments)
{
	struct once_error err;
	bool is_good;
	enum once_status status = story_tell(&is_good, &err);

	(void)arguments;
	if (status != ONCE_OK)
		command_complain("%s", err.text);
	if (status == ONCE_CONFIG)
		return EXIT_CODE_CONFIG;
	return status == ONCE_OK && is_good ? EXIT_CODE_OK : EXIT_CODE_FOUND;
}

const struct command command_demo = {
	.name = "demo",
	.summary = "10,000 refunds, repeated, and a consumer killed three "
		   "times: the proof",
	.help = "Takes about 40 s and needs nothing but PostgreSQL's server "
		"programs. Messages are\ndelivered again, pushed again under "
		"new ids, changed, poisoned; the consumer is\nkilled with "
		"SIGKILL in mid batch. Then the database is asked what came of "
		"it.\nExit code 0: each refund took effect once.",
	.options = 0,
	.takes_signals = true,
	.run = demo,
};
