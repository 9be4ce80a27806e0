/* The words for the public tables of once.h. */
#include <once/once.h>

int once_ending_is_final(enum once_ending ending)
{
	return ending == ONCE_HANDLED_ENDING ||
	       ending == ONCE_DUPLICATE_ENDING ||
	       ending == ONCE_CONFLICT_ENDING || ending == ONCE_DEAD_ENDING ||
	       ending == ONCE_WAITING_ENDING;
}

const char *once_ending_word(enum once_ending ending)
{
	static const char *const words[] = {
#define X(name, word, text) word,
		ONCE_ENDING_TABLE(X)
#undef X
	};

	return words[ending];
}

const char *once_cause_word(enum once_cause cause)
{
	static const char *const words[] = {
#define X(name, word) word,
		ONCE_CAUSE_TABLE(X)
#undef X
	};

	return words[cause];
}

const char *once_key_kind_word(enum once_key_kind kind)
{
	return kind == ONCE_KEY_MSG_ID ? "msg_id" : "biz_id";
}

const char *once_version(void)
{
	return ONCE_VERSION;
}

const char *once_stage_word(enum once_stage stage)
{
	static const char *const words[] = { "batch", "local", "redis",
					     "database" };

	return words[stage];
}
