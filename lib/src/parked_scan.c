/* Keyset paging: a page is what comes behind the last one's last row, so the
 * price of a page doesn't grow, and no snapshot is held between two. */
#include "parked_scan.h"

#include "bytes.h"
#include "error.h"
#include "pg.h"

#include <stdio.h>

enum {
	HEX_BYTES_MOST = 256 /* of a key that isn't text, in the audit */
};

/* ---- what can be meant ---- */

static bool is_text(struct once_bytes bytes)
{
	return bytes.data == NULL ||
	       (bytes_are_utf8(bytes) &&
		memchr(bytes.data, '\0', bytes.size) == NULL);
}

static bool are_texts(const struct once_parked_filter *filter)
{
	const char *const texts[] = { filter->group, filter->cause,
				      filter->topic, filter->for_group };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!is_text(bytes_text(texts[i])))
			return false;
	for (size_t i = 0; i < filter->scope_count; i++)
		if (!is_text(bytes_text(filter->scopes[i])))
			return false;
	return true;
}

static enum once_status check(const struct once_parked_filter *filter,
			      struct once_error *err)
{
	if (!are_texts(filter))
		return error_set(err, ONCE_INVALID,
				 "a name to look for isn't UTF-8");
	if (filter->limit < 0 || filter->older_than_ms < 0 ||
	    filter->newer_than_ms < 0)
		return error_set(err, ONCE_INVALID,
				 "a limit or an age is negative");
	return ONCE_OK;
}

enum once_status once__parked_scan_init(struct once__parked_scan *scan,
					const struct once_parked_filter *filter,
					struct once_error *err)
{
	*scan = (struct once__parked_scan){
		.filter = filter,
		.state = filter->state,
		.left = filter->limit == 0 ? -1 : filter->limit,
		.consumer_id = INT64_MIN,
		.partition = INT32_MIN,
		.offset = INT64_MIN,
		.time_ms = INT64_MIN,
		.log_generation = INT32_MIN,
	};
	text_adds(&scan->topic, "");
	once__pg_array_init(&scan->scopes, ONCE__PG_TEXT);
	for (size_t i = 0; i < filter->scope_count; i++)
		once__pg_array_add(&scan->scopes,
				   bytes_text(filter->scopes[i]));
	if (scan->topic.broken)
		return error_no_memory(err);
	return check(filter, err);
}

void once__parked_scan_fini(struct once__parked_scan *scan)
{
	once__pg_array_fini(&scan->scopes);
	text_fini(&scan->topic);
}

/* ---- as parameters ---- */

static const char *word_of(enum once_parked_state state)
{
	static const char *const words[] = {
		[ONCE_PARKED_ANY] = NULL,
		[ONCE_PARKED_WAITING] = "waiting",
		[ONCE_PARKED_DEAD] = "dead",
	};

	return words[state];
}

static struct once_param text_param(const char *text)
{
	struct once_param param = ONCE_TEXT(bytes_text(text));

	return param;
}

/* $8 and $9: what is no text can only be a Kafka key. */
static void put_key(struct once_param *params, struct once_bytes key)
{
	params[0] = (struct once_param)ONCE_BINARY(key);
	params[1] = (struct once_param)ONCE_TEXT(
		is_text(key) ? key : bytes_of(NULL, 0));
}

static void put_number(struct once__parked_scan *scan, size_t at, bool given,
		       int64_t number)
{
	scan->params[at] = text_param(NULL);
	if (given)
		scan->params[at] = once__pg_int8(scan->numbers[at], number);
}

