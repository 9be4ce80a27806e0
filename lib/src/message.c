/* What a handler may ask of a message. Nothing here copies but once_json(),
 * which decodes. */
#include "message.h"

#include "bytes.h"
#include "json_members.h"
#include "json_pointer.h"

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

/* Most ask for several members of one object: they are found together. Any
 * other text, and any other pointer, is followed for itself. */
struct once_bytes once_json(const struct once_message *msg, const char *pointer)
{
	struct once_bytes scalar = bytes_of(NULL, 0);
	enum once__key_fault fault;

	if (*msg->members == NULL)
		*msg->members =
			once__json_members_read(msg->record->value, msg->arena);
	if (*msg->members == NULL || pointer[0] != '/')
		fault = once__json_find(msg->record->value, pointer, msg->arena,
					&scalar);
	else
		fault = once__json_members_find(*msg->members, pointer,
						msg->arena, &scalar);
	return fault == ONCE__KEY_OK ? scalar : bytes_of(NULL, 0);
}
