/* bench_refund - the handler that is measured: one INSERT for each message, not
 * waited for. handlers/refund.c is one with more to it. */
#include <once/handler.h>

static enum once_verdict book_refund(void *self, const struct once_message *msg,
				     struct once_call *call)
{
	static const char add_refund[] =
		"INSERT INTO refund (refund_no, order_no, sku, amount) "
		"VALUES ($1, $2, $3, $4)";

	(void)self;
	once_send(call, add_refund,
		  ONCE_PARAMS(ONCE_TEXT(once_json(msg, "/refund_no")),
			      ONCE_TEXT(once_json(msg, "/order_no")),
			      ONCE_TEXT(once_json(msg, "/sku")),
			      ONCE_TEXT(once_json(msg, "/amount"))));
	return ONCE_DONE;
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS,
	.name = "bench_refund",
	.handle = book_refund,
};
