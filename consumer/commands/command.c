/* What commands share. */
#include "command.h"

#include "bytes.h"
#include "readable.h"
#include "source.h"

#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

struct config *command_load_config_telling(const struct arguments *arguments,
					   FILE *faults)
{
	return config_load(arguments->config_path, source_check_property, NULL,
			   faults);
}

struct config *command_load_config(const struct arguments *arguments)
{
	return command_load_config_telling(arguments, stderr);
}

void command_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void command_complain(const char *fmt, ...)
{
	scoped_text struct text shown = { 0 };
	char text[2 * sizeof(((struct once_error *)NULL)->text)];
	va_list args;
	size_t size;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	text_adds(&shown, "onced: ");
	for (const char *at = text; *at != '\0'; at += size) {
		size = strcspn(at, "\n");
		readable_add(&shown, bytes_of(at, size), READABLE_WHOLE);
		size += at[size] == '\n';
		if (at[size] != '\0')
			text_adds(&shown, "\n       ");
	}
	fprintf(stderr, "%s\n", shown.data == NULL ? "" : shown.data);
}

void command_add_person(struct text *person)
{
	char host[256] = "";
	char buffer[4096];
	struct passwd entry;
	struct passwd *found = NULL;

	getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found);
	if (found != NULL && bytes_are_utf8(bytes_text(found->pw_name)))
		text_adds(person, found->pw_name);
	else
		text_addf(person, "uid %lu", (unsigned long)getuid());
	if (gethostname(host, sizeof(host) - 1) == 0 &&
	    bytes_are_utf8(bytes_text(host)))
		text_addf(person, "@%s", host);
}
