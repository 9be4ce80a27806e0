/*
 * onced: arguments, signals, exit codes. A command that has something to put in
 * order when it is told to stop has the signals blocked, here, before any
 * thread starts, and takes them where it waits. Any other one dies of them, in
 * a container, too: what it did not commit is rolled back.
 */
#include "command.h"
#include "similar.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
	&command_run,    &command_check,  &command_migrate, &command_dev,
	&command_demo,   &command_status, &command_top,     &command_keys,
	&command_parked, &command_seek,   &command_gc,      &command_version,
};

/* In the plan, and refused by name until they are there. */
static const char *const planned[] = { "verify" };

static const struct {
	const char *word;
	const char *value;
	const char *text;
} option_rows[COUNT_OPTIONS] = {
#define X(name, word, value, text) { word, value, text },
	COMMAND_OPTION_TABLE(X)
#undef X
};

enum {
	COUNT_COMMANDS = sizeof(commands) / sizeof(commands[0]),
	COUNT_PLANNED = sizeof(planned) / sizeof(planned[0]),
	HELP = COUNT_OPTIONS, /* what getopt returns, beside the options */
	USAGE_SIZE = 80
};

static bool takes(const struct command *command, int option)
{
	return (command->options & 1u << option) != 0;
}

/* ---- help ---- */

static void print_usage(FILE *out)
{
	fprintf(out, "usage: onced COMMAND [-c FILE] [OPTION]… [--help]\n\n");
	for (size_t i = 0; i < COUNT_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name,
			commands[i]->summary);
	fprintf(out, "\nFILE defaults to onced.yaml. Results go to stdout, the "
		     "log to stderr.\nMore: onced help COMMAND\n");
}

static void print_option(const char *word, const char *value, const char *text)
{
	char usage[USAGE_SIZE];

	snprintf(usage, sizeof(usage), "%s--%s%s%s",
		 strcmp(word, "config") == 0 ? "-c, " : "", word,
		 value == NULL ? "" : " ", value == NULL ? "" : value);
	printf("  %-20s  %s\n", usage, text);
}

static void print_parts(const struct command *command)
{
	printf("usage: onced %s PART …\n\n%s.\n\n", command->name,
	       command->summary);
	for (size_t i = 0; command->parts[i] != NULL; i++)
		printf("  %-16s %s\n", command->parts[i]->name,
		       command->parts[i]->summary);
	printf("\n%s\n", command->help);
}

static void print_help(const struct command *command)
{
	if (command->run == NULL) {
		print_parts(command);
		return;
	}
	printf("usage: onced %s%s%s%s\n\n%s.\n", command->name,
	       command->options == 0 ? "" : " [OPTION]…",
	       command->operands == NULL ? "" : " ",
	       command->operands == NULL ? "" : command->operands,
	       command->summary);
	if (command->help[0] != '\0')
		printf("\n%s\n", command->help);
	printf("\n");
	for (int i = 0; i < COUNT_OPTIONS; i++)
		if (takes(command, i))
			print_option(option_rows[i].word, option_rows[i].value,
				     option_rows[i].text);
	print_option("help", NULL, "show this help");
}

/* ---- which command ---- */

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COUNT_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* "list" is the part "parked list" of "parked". */
static const struct command *find_part(const struct command *command,
				       const char *name)
{
	size_t behind = strlen(command->name) + 1;

	for (size_t i = 0; command->parts[i] != NULL; i++)
		if (strcmp(command->parts[i]->name + behind, name) == 0)
			return command->parts[i];
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

static int refuse(const struct command *command, const char *fmt, ...)
	ONCE_PRINTF(2, 3);

static int refuse(const struct command *command, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "onced: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "; see onced %s --help\n", command->name);
	return EXIT_CODE_USAGE;
}

/* `word`: as it was given, --word=value. */
static int refuse_word(const struct command *command, const char *word)
{
	struct similar similar = { .word = word + 2 };
	int size = (int)strcspn(word, "=");

	for (int i = 0; i < COUNT_OPTIONS; i++)
		if (takes(command, i))
			similar_offer(&similar, option_rows[i].word);
	if (similar.best != NULL)
		return refuse(command,
			      "there is no option %.*s, did you mean --%s?",
			      size, word, similar.best);
	return refuse(command, "there is no option %.*s", size, word);
}

/* What getopt didn't know; `number`: as it names it, 0: it has none. */
static int refuse_unknown(const struct command *command, int number,
			  const char *given)
{
	if (strncmp(given, "--", 2) == 0 && number == 0)
		return refuse_word(command, given);
	if (strncmp(given, "--", 2) == 0)
		return refuse(command, "option %.*s takes no value",
			      (int)strcspn(given, "="), given);
	return refuse(command, "there is no option -%c", number);
}

static int refuse_option(const struct command *command, int option)
{
	return refuse(command, "%s takes no option --%s", command->name,
		      option_rows[option].word);
}

static int refuse_part(const struct command *command, const char *name)
{
	if (name == NULL)
		return refuse(command, "%s wants one of its parts",
			      command->name);
	return refuse(command, "there is no command \"%s %s\"", command->name,
		      name);
}

/* ---- what it is given ---- */

static void fill_options(struct option options[COUNT_OPTIONS + 2])
{
	for (int i = 0; i < COUNT_OPTIONS; i++)
		options[i] = (struct option){ option_rows[i].word,
					      option_rows[i].value == NULL
						      ? no_argument
						      : required_argument,
					      NULL, i };
	options[HELP] = (struct option){ "help", no_argument, NULL, HELP };
	options[HELP + 1] = (struct option){ NULL, 0, NULL, 0 };
}

/* What getopt returns for -c and -h is their letter. */
static int number_of(int option)
{
	if (option == 'c')
		return OPTION_CONFIG;
	return option == 'h' ? HELP : option;
}

/* ---- signals ---- */

/* Of the command that runs, with what begins and ends a line; or empty. */
static char interrupted[256];

static void say_and_die(int number)
{
	ssize_t written =
		write(STDERR_FILENO, interrupted, strlen(interrupted));

	(void)written;
	raise(number); /* as it would have been: see SA_RESETHAND */
	_exit(128 + number);
}

/* A container's first process doesn't die of a signal by itself. What is raised
 * in the handler waits until it has returned, unless it is let through. */
static void prepare_to_be_interrupted(const struct command *command)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = say_and_die,
				    .sa_flags =
					    (int)(SA_RESETHAND | SA_NODEFER) };

	if (command->interrupted != NULL)
		snprintf(interrupted, sizeof(interrupted),
			 "onced: interrupted; %s\n", command->interrupted);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction before;

		sigaction(numbers[i], NULL, &before);
		if (before.sa_handler != SIG_IGN) /* nohup */
			sigaction(numbers[i], &action, NULL);
	}
}

