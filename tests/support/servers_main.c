/*
 * servers_main.c - the program by which ctest starts and stops the servers that
 * tests share, and by which anybody runs a program beside such servers:
 *
 *	once-test-servers start KIND DIRECTORY    until ctest ends, or
 *	once-test-servers stop KIND DIRECTORY
 *	once-test-servers with KIND[,KIND] COMMAND [ARGUMENT…]
 */
#include "any_server.h"
#include "server_keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USAGE 64
#define FOR_EVER_MS (INT64_C(1) << 40)

static int say(enum server_kind kind, const struct once_error *err)
{
	fprintf(stderr, "%s: %s\n", server_names[kind].name, err->text);
	return err->status == ONCE_CONFIG ? servers_skip_code() : 1;
}

static bool is_brought(enum server_kind kind)
{
	const char *address = getenv(server_names[kind].variable);

	if (address == NULL || address[0] == '\0')
		return false;
	printf("%s is yours: %s is set\n", server_names[kind].name,
	       server_names[kind].variable);
	return true;
}

static int start(enum server_kind kind, const char *directory)
{
	struct once_error err = { 0 };

	if (is_brought(kind))
		return 0;
	if (server_keeper_start(kind, directory, getppid(), &err) != ONCE_OK)
		return say(kind, &err);
	return 0;
}

static int stop(enum server_kind kind, const char *directory)
{
	struct once_error err = { 0 };

	if (server_keeper_stop(kind, directory, &err) != ONCE_OK)
		return say(kind, &err);
	return 0;
}

static bool find_kind(const char *word, size_t size, enum server_kind *ret_kind)
{
	for (unsigned kind = 0; kind < SERVER_KINDS; kind++) {
		if (strlen(server_names[kind].word) == size &&
		    memcmp(server_names[kind].word, word, size) == 0) {
			*ret_kind = (enum server_kind)kind;
			return true;
		}
	}
	return false;
}

static int run_command(char **command)
{
	const struct process_options options = {
		.argv = (const char *const *)command
	};
	struct once_error err = { 0 };
	int code = process_run(&options, FOR_EVER_MS, &err);

	if (code == -1)
		fprintf(stderr, "%s\n", err.text);
	return code == -1 ? 1 : code;
}

/* For the command: where the server is, and in ONCE_TEST_KAFKA_PROCESS and the
 * like which process it is. */
static void tell_command(const struct any_server *server)
{
	const char *variable = server_names[server->kind].variable;
	char process[64];
	char pid[16];

	snprintf(process, sizeof(process), "%s_PROCESS", variable);
	snprintf(pid, sizeof(pid), "%d", (int)server->process->pid);
	setenv(variable, server->address, 1);
	setenv(process, pid, 1);
}

/* `kinds` is the rest of a list; each server runs around what comes after. */
static int run_with(const char *kinds, char **command)
{
	size_t size = strcspn(kinds, ",");
	struct any_server server = { 0 };
	struct once_error err = { 0 };
	enum server_kind kind;
	int code;

	if (size == 0)
		return run_command(command);
	if (!find_kind(kinds, size, &kind))
		return USAGE;
	kinds += size + (kinds[size] == ',');
	if (is_brought(kind))
		return run_with(kinds, command);
	if (any_server_create(&server, kind, &err) == ONCE_OK) {
		tell_command(&server);
		code = run_with(kinds, command);
	} else {
		code = say(kind, &err);
	}
	any_server_destroy(&server);
	return code;
}

static int run(int argc, char **argv)
{
	enum server_kind kind;

	if (argc < 4)
		return USAGE;
	if (strcmp(argv[1], "with") == 0)
		return run_with(argv[2], argv + 3);
	if (!find_kind(argv[2], strlen(argv[2]), &kind))
		return USAGE;
	if (strcmp(argv[1], "start") == 0)
		return start(kind, argv[3]);
	if (strcmp(argv[1], "stop") == 0)
		return stop(kind, argv[3]);
	return USAGE;
}

int main(int argc, char **argv)
{
	int code = run(argc, argv);

	if (code == USAGE) {
		fputs("usage: once-test-servers start|stop KIND DIRECTORY\n"
		      "       once-test-servers with KIND[,KIND] COMMAND …\n"
		      "KIND is pg, kafka or redis.\n",
		      stderr);
	}
	return code;
}
