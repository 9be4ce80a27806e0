/* aborting - a shared object that can't even be loaded: its constructor ends
 * the process. */
#include <once/handler.h>

#include <stdlib.h>

__attribute__((constructor)) static void abort_at_once(void)
{
	abort();
}

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_DONE;
}

const struct once_handler once_handler = { ONCE_HANDLER_ABI_FIELDS,
					   .name = "aborting",
					   .handle = handle };
