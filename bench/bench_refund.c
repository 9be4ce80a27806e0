/* bench_refund - the handler that is measured: one INSERT for each message, not
 * waited for (setting write=send), one row for the INSERT that onced makes of
 * all messages of a batch (write=bulk), or for one of our own (write=collect).
 * handlers/refund.c is one with more to it. */
#include "bench_clock.h"

#include <once/handler.h>

#include <string.h>

/* An instance's self is one of their addresses. */
static char collects;
static char inserts;

static int open_refund(struct once_settings *settings, void **ret_self)
{
	const char *how = once_setting(settings, "write", "send");

	*ret_self = NULL;
	if (strcmp(how, "collect") == 0)
		*ret_self = &collects;
	if (strcmp(how, "bulk") == 0)
		*ret_self = &inserts;
	return 0;
}

/* Where latency is measured; else there is no clock. */
static void note_time(const struct once_message *msg)
{
	struct once_bytes sent;
	int64_t sent_ns;

	if (bench_clock_note == NULL)
		return;
	sent = once_header(msg, BENCH_CLOCK_HEADER);
	if (sent.size != sizeof(sent_ns))
		return;
	memcpy(&sent_ns, sent.data, sizeof(sent_ns));
	bench_clock_note(sent_ns, once_time_ms(msg));
}

static enum once_verdict book_refund(void *self, const struct once_message *msg,
				     struct once_call *call)
{
	static const char add_refund[] =
		"INSERT INTO refund (refund_no, order_no, sku, amount) "
		"VALUES ($1, $2, $3, $4)";
	static const char add_refunds[] =
		"INSERT INTO refund (refund_no, order_no, sku, amount) "
		"SELECT unnest($1::text[]), unnest($2::text[]), "
		"unnest($3::text[]), unnest($4::text[])::numeric";
	static const char refunds[] =
		"refund (refund_no, order_no, sku, amount)";
	const struct once_param params[] = {
		ONCE_TEXT(once_json(msg, "/refund_no")),
		ONCE_TEXT(once_json(msg, "/order_no")),
		ONCE_TEXT(once_json(msg, "/sku")),
		ONCE_TEXT(once_json(msg, "/amount")),
	};

	note_time(msg);
	if (self == &collects)
		once_collect(call, add_refunds, params, 4);
	else if (self == &inserts)
		once_insert(call, refunds, params, 4);
	else
		once_send(call, add_refund, params, 4);
	return ONCE_DONE;
}

const struct once_handler once_handler = {
	ONCE_HANDLER_ABI_FIELDS,
	.name = "bench_refund",
	.open = open_refund,
	.handle = book_refund,
};
