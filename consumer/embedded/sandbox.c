/* What may be missing comes first; threads (the broker's) come last. */
#include "sandbox.h"

#include <once/once.h>
#include <stddef.h>

enum once_status sandbox_open(struct sandbox *sandbox, struct once_error *err)
{
	enum once_status status = scratch_open(&sandbox->scratch, err);

	if (status == ONCE_OK)
		status = postgres_start(&sandbox->postgres,
					sandbox->scratch.path, err);
	if (status == ONCE_OK)
		status = once_migrate(sandbox->postgres.conninfo, 0, NULL, NULL,
				      err);
	if (status == ONCE_OK)
		status = broker_start(&sandbox->broker, err);
	return status;
}

void sandbox_close(struct sandbox *sandbox)
{
	broker_stop(sandbox->broker);
	postgres_stop(&sandbox->postgres);
	scratch_close(&sandbox->scratch);
	sandbox->broker = NULL;
}
