/* The sentences of the table in key_fault.h. */
#include "key_fault.h"

const char *once__key_fault_text(enum once__key_fault fault)
{
	static const char *const texts[] = {
#define X(name, text) text,
		ONCE__KEY_FAULT_TABLE(X)
#undef X
	};

	return texts[fault];
}
