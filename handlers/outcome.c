/*
 * outcome - answers a request, and answers the same request with the same
 * answer however often it comes. What the first one came to is kept with its
 * claim (once_set_result()); duplicate() is given it back. Messages are
 *
 *	{"request_no":"Q-1","amount":"12.00"}
 */
#include <once/handler.h>

/* Who asked finds the answers of its request here; each delivery is answered.
 */
static void answer(struct once_call *call, const struct once_message *msg,
		   struct once_bytes payment_no)
{
	static const char sql[] =
		"INSERT INTO reply (request_no, answer) VALUES ($1, $2)";

	once_send(call, sql,
		  ONCE_PARAMS(ONCE_TEXT(once_json(msg, "/request_no")),
			      ONCE_TEXT(payment_no)));
}

static enum once_verdict handle(void *self, const struct once_message *msg,
				struct once_call *call)
{
	static const char sql[] = "INSERT INTO payment (request_no, amount) "
				  "VALUES ($1, $2) RETURNING payment_no";
	const struct once_rows *rows =
		once_exec(call, sql,
			  ONCE_PARAMS(ONCE_TEXT(once_json(msg, "/request_no")),
				      ONCE_TEXT(once_json(msg, "/amount"))));
	struct once_bytes payment_no;

	(void)self;
	if (rows == NULL)
		return ONCE_RETRY;
	payment_no = once_rows_get(rows, 0, 0);
	once_set_result(call, payment_no);
	answer(call, msg, payment_no);
	return ONCE_DONE;
}

static enum once_verdict duplicate(void *self, const struct once_message *msg,
				   struct once_bytes result,
				   struct once_call *call)
{
	(void)self;
	answer(call, msg, result);
	return ONCE_DONE;
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS,
	.name = "outcome",
	.handle = handle,
	.duplicate = duplicate,
};
