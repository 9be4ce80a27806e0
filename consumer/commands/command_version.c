/* onced version */
#include "bytes.h"
#include "command.h"
#include "source.h"
#include "text.h"

#include <stdio.h>

static void print_json(int libpq)
{
	printf("{\"onced\":\"%s\",\"libonce\":\"%s\",\"schema\":%d,"
	       "\"handler_abi\":%u,\"librdkafka\":\"%s\",\"libpq\":\"%d.%d\"}\n",
	       ONCED_VERSION, once_version(), once_schema_version(),
	       ONCE_HANDLER_ABI, source_library_version(), libpq / 10000,
	       libpq % 10000);
}

static int version(const struct arguments *arguments)
{
	int libpq = once_libpq_version();

	if (arguments->json) {
		print_json(libpq);
		return EXIT_CODE_OK;
	}
	printf("onced       %s\nlibonce     %s\nschema      %d\n"
	       "handler ABI %u\nlibrdkafka  %s (built with %s)\n"
	       "libpq       %d.%d\n",
	       ONCED_VERSION, once_version(), once_schema_version(),
	       ONCE_HANDLER_ABI, source_library_version(),
	       ONCED_BUILT_WITH_RDKAFKA, libpq / 10000, libpq % 10000);
	return EXIT_CODE_OK;
}

const struct command command_version = {
	.name = "version",
	.summary = "ours, and each library's at build and at run",
	.help = "",
	.options = TAKES_JSON,
	.run = version,
};
