/* message.h - a message with its keys, as a handler sees it. */
#ifndef ONCE__MESSAGE_H
#define ONCE__MESSAGE_H

#include "route.h"

struct once_message {
	const struct once_record *record;
	struct once__keys keys;
	struct arena *arena; /* for what accessors decode; ends with the run */
	struct once__reading *reading;
};

#endif
