/* identity.h - by what name this process is known in the database. */
#ifndef ONCED_IDENTITY_H
#define ONCED_IDENTITY_H

#include <once/once.h>

struct identity {
	char id[37]; /* a random UUID (RFC 9562, version 4) */
	char host[256];
	struct once_instance instance; /* points into it: don't copy */
};

void identity_init(struct identity *identity, const char *group);

#endif
