/* A handler that says it has done its work, and hasn't: the demo must notice.
 */
#include <once/handler.h>

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_DONE;
}

const struct once_handler once_handler = { ONCE_HANDLER_ABI_FIELDS,
					   .name = "refund", .handle = handle };
