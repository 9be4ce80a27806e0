/*
 * onced: arguments, signals, exit codes. Signals are blocked here, before any
 * thread starts, and taken where a command waits for them.
 */
#include "command.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
	&command_run,  &command_check,  &command_migrate, &command_dev,
	&command_demo, &command_status, &command_seek,    &command_version,
};

/* In the plan, and refused by name until they are there. */
static const char *const planned[] = { "top", "keys", "parked", "gc",
				       "verify" };

enum {
	COUNT_COMMANDS = sizeof(commands) / sizeof(commands[0]),
	COUNT_PLANNED = sizeof(planned) / sizeof(planned[0])
};

static void print_usage(FILE *out)
{
	fprintf(out, "usage: onced COMMAND [-c FILE] [--json] [--help]\n\n");
	for (size_t i = 0; i < COUNT_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name,
			commands[i]->summary);
	fprintf(out, "\nFILE defaults to onced.yaml. Results go to stdout, the "
		     "log to stderr.\n");
}

static void print_help(const struct command *command)
{
	printf("usage: onced %s%s%s%s%s%s\n\n%s.\n", command->name,
	       command->options & TAKES_CONFIG ? " [-c FILE]" : "",
	       command->options & TAKES_JSON ? " [--json]" : "",
	       command->options & TAKES_DRY_RUN ? " [--dry-run]" : "",
	       command->options & TAKES_SQL ? " [--sql FILE]" : "",
	       command->options & TAKES_PLACE
		       ? " --topic TOPIC [--partition NUMBER] --to PLACE"
		       : "",
	       command->summary);
	if (command->help[0] != '\0')
		printf("\n%s\n", command->help);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COUNT_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int refuse_command(const char *name)
{
	for (size_t i = 0; i < COUNT_PLANNED; i++)
		if (strcmp(planned[i], name) == 0) {
			fprintf(stderr, "onced: %s is not available yet\n",
				name);
			return EXIT_CODE_USAGE;
		}
	fprintf(stderr, "onced: there is no command \"%s\"\n\n", name);
	print_usage(stderr);
	return EXIT_CODE_USAGE;
}

static int refuse_option(const struct command *command)
{
	fprintf(stderr, "onced: see onced %s --help\n", command->name);
	return EXIT_CODE_USAGE;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "sql", required_argument, NULL, 's' },
		{ "topic", required_argument, NULL, 't' },
		{ "partition", required_argument, NULL, 'p' },
		{ "to", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct arguments arguments = { .config_path = "onced.yaml" };
	int option;

	while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		if (option == 'c' && command->options & TAKES_CONFIG)
			arguments.config_path = optarg;
		else if (option == 'j' && command->options & TAKES_JSON)
			arguments.json = true;
		else if (option == 'n' && command->options & TAKES_DRY_RUN)
			arguments.dry_run = true;
		else if (option == 's' && command->options & TAKES_SQL)
			arguments.sql_path = optarg;
		else if (option == 't' && command->options & TAKES_PLACE)
			arguments.topic = optarg;
		else if (option == 'p' && command->options & TAKES_PLACE)
			arguments.partition = optarg;
		else if (option == 'o' && command->options & TAKES_PLACE)
			arguments.to = optarg;
		else if (option == 'h')
			return print_help(command), EXIT_CODE_OK;
		else
			return refuse_option(command);
	}
	if (optind < argc)
		return refuse_option(command);
	return command->run(&arguments);
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_CODE_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return EXIT_CODE_OK;
	}
	command = find_command(strcmp(argv[1], "--version") == 0 ? "version"
								 : argv[1]);
	if (command == NULL)
		return refuse_command(argv[1]);
	block_signals();
	return run_command(command, argc - 1, argv + 1);
}
