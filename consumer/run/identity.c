/* Drawn anew at each start: a process that comes back is another one. */
#include "identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static void draw_uuid(char id[37])
{
	unsigned char drawn[16];

	if (getrandom(drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
		abort(); /* two processes of one name would hide a crash */
	drawn[6] = (unsigned char)((drawn[6] & 0x0F) | 0x40);
	drawn[8] = (unsigned char)((drawn[8] & 0x3F) | 0x80);
	snprintf(id, 37,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 drawn[0], drawn[1], drawn[2], drawn[3], drawn[4], drawn[5],
		 drawn[6], drawn[7], drawn[8], drawn[9], drawn[10], drawn[11],
		 drawn[12], drawn[13], drawn[14], drawn[15]);
}

void identity_init(struct identity *identity, const char *group)
{
	draw_uuid(identity->id);
	if (gethostname(identity->host, sizeof(identity->host)) != 0)
		identity->host[0] = '\0';
	identity->host[sizeof(identity->host) - 1] = '\0';
	identity->instance = (struct once_instance){
		.id = identity->id,
		.group = group,
		.host = identity->host,
		.pid = (int)getpid(),
	};
}
