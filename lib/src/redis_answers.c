/*
 * redis_answers.c - what came back, judged.
 *
 * The idea to hold: Redis answers in the order it was asked. So `owed` counts
 * what is still to come; all of it must say OK, but the last, if values were
 * asked for. Anything else is a fault, and whoever listens may not be a Redis.
 */
#include "redis_answers.h"

#include "bytes.h"

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Larger than any answer to what we ask. */
#define ANSWER_MAX_BYTES (64 * 1024 * 1024)

struct once__answers {
	redisReader *reader;
	redisReplyObjectFunctions functions; /* hiredis's, but for arrays */
	void *(*create_array)(const redisReadTask *, ONCE_HIREDIS_ELEMENTS);
	size_t size; /* come, of an answer that isn't whole yet */
	size_t owed;
	size_t asked; /* keys; 0: no value is asked for */
	redisReply *values;
	char fault[512]; /* the first; "": none */
};

static bool fail(struct once__answers *answers, const char *fmt, ...)
	ONCE_PRINTF(2, 3);

/* Always false. */
static bool fail(struct once__answers *answers, const char *fmt, ...)
{
	va_list args;

	if (answers->fault[0] != '\0')
		return false;
	va_start(args, fmt);
	vsnprintf(answers->fault, sizeof(answers->fault), fmt, args);
	va_end(args);
	return false;
}

/* For the reader. An array says how long it will be, and memory for it would be
 * taken before anything of it has come. */
static void *create_array(const redisReadTask *task,
			  ONCE_HIREDIS_ELEMENTS elements)
{
	struct once__answers *answers = task->privdata;

	if (task->parent == NULL && answers->owed == 1 &&
	    (size_t)elements == answers->asked)
		return answers->create_array(task, elements);
	fail(answers, "sent an array that isn't the answer to a question of "
		      "ours; is it a Redis?");
	return NULL;
}

struct once__answers *once__answers_create(void)
{
	struct once__answers *answers = calloc(1, sizeof(*answers));

	if (answers == NULL)
		return NULL;
	answers->reader = redisReaderCreate();
	if (answers->reader == NULL) {
		free(answers);
		return NULL;
	}
	answers->functions = *answers->reader->fn;
	answers->create_array = answers->functions.createArray;
	answers->functions.createArray = create_array;
	answers->reader->fn = &answers->functions;
	answers->reader->privdata = answers;
	return answers;
}

static void drop_values(struct once__answers *answers)
{
	if (answers->values != NULL)
		freeReplyObject(answers->values);
	answers->values = NULL;
	answers->asked = 0;
}

void once__answers_destroy(struct once__answers *answers)
{
	if (answers == NULL)
		return;
	drop_values(answers);
	redisReaderFree(answers->reader);
	free(answers);
}

void once__answers_expect_ok(struct once__answers *answers)
{
	drop_values(answers);
	answers->owed++;
}

void once__answers_expect_values(struct once__answers *answers, size_t count)
{
	once__answers_expect_ok(answers);
	answers->asked = count;
}

size_t once__answers_owed(const struct once__answers *answers)
{
	return answers->owed;
}

const char *once__answers_fault(const struct once__answers *answers)
{
	return answers->fault;
}

void once__answers_get_values(const struct once__answers *answers,
			      struct once_bytes *ret_values)
{
	const redisReply *value;

	for (size_t i = 0; i < answers->asked; i++) {
		value = answers->values->element[i];
		ret_values[i] = value->type == REDIS_REPLY_STRING
					? bytes_of(value->str, value->len)
					: bytes_of(NULL, 0);
	}
}

/* ---- judging ---- */

static const char no_cluster[] =
	"a Redis Cluster isn't supported: use a single Redis, or one with "
	"replicas";

/* What an error of Redis means to whoever set this up, by its first word. */
static const struct {
	const char *word;
	const char *hint;
} hints[] = {
	{ "MOVED", no_cluster },
	{ "ASK", no_cluster },
	{ "CROSSSLOT", no_cluster },
	{ "CLUSTERDOWN", no_cluster },
	{ "READONLY", "write the address of the primary" },
	{ "NOAUTH", "write redis://:password@host or "
		    "redis://user:password@host" },
	{ "NOPERM", "the user needs MGET and SET of keys once:*" },
};

static const char *hint_for(const char *text)
{
	size_t size = strcspn(text, " ");

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (strlen(hints[i].word) == size &&
		    memcmp(hints[i].word, text, size) == 0)
			return hints[i].hint;
	return NULL;
}

/* An unknown command is shown with its words, of which one may be a password:
 * they are left out. */
static bool fail_with_error(struct once__answers *answers, const char *text)
{
	const char *words = strstr(text, ", with args");
	int size = (int)(words == NULL ? strlen(text) : (size_t)(words - text));
	const char *hint = hint_for(text);

	if (size == 0)
		return fail(answers, "sent an error without a text");
	return fail(answers, "%.*s%s%s", size > 300 ? 300 : size, text,
		    hint == NULL ? "" : "; ", hint == NULL ? "" : hint);
}

static bool are_values(const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return false;
	for (size_t i = 0; i < reply->elements; i++)
		if (reply->element[i]->type != REDIS_REPLY_STRING &&
		    reply->element[i]->type != REDIS_REPLY_NIL)
			return false;
	return true;
}

static bool is_ok(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_STATUS &&
	       strcmp(reply->str, "OK") == 0;
}

static bool judge(struct once__answers *answers, const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		return fail_with_error(answers, reply->str);
	if (answers->owed == 0)
		return fail(answers, "sent what nobody asked for; is it a "
				     "Redis?");
	if (answers->owed == 1 && answers->asked > 0)
		return are_values(reply) ||
		       fail(answers, "sent something else than values; is it "
				     "a Redis?");
	return is_ok(reply) || fail(answers, "sent something else than OK; is "
					     "it a Redis?");
}

static bool take_answer(struct once__answers *answers, redisReply *reply)
{
	bool good = judge(answers, reply);

	answers->size = 0;
	if (good)
		answers->owed--;
	if (good && answers->owed == 0 && answers->asked > 0)
		answers->values = reply;
	else
		freeReplyObject(reply);
	return good;
}

bool once__answers_feed(struct once__answers *answers, const void *data,
			size_t size)
{
	void *reply;

	answers->size += size;
	if (answers->size > ANSWER_MAX_BYTES)
		return fail(answers, "sent an answer of more than %d MiB",
			    ANSWER_MAX_BYTES / 1024 / 1024);
	redisReaderFeed(answers->reader, data, size);
	while (redisReaderGetReply(answers->reader, &reply) == REDIS_OK) {
		if (reply == NULL)
			return true;
		if (!take_answer(answers, reply))
			return false;
	}
	return fail(answers, "doesn't speak the protocol of Redis (%s)",
		    answers->reader->errstr);
}
