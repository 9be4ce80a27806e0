/* admin_listen.h - the socket of an address such as "127.0.0.1:9464". */
#ifndef ONCED_ADMIN_LISTEN_H
#define ONCED_ADMIN_LISTEN_H

#include <once/types.h>
#include <stdint.h>

enum {
	LISTEN_HOST_SIZE = 256
};

/* The socket doesn't block, and is the caller's. `ret_host`: without brackets
 * and port. CONFIG: the address is wrong or taken. */
enum once_status listen_open(const char *listen, int *ret_fd,
			     char ret_host[LISTEN_HOST_SIZE],
			     struct once_error *err) ONCE_MUST_CHECK;
uint16_t listen_port(int fd);

#endif
