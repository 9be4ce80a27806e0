/* What commands share. */
#include "command.h"

#include "source.h"

struct config *command_load_config(const struct arguments *arguments)
{
	return config_load(arguments->config_path, source_check_property, NULL,
			   stderr);
}