static void put_filter(struct once__parked_scan *scan)
{
	const struct once_parked_filter *filter = scan->filter;
	struct once_param *params = scan->params;

	params[0] = text_param(filter->group);
	params[1] = text_param(NULL);
	if (filter->scope_count > 0)
		params[1] = once__pg_array_param(&scan->scopes);
	params[2] = text_param(word_of(scan->state));
	params[3] = text_param(filter->cause);
	params[4] = text_param(filter->topic);
	put_number(scan, 5, filter->partition != NULL,
		   filter->partition == NULL ? 0 : *filter->partition);
	put_number(scan, 6, filter->offset != NULL,
		   filter->offset == NULL ? 0 : *filter->offset);
	put_key(&params[7], filter->key);
	put_number(scan, 9, filter->older_than_ms > 0, filter->older_than_ms);
	put_number(scan, 10, filter->newer_than_ms > 0, filter->newer_than_ms);
	params[18] = text_param(filter->for_group);
}

static void put_place(struct once__parked_scan *scan)
{
	put_number(scan, 11, true, scan->consumer_id);
	scan->params[12] = text_param(scan->topic.data);
	put_number(scan, 13, true, scan->partition);
	put_number(scan, 14, true, scan->offset);
	put_number(scan, 15, true, scan->time_ms);
	put_number(scan, 16, true, scan->log_generation);
}

int64_t once__parked_scan_prepare(struct once__parked_scan *scan, int64_t size)
{
	if (size < 0 || (scan->left >= 0 && scan->left < size))
		size = scan->left;
	put_filter(scan);
	put_place(scan);
	put_number(scan, 17, size >= 0, size);
	return size;
}

bool once__parked_scan_move(struct once__parked_scan *scan,
			    const struct once_rows *rows, size_t row,
			    size_t column)
{
	struct once_bytes topic = once_rows_get(rows, row, column + 1);

	scan->consumer_id = once__rows_int64(rows, row, column);
	text_reset(&scan->topic);
	text_add(&scan->topic, topic.data, topic.size);
	scan->partition = once__rows_int64(rows, row, column + 2);
	scan->offset = once__rows_int64(rows, row, column + 3);
	scan->time_ms = once__rows_int64(rows, row, column + 4);
	scan->log_generation = once__rows_int64(rows, row, column + 5);
	return !scan->topic.broken;
}

/* ---- for people ---- */

static void tell_text(struct text *text, const char *name, const char *value)
{
	if (value == NULL)
		return;
	text_addf(text, "%s%s=", text->size == 0 ? "" : " ", name);
	text_add_json(text, bytes_text(value));
}

static void tell_number(struct text *text, const char *name, bool given,
			int64_t number)
{
	if (given)
		text_addf(text, "%s%s=%lld", text->size == 0 ? "" : " ", name,
			  (long long)number);
}

static void tell_key(struct text *text, struct once_bytes key)
{
	const unsigned char *at = key.data;

	if (key.data == NULL)
		return;
	text_adds(text, text->size == 0 ? "key=" : " key=");
	if (is_text(key)) {
		text_add_json(text, key);
		return;
	}
	text_adds(text, "0x");
	for (size_t i = 0; i < key.size && i < HEX_BYTES_MOST; i++)
		text_addf(text, "%02x", at[i]);
}

void once__parked_scan_tell(const struct once__parked_scan *scan,
			    struct text *text)
{
	const struct once_parked_filter *filter = scan->filter;

	tell_text(text, "group", filter->group);
	for (size_t i = 0; i < filter->scope_count; i++)
		tell_text(text, "scope", filter->scopes[i]);
	tell_text(text, "for_group", filter->for_group);
	tell_text(text, "state", word_of(scan->state));
	tell_text(text, "cause", filter->cause);
	tell_text(text, "topic", filter->topic);
	tell_number(text, "partition", filter->partition != NULL,
		    filter->partition == NULL ? 0 : *filter->partition);
	tell_number(text, "offset", filter->offset != NULL,
		    filter->offset == NULL ? 0 : *filter->offset);
	tell_key(text, filter->key);
	tell_number(text, "older_than_ms", filter->older_than_ms > 0,
		    filter->older_than_ms);
	tell_number(text, "newer_than_ms", filter->newer_than_ms > 0,
		    filter->newer_than_ms);
	tell_number(text, "limit", filter->limit > 0, filter->limit);
	if (text->size == 0)
		text_adds(text, "all");
}
