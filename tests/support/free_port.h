/* free_port.h - TCP ports on 127.0.0.1 for servers of tests. */
#ifndef TEST_FREE_PORT_H
#define TEST_FREE_PORT_H

/* `count` neighbouring ports that nobody listens on; the first, or -1. They
 * lie below the ports that the kernel gives to clients: a server that is
 * restarted finds its port still free, and a client can't meet itself. */
int free_port_find(int count);
/* The same of two ports that lie so far apart. */
int free_port_find_pair(int distance);

#endif