static void prepare_for_signals(const struct command *command)
{
	if (command->takes_signals)
		command_block_signals();
	else
		prepare_to_be_interrupted(command);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- running it ---- */

static int run_with(const struct command *command, struct arguments *arguments,
		    int argc, char **argv)
{
	arguments->operands = (const char *const *)argv + optind;
	arguments->operand_count = (size_t)(argc - optind);
	if (arguments->operand_count > command->operands_most)
		return refuse(command, "%s takes no argument \"%s\"",
			      command->name,
			      arguments->operands[command->operands_most]);
	if (arguments->given[OPTION_CONFIG] != NULL)
		arguments->config_path = arguments->given[OPTION_CONFIG];
	arguments->json = arguments->given[OPTION_JSON] != NULL;
	arguments->dry_run = arguments->given[OPTION_DRY_RUN] != NULL;
	prepare_for_signals(command);
	return command->run(arguments);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct arguments arguments = { .config_path = "onced.yaml" };
	struct option options[COUNT_OPTIONS + 2];
	int option;

	fill_options(options);
	opterr = 0; /* it would call us by the command's name */
	while ((option = getopt_long(argc, argv, ":c:h", options, NULL)) !=
	       -1) {
		if (option == '?')
			return refuse_unknown(command, optopt,
					      argv[optind - 1]);
		if (option == ':')
			return refuse(command, "option %s wants a value",
				      argv[optind - 1]);
		option = number_of(option);
		if (option == HELP)
			return print_help(command), EXIT_CODE_OK;
		if (!takes(command, option))
			return refuse_option(command, option);
		arguments.given[option] = optarg == NULL ? "" : optarg;
	}
	return run_with(command, &arguments, argc, argv);
}

static int run_part(const struct command *command, int argc, char **argv)
{
	const struct command *part;

	if (argc > 1 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return print_help(command), EXIT_CODE_OK;
	part = argc > 1 ? find_part(command, argv[1]) : NULL;
	if (part == NULL)
		return refuse_part(command, argc > 1 ? argv[1] : NULL);
	return run_command(part, argc - 1, argv + 1);
}

/* onced help [COMMAND [PART]] */
static int help(int argc, char **argv)
{
	const struct command *command = NULL;

	if (argc < 2) {
		print_usage(stdout);
		return EXIT_CODE_OK;
	}
	command = find_command(argv[1]);
	if (command == NULL)
		return refuse_command(argv[1]);
	if (argc > 2 && command->run == NULL)
		command = find_part(command, argv[2]);
	if (command == NULL)
		return refuse_part(find_command(argv[1]), argv[2]);
	print_help(command);
	return EXIT_CODE_OK;
}

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words != NULL && strcmp(word, *words) != 0)
		words++;
	return *words != NULL;
}

int main(int argc, char **argv)
{
	static const char *const helps[] = { "help", "--help", "-h", NULL };
	static const char *const versions[] = { "version", "--version", "-V",
						NULL };
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_CODE_USAGE;
	}
	if (is_one_of(argv[1], helps))
		return help(argc - 1, argv + 1);
	command = find_command(is_one_of(argv[1], versions) ? "version"
							    : argv[1]);
	if (command == NULL)
		return refuse_command(argv[1]);
	if (command->run == NULL)
		return run_part(command, argc - 1, argv + 1);
	return run_command(command, argc - 1, argv + 1);
}
