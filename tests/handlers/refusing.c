/* refusing - a handler that isn't content with its settings, and says so in
 * words that look like a warning of the configuration. */
#include <once/handler.h>

static int open_refusing(struct once_settings *settings, void **ret_self)
{
	(void)ret_self;
	once_refuse(settings, "there is no setting \"%s\": warning: it is dark",
		    "moon");
	return -1;
}

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	(void)self;
	(void)msg;
	(void)call;
	return ONCE_DONE;
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS,
	.name = "refusing",
	.open = open_refusing,
	.handle = handle,
};
