/* onced top: the keys that come again and again, as the running process has
 * counted them; on a terminal again and again itself. */
#include "command.h"
#include "process_status.h"
#include "top_print.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	EVERY_SECONDS = 2
};

#define HOME_AND_CLEAR "\033[H\033[J"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"

/* ---- once ---- */

static void print_json(const struct process_status *process)
{
	char *json = process_status_dump(process, "repeated");

	printf("%s\n", json == NULL ? "[]" : json);
	free(json);
}

static void print_table(const struct process_status *process,
			const struct terminal *terminal)
{
	scoped_text struct text text = { 0 };

	top_print(process, terminal, &text);
	if (text.data != NULL && !text.broken)
		fputs(text.data, stdout);
}

static int print_once(const struct config *cfg,
		      const struct arguments *arguments,
		      const struct terminal *terminal)
{
	struct process_status *process = NULL;
	struct once_error err;
	enum once_status status = process_status_get(
		cfg->admin.listen, cfg->admin.token, &process, &err);

	if (status != ONCE_OK) {
		command_complain("%s", err.text);
		return exit_code_of(status);
	}
	if (arguments->json)
		print_json(process);
	else
		print_table(process, terminal);
	process_status_destroy(process);
	return EXIT_CODE_OK;
}

/* ---- until Ctrl-C ---- */

/* What is below the last line of the terminal would move the first ones out. */
static void cut_to_screen(struct text *text, size_t lines)
{
	for (size_t i = 0; i < text->size; i++)
		if (text->data[i] == '\n' && --lines == 1) {
			text->size = i + 1;
			text->data[text->size] = '\0';
			return;
		}
}

static enum once_status make_screen(const struct config *cfg,
				    const struct terminal *terminal,
				    struct text *text, struct once_error *err)
{
	struct process_status *process = NULL;
	enum once_status status = process_status_get(
		cfg->admin.listen, cfg->admin.token, &process, err);

	if (status == ONCE_OK)
		top_print(process, terminal, text);
	else
		terminal_add_wrapped(text, err->text, 0, terminal->columns);
	process_status_destroy(process);
	cut_to_screen(text, terminal->lines);
	return status;
}

/* false: we were told to stop. The signals are blocked, and so wait here. */
static bool wait_for_next(void)
{
	const struct timespec wait = { EVERY_SECONDS, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return sigtimedwait(&set, NULL, &wait) < 0;
}

static bool show_screen(const struct text *screen)
{
	fputs(HIDE_CURSOR HOME_AND_CLEAR, stdout);
	fputs(screen->data == NULL ? "" : screen->data, stdout);
	return fflush(stdout) == 0;
}

/* One that answered once, and is restarted, is waited for. */
static int print_until_told(const struct config *cfg)
{
	bool answered = false;
	bool goes_on = true;

	command_block_signals(); /* the cursor comes back */
	while (goes_on) {
		scoped_text struct text screen = { 0 };
		struct terminal terminal;
		struct once_error err;
		enum once_status status;

		terminal_look(&terminal); /* it may have another size now */
		status = make_screen(cfg, &terminal, &screen, &err);
		if (status != ONCE_OK && !answered) {
			command_complain("%s", err.text);
			return exit_code_of(status);
		}
		answered = true;
		goes_on = show_screen(&screen) && wait_for_next();
	}
	fputs(SHOW_CURSOR "\n", stdout);
	return EXIT_CODE_OK;
}

static int top(const struct arguments *arguments)
{
	struct config *cfg = command_load_config(arguments);
	bool is_once = arguments->given[OPTION_ONCE] != NULL;
	struct terminal terminal;
	int code;

	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	terminal_look(&terminal);
	if (!terminal.interactive || is_once || arguments->json)
		code = print_once(cfg, arguments, &terminal);
	else
		code = print_until_told(cfg);
	config_destroy(cfg);
	return code;
}

const struct command command_top = {
	.name = "top",
	.summary = "the keys most often repeated",
	.help = "Asks the process at admin.listen. Counts are since it "
		"started; \"error\" is by how much they\n"
		"may be too high. On a terminal it goes on until Ctrl-C.",
	.options = TAKES_CONFIG | TAKES_ONCE | TAKES_JSON,
	.run = top,
};
