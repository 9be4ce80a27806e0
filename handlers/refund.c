/*
 * refund - books a refund: the refund itself, the order's total, the goods back
 * in stock. Nothing is waited for, so that a batch of messages costs a few
 * round trips, and the tables' constraints decide whether the refund may be
 * (refund.sql). Messages are
 *
 *	{"refund_no":"R-1","order_no":"4711","sku":"A-1","quantity":1,
 *	 "amount":"9.90"}
 *
 * It shows both ways to write: a statement for each message (setting
 * write=send), and one for all messages of a batch (write=bulk), which costs
 * the database a part of that.
 */
#include <once/handler.h>

#include <stdlib.h>
#include <string.h>

struct booking {
	struct once_bytes refund_no;
	struct once_bytes order_no;
	struct once_bytes sku;
	struct once_bytes quantity;
	struct once_bytes amount;
	struct once_bytes currency;
};

typedef void write_f(struct once_call *call, const struct booking *booking);

struct refund {
	char currency[4]; /* ISO 4217 */
	write_f *write;
};

/* ---- a statement for each message ---- */

static void write_each(struct once_call *call, const struct booking *booking)
{
	static const char add_refund[] =
		"INSERT INTO refund (refund_no, order_no, sku, quantity, "
		"amount, currency) VALUES ($1, $2, $3, $4, $5, $6)";
	static const char add_to_order[] =
		"UPDATE orders SET refunded = refunded + $2 "
		"WHERE order_no = $1";
	static const char add_to_stock[] =
		"UPDATE stock SET quantity = quantity + $2 WHERE sku = $1";

	once_send(call, add_refund,
		  ONCE_PARAMS(ONCE_TEXT(booking->refund_no),
			      ONCE_TEXT(booking->order_no),
			      ONCE_TEXT(booking->sku),
			      ONCE_TEXT(booking->quantity),
			      ONCE_TEXT(booking->amount),
			      ONCE_TEXT(booking->currency)));
	once_send(call, add_to_order,
		  ONCE_PARAMS(ONCE_TEXT(booking->order_no),
			      ONCE_TEXT(booking->amount)));
	once_send(call, add_to_stock,
		  ONCE_PARAMS(ONCE_TEXT(booking->sku),
			      ONCE_TEXT(booking->quantity)));
}

/* ---- one for all messages of a batch ---- */

static void write_bulk(struct once_call *call, const struct booking *booking)
{
	static const char refunds[] =
		"refund (refund_no, order_no, sku, quantity, amount, currency)";
	static const char add_to_orders[] =
		"UPDATE orders SET refunded = refunded + more "
		"FROM (SELECT no, sum(amount::numeric) AS more "
		"FROM unnest($1::text[], $2::text[]) AS r (no, amount) "
		"GROUP BY no) AS r WHERE order_no = no";
	static const char add_to_stock[] =
		"UPDATE stock SET quantity = quantity + more "
		"FROM (SELECT no, sum(quantity::integer) AS more "
		"FROM unnest($1::text[], $2::text[]) AS r (no, quantity) "
		"GROUP BY no) AS r WHERE sku = no";

	once_insert(call, refunds,
		    ONCE_PARAMS(ONCE_TEXT(booking->refund_no),
				ONCE_TEXT(booking->order_no),
				ONCE_TEXT(booking->sku),
				ONCE_TEXT(booking->quantity),
				ONCE_TEXT(booking->amount),
				ONCE_TEXT(booking->currency)));
	once_collect(call, add_to_orders,
		     ONCE_PARAMS(ONCE_TEXT(booking->order_no),
				 ONCE_TEXT(booking->amount)));
	once_collect(call, add_to_stock,
		     ONCE_PARAMS(ONCE_TEXT(booking->sku),
				 ONCE_TEXT(booking->quantity)));
}

/* ---- the handler ---- */

static write_f *find_way(const char *word)
{
	if (strcmp(word, "send") == 0)
		return write_each;
	return strcmp(word, "bulk") == 0 ? write_bulk : NULL;
}

static int open_refund(struct once_settings *settings, void **ret_self)
{
	const char *currency = once_setting(settings, "currency", "EUR");
	const char *way = once_setting(settings, "write", "send");
	struct refund *self;

	if (strlen(currency) != 3) {
		once_refuse(settings,
			    "currency \"%s\" isn't three letters; write "
			    "currency=EUR",
			    currency);
		return -1;
	}
	if (find_way(way) == NULL) {
		once_refuse(settings,
			    "there is no way \"%s\" to write; write "
			    "write=send or write=bulk",
			    way);
		return -1;
	}
	self = calloc(1, sizeof(*self));
	if (self == NULL) {
		once_refuse(settings, "out of memory");
		return -1;
	}
	memcpy(self->currency, currency, sizeof(self->currency));
	self->write = find_way(way);
	*ret_self = self;
	return 0;
}

static enum once_verdict book_refund(void *arg, const struct once_message *msg,
				     struct once_call *call)
{
	const struct refund *self = arg;
	const struct booking booking = {
		.refund_no = once_json(msg, "/refund_no"),
		.order_no = once_json(msg, "/order_no"),
		.sku = once_json(msg, "/sku"),
		.quantity = once_json(msg, "/quantity"),
		.amount = once_json(msg, "/amount"),
		.currency = { self->currency, 3 },
	};

	self->write(call, &booking);
	return ONCE_DONE;
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS, .name = "refund", .open = open_refund,
	.handle = book_refund,   .close = free,
};
