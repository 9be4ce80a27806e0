/* What commands share. */
#include "command.h"

#include "bytes.h"
#include "source.h"
#include "text.h"

#include <pwd.h>
#include <unistd.h>

struct config *command_load_config(const struct arguments *arguments)
{
	return config_load(arguments->config_path, source_check_property, NULL,
			   stderr);
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
