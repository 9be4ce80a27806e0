/*
 * servers.c - where the servers of a test run are.
 *
 * The idea: the environment comes first, then the state file; a test never
 * starts a shared server itself.
 */
#include "servers.h"

#include "process.h"
#include "temp_dir.h"

#include <error.h>
#include <scope.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77
#define VALUE_SIZE 1024

const struct server_names server_names[SERVER_KINDS] = {
#define X(kind, word, variable, name) { word, variable, name },
	SERVER_TABLE(X)
#undef X
};

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] != '\0';
}

int servers_skip_code(void)
{
	return is_set("CI") || is_set("ONCE_TEST_NO_SKIP") ? 1 : SKIPPED;
}

void servers_need(unsigned kinds)
{
	int code = servers_skip_code();

	for (unsigned kind = 0; kind < SERVER_KINDS; kind++) {
		if ((kinds & 1u << kind) == 0 || servers_find(kind) != NULL)
			continue;
		fprintf(stderr,
			"%s: there is no %s: run ctest, which starts one, or "
			"set %s\n",
			code == SKIPPED ? "SKIPPED" : "FAILED",
			server_names[kind].name, server_names[kind].variable);
		exit(code);
	}
}

enum once_status servers_state_path(char path[PATH_MAX], const char *directory,
				    enum server_kind kind,
				    struct once_error *err)
{
	return temp_dir_path(path, directory, server_names[kind].word, err);
}

char *servers_read_state(const char *path, const char *name)
{
	scoped_free char *text = read_file(path);
	size_t size = strlen(name);
	char *rest = NULL;

	if (text == NULL)
		return NULL;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, name, size) == 0 && line[size] == '=')
			return strdup(line + size + 1);
	}
	return NULL;
}

static const char *find_in_state(enum server_kind kind, const char *name,
				 char value[VALUE_SIZE])
{
	const char *directory = getenv("ONCE_TEST_STATE");
	scoped_free char *found = NULL;
	char path[PATH_MAX];

	if (directory == NULL ||
	    servers_state_path(path, directory, kind, NULL) != ONCE_OK)
		return NULL;
	found = servers_read_state(path, name);
	if (found == NULL)
		return NULL;
	snprintf(value, VALUE_SIZE, "%s", found);
	return value;
}

const char *servers_find(enum server_kind kind)
{
	static char addresses[SERVER_KINDS][VALUE_SIZE];

	if (is_set(server_names[kind].variable))
		return getenv(server_names[kind].variable);
	return find_in_state(kind, "address", addresses[kind]);
}

const char *servers_find_log(enum server_kind kind)
{
	static char logs[SERVER_KINDS][VALUE_SIZE];

	if (is_set(server_names[kind].variable))
		return NULL;
	return find_in_state(kind, "log", logs[kind]);
}
