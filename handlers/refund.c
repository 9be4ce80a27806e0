/*
 * refund - books a refund: the refund itself, the order's total, the goods back
 * in stock. Nothing is waited for: once_send() queues, so that a batch of
 * messages costs a few round trips, and the tables' constraints decide whether
 * the refund may be (refund.sql). Messages are
 *
 *	{"refund_no":"R-1","order_no":"4711","sku":"A-1","quantity":1,
 *	 "amount":"9.90"}
 */
#include <once/handler.h>

#include <stdlib.h>
#include <string.h>

struct refund {
	char currency[4]; /* ISO 4217 */
};

static int open_refund(struct once_settings *settings, void **ret_self)
{
	const char *currency = once_setting(settings, "currency", "EUR");
	struct refund *self;

	if (strlen(currency) != 3) {
		once_refuse(settings,
			    "currency \"%s\" isn't three letters; write "
			    "currency=EUR",
			    currency);
		return -1;
	}
	self = calloc(1, sizeof(*self));
	if (self == NULL) {
		once_refuse(settings, "out of memory");
		return -1;
	}
	memcpy(self->currency, currency, sizeof(self->currency));
	*ret_self = self;
	return 0;
}

static enum once_verdict book_refund(void *arg, const struct once_message *msg,
				     struct once_call *call)
{
	static const char add_refund[] =
		"INSERT INTO refund (refund_no, order_no, sku, quantity, "
		"amount, currency) VALUES ($1, $2, $3, $4, $5, $6)";
	static const char add_to_order[] =
		"UPDATE orders SET refunded = refunded + $2 "
		"WHERE order_no = $1";
	static const char add_to_stock[] =
		"UPDATE stock SET quantity = quantity + $2 WHERE sku = $1";
	const struct refund *self = arg;
	struct once_bytes currency = { self->currency, 3 };
	struct once_bytes refund_no = once_json(msg, "/refund_no");
	struct once_bytes order_no = once_json(msg, "/order_no");
	struct once_bytes sku = once_json(msg, "/sku");
	struct once_bytes quantity = once_json(msg, "/quantity");
	struct once_bytes amount = once_json(msg, "/amount");

	once_send(call, add_refund,
		  ONCE_PARAMS(ONCE_TEXT(refund_no), ONCE_TEXT(order_no),
			      ONCE_TEXT(sku), ONCE_TEXT(quantity),
			      ONCE_TEXT(amount), ONCE_TEXT(currency)));
	once_send(call, add_to_order,
		  ONCE_PARAMS(ONCE_TEXT(order_no), ONCE_TEXT(amount)));
	once_send(call, add_to_stock,
		  ONCE_PARAMS(ONCE_TEXT(sku), ONCE_TEXT(quantity)));
	return ONCE_DONE;
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS, .name = "refund", .open = open_refund,
	.handle = book_refund,   .close = free,
};
