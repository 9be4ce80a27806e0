/*
 * stock - reserves goods. It waits for its statement, with once_exec(), because
 * it has something to say about the outcome: what isn't in stock won't be there
 * at the next attempt either, so the message is rejected at once, in words that
 * a person understands. Messages are
 *
 *	{"reservation_no":"V-1","sku":"A-1","quantity":2}
 */
#include <once/handler.h>

#include <string.h>

#define CHECK_VIOLATION "23514" /* PostgreSQL, appendix A */

static enum once_verdict refuse(struct once_call *call, struct once_bytes sku,
				const char *why)
{
	once_because(call, "%s \"%.*s\"", why, (int)sku.size,
		     sku.data == NULL ? "" : (const char *)sku.data);
	return ONCE_REJECT;
}

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	static const char take[] =
		"UPDATE stock SET quantity = quantity - $2 WHERE sku = $1";
	static const char reserve[] =
		"INSERT INTO reservation (reservation_no, sku, quantity) "
		"VALUES ($1, $2, $3)";
	struct once_bytes number = once_json(msg, "/reservation_no");
	struct once_bytes sku = once_json(msg, "/sku");
	struct once_bytes quantity = once_json(msg, "/quantity");
	const struct once_rows *rows = once_exec(
		call, take, ONCE_PARAMS(ONCE_TEXT(sku), ONCE_TEXT(quantity)));

	(void)self;
	if (rows == NULL && strcmp(once_sqlstate(call), CHECK_VIOLATION) == 0)
		return refuse(call, sku, "there is not enough of");
	if (rows == NULL)
		return ONCE_RETRY;
	if (once_rows_affected(rows) == 0)
		return refuse(call, sku, "nothing is known of");
	once_send(call, reserve,
		  ONCE_PARAMS(ONCE_TEXT(number), ONCE_TEXT(sku),
			      ONCE_TEXT(quantity)));
	return ONCE_DONE;
}

const struct once_handler once_handler = { ONCE_HANDLER_ABI_FIELDS,
					   .name = "stock", .handle = handle };
