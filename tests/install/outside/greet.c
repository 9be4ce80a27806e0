/* greet.c - a handler as somebody else would write it. */
#include <once/handler.h>

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	once_send(call, "INSERT INTO greeting (name) VALUES ($1)",
		  ONCE_PARAMS(ONCE_TEXT(once_json(msg, "/name"))));
	return ONCE_DONE;
}

const struct once_handler once_handler = { ONCE_HANDLER_ABI_FIELDS,
					   .name = "greet", .handle = handle };
