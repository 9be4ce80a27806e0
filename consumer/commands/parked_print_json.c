/* Every byte can be had back from it: what isn't text is base64. */
#include "bytes.h"
#include "parked_print.h"

static void add_base64(struct text *text, struct once_bytes bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = bytes.data;

	for (size_t i = 0; i < bytes.size; i += 3) {
		size_t left = bytes.size - i;
		unsigned bits = (unsigned)at[i] << 16;
		char four[4];

		bits |= left > 1 ? (unsigned)at[i + 1] << 8 : 0;
		bits |= left > 2 ? at[i + 2] : 0;
		four[0] = digits[bits >> 18];
		four[1] = digits[bits >> 12 & 63];
		four[2] = left > 1 ? digits[bits >> 6 & 63] : '=';
		four[3] = left > 2 ? digits[bits & 63] : '=';
		text_add(text, four, sizeof(four));
	}
}

static void add_bytes(struct text *text, struct once_bytes bytes)
{
	if (bytes.data == NULL) {
		text_adds(text, "null");
	} else if (bytes_are_utf8(bytes) &&
		   memchr(bytes.data, '\0', bytes.size) == NULL) {
		text_adds(text, "{\"text\":");
		text_add_json(text, bytes);
		text_adds(text, "}");
	} else {
		text_adds(text, "{\"base64\":\"");
		add_base64(text, bytes);
		text_adds(text, "\"}");
	}
}

static void add_hex(struct text *text, struct once_bytes bytes)
{
	const unsigned char *at = bytes.data;

	if (bytes.data == NULL) {
		text_adds(text, "null");
		return;
	}
	text_adds(text, "\"");
	for (size_t i = 0; i < bytes.size; i++)
		text_addf(text, "%02x", at[i]);
	text_adds(text, "\"");
}

/* ---- members ---- */

static void name_member(struct text *text, const char *name)
{
	text_addf(text,
		  "%s\"%s\":", text->data[text->size - 1] == '{' ? "" : ",",
		  name);
}

static void add_text(struct text *text, const char *name, const char *value)
{
	name_member(text, name);
	text_add_json(text, bytes_text(value));
}

/* "" is null. */
static void add_optional(struct text *text, const char *name, const char *value)
{
	if (value[0] != '\0') {
		add_text(text, name, value);
		return;
	}
	name_member(text, name);
	text_adds(text, "null");
}

static void add_number(struct text *text, const char *name, int64_t number)
{
	name_member(text, name);
	text_addf(text, "%lld", (long long)number);
}

static void add_key(struct text *text, const char *name, struct once_bytes key)
{
	name_member(text, name);
	if (key.data == NULL)
		text_adds(text, "null");
	else
		text_add_json(text, key);
}

static void add_headers(struct text *text,
			const struct once_parked_message *msg)
{
	name_member(text, "headers");
	text_adds(text, "[");
	for (size_t i = 0; i < msg->header_count; i++) {
		text_adds(text, i == 0 ? "{\"name\":" : ",{\"name\":");
		add_bytes(text, bytes_text(msg->headers[i].name));
		text_adds(text, ",\"value\":");
		add_bytes(text, msg->headers[i].value);
		text_adds(text, "}");
	}
	text_adds(text, "]");
}

static void add_contents(struct text *text,
			 const struct once_parked_message *msg)
{
	name_member(text, "fingerprint");
	add_hex(text, msg->fingerprint);
	name_member(text, "original_fingerprint");
	add_hex(text, msg->original_fingerprint);
	add_headers(text, msg);
	name_member(text, "key");
	add_bytes(text, msg->key);
	name_member(text, "value");
	add_bytes(text, msg->value);
}

void parked_print_json(struct parked_page *page,
		       const struct once_parked_message *msg)
{
	struct text *text = &page->text;

	text_adds(text, page->count++ == 0 ? "[{" : ",\n{");
	if (text->broken)
		return;
	add_text(text, "scope", msg->scope);
	add_optional(text, "group", msg->group);
	add_optional(text, "route", msg->route);
	add_text(text, "topic", msg->topic);
	add_number(text, "partition", msg->partition);
	add_number(text, "offset", msg->offset);
	add_number(text, "time_ms", msg->time_ms);
	add_number(text, "log_generation", msg->log_generation);
	add_text(text, "state",
		 msg->state == ONCE_PARKED_DEAD ? "dead" : "waiting");
	add_text(text, "cause", msg->cause);
	add_text(text, "reason", msg->reason);
	add_optional(text, "sqlstate", msg->sqlstate);
	add_number(text, "attempts", msg->attempts);
	add_number(text, "crashes", msg->crashes);
	add_key(text, "msg_id", msg->msg_id);
	add_key(text, "biz_id", msg->biz_id);
	add_text(text, "parked_at", msg->parked_at);
	add_optional(text, "retry_at", msg->retry_at);
	add_number(text, "value_bytes", msg->value_bytes);
	if (page->whole)
		add_contents(text, msg);
	text_adds(text, "}");
}
