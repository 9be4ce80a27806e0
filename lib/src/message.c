/* What a handler may ask of a message. Nothing here copies but once_json(),
 * which decodes. */
#include "message.h"

#include "bytes.h"

struct once_bytes once_msg_id(const struct once_message *msg)
{
	return msg->keys.msg_id;
}

struct once_bytes once_biz_id(const struct once_message *msg)
{
	return msg->keys.biz_id;
}

const char *once_topic(const struct once_message *msg)
{
	return msg->record->topic;
}

int32_t once_partition(const struct once_message *msg)
{
	return msg->record->partition;
}

int64_t once_offset(const struct once_message *msg)
{
	return msg->record->offset;
}

int64_t once_time_ms(const struct once_message *msg)
{
	return msg->record->time_ms;
}

struct once_bytes once_key(const struct once_message *msg)
{
	return msg->record->key;
}

struct once_bytes once_value(const struct once_message *msg)
{
	return msg->record->value;
}

struct once_bytes once_header(const struct once_message *msg, const char *name)
{
	const struct once_record *record = msg->record;

	for (size_t i = record->header_count; i > 0; i--)
		if (strcmp(record->headers[i - 1].name, name) == 0)
			return record->headers[i - 1].value;
	return bytes_of(NULL, 0);
}

struct once_bytes once_json(const struct once_message *msg, const char *pointer)
{
	struct once__json_pointer parsed;
	struct once_bytes scalar = bytes_of(NULL, 0);
	char *text = arena_copy(msg->arena, bytes_text(pointer));

	if (text == NULL ||
	    once__json_pointer_parse(text, &parsed, NULL) != ONCE_OK ||
	    once__reading_find(msg->reading, &parsed, &scalar) != ONCE__KEY_OK)
		return bytes_of(NULL, 0);
	return scalar;
}
