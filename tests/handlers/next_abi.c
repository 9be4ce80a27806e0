/* next_abi - a handler built for the next version of the interface. */
#include <once/handler.h>

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_DONE;
}

const struct once_handler once_handler = {
	.abi = ONCE_HANDLER_ABI + 1,
	.size = (uint32_t)sizeof(struct once_handler),
	.name = "next_abi",
	.handle = handle,
};
