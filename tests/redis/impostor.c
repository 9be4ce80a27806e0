/* impostor.c - see the header. It ticks, for it may have to say a byte. */
#include "impostor.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 20

static void leave(struct impostor *impostor)
{
	if (impostor->connection != -1)
		close(impostor->connection);
	impostor->connection = -1;
	impostor->said = 0;
	impostor->heard = false;
}

static void say(struct impostor *impostor, const char *data, size_t size)
{
	(void)!send(impostor->connection, data, size, MSG_NOSIGNAL);
}

static void say_byte(struct impostor *impostor)
{
	const char *says = impostor->part.says;
	size_t size = strlen(says);

	say(impostor, impostor->said < size ? &says[impostor->said] : "x", 1);
	impostor->said++;
}

static void begin_to_say(struct impostor *impostor)
{
	const char *says = impostor->part.says;

	impostor->heard = true;
	if (says != NULL && !impostor->part.slowly)
		say(impostor, says, strlen(says));
	if (impostor->part.leaves)
		leave(impostor);
}

static void hear(struct impostor *impostor)
{
	char data[4096];
	ssize_t size = recv(impostor->connection, data, sizeof(data), 0);

	if (size <= 0) {
		leave(impostor);
		return;
	}
	if (impostor->part.echoes)
		say(impostor, data, (size_t)size);
	if (!impostor->heard)
		begin_to_say(impostor);
}

static void meet(struct impostor *impostor)
{
	leave(impostor);
	impostor->connection = accept(impostor->listener, NULL, NULL);
	atomic_fetch_add(&impostor->seen, 1);
}

static void *play(void *arg)
{
	struct impostor *impostor = arg;

	while (!atomic_load(&impostor->stops)) {
		struct pollfd fds[] = { { impostor->listener, POLLIN, 0 },
					{ impostor->connection, POLLIN, 0 } };

		if (poll(fds, 2, TICK_MS) == 0 && impostor->heard &&
		    impostor->part.slowly)
			say_byte(impostor);
		if (fds[1].revents != 0)
			hear(impostor);
		if (fds[0].revents != 0)
			meet(impostor);
	}
	leave(impostor);
	return NULL;
}

void impostor_start(struct impostor *impostor, const struct impostor_part *part)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	memset(impostor, 0, sizeof(*impostor));
	impostor->part = *part;
	impostor->connection = -1;
	impostor->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(impostor->listener,
			      (const struct sockaddr *)&address, size),
			 0);
	ck_assert_int_eq(listen(impostor->listener, 64), 0);
	ck_assert_int_eq(getsockname(impostor->listener,
				     (struct sockaddr *)&address, &size),
			 0);
	snprintf(impostor->url, sizeof(impostor->url),
		 "redis://:halibut@127.0.0.1:%d", ntohs(address.sin_port));
	ck_assert_int_eq(
		pthread_create(&impostor->thread, NULL, play, impostor), 0);
}

void impostor_stop(struct impostor *impostor)
{
	atomic_store(&impostor->stops, true);
	pthread_join(impostor->thread, NULL);
	close(impostor->listener);
}
