/*
 * test_service.c - what the service manager is told: a socket of ours takes the
 * place of systemd's.
 */
#include "onced_fixture.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	WAIT_MS = 30000,
	SPAN_MS = 900 /* of the watchdog */
};

struct manager {
	int fd;
};

/* What is started now is told of it. */
static void manager_init(struct manager *manager)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_usec = 100000 };
	char name[32];
	char span_us[24];

	snprintf(name, sizeof(name), "@once-test-%d", (int)getpid());
	memcpy(address.sun_path + 1, name + 1, strlen(name + 1));
	manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(manager->fd, -1);
	ck_assert_int_eq(setsockopt(manager->fd, SOL_SOCKET, SO_RCVTIMEO,
				    &limit, sizeof(limit)),
			 0);
	ck_assert_int_eq(
		bind(manager->fd, (const struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				 strlen(name))),
		0);
	snprintf(span_us, sizeof(span_us), "%d000", SPAN_MS);
	setenv("NOTIFY_SOCKET", name, 1);
	setenv("WATCHDOG_USEC", span_us, 1);
}

static void manager_fini(struct manager *manager)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	close(manager->fd);
}

/* False: nothing within the time that contains it. */
static bool is_told(struct manager *manager, const char *what,
		    int64_t timeout_ms)
{
	int64_t end_ms = clock_ms() + timeout_ms;
	char told[512];

	while (clock_ms() < end_ms) {
		ssize_t size = recv(manager->fd, told, sizeof(told) - 1, 0);

		if (size < 0)
			continue;
		told[size] = '\0';
		if (strstr(told, what) != NULL)
			return true;
	}
	return false;
}

static void forget_what_was_told(struct manager *manager)
{
	char told[512];

	while (recv(manager->fd, told, sizeof(told), MSG_DONTWAIT) >= 0)
		continue;
}

START_TEST(it_is_told_of_the_start_of_trouble_and_of_the_stop)
{
	struct onced_fixture fixture;
	struct manager manager;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, NULL);
	manager_init(&manager);
	onced_start(&onced, NULL);
	ck_assert(is_told(&manager, "READY=1", WAIT_MS));
	ck_assert(is_told(&manager, "WATCHDOG=1", WAIT_MS));
	ck_assert(is_told(&manager, "STATUS=ready", WAIT_MS));
	pg_fixture_run(&fixture.pg,
		       "ALTER TABLE once.consume_log RENAME TO elsewhere");
	onced_fixture_send_series(&fixture, 0, 1);
	ck_assert(is_told(&manager, "STATUS=lane", WAIT_MS));
	pg_fixture_run(&fixture.pg,
		       "ALTER TABLE once.elsewhere RENAME TO consume_log");
	ck_assert(is_told(&manager, "STATUS=ready", WAIT_MS));
	onced_tell_to_stop(&onced);
	ck_assert(is_told(&manager, "STOPPING=1", WAIT_MS));
	ck_assert_int_eq(onced_wait(&onced, WAIT_MS), 0);
	manager_fini(&manager);
	onced_fixture_fini(&fixture);
}
END_TEST

/* The manager would end it then, and start it again. */
START_TEST(a_process_whose_handler_does_not_return_pings_no_more)
{
	static const struct letter stuck[] = {
		{ 0, "stuck", "stuck", "hang", "v" },
	};
	struct onced_options options = { .route = "    timeout: 1s\n" };
	struct onced_fixture fixture;
	struct manager manager;
	struct onced onced;

	onced_fixture_init(&fixture, 1);
	onced_init(&onced, &fixture, &options);
	manager_init(&manager);
	onced_fixture_put_file(&fixture, "hang");
	onced_start(&onced, NULL);
	onced_fixture_send(&fixture, stuck, 1);
	onced_fixture_wait_for_file(&fixture, "hanging", WAIT_MS);
	onced_wait_for_log(&onced, "hasn't returned", WAIT_MS);
	forget_what_was_told(&manager);
	ck_assert(!is_told(&manager, "WATCHDOG=1", 2 * SPAN_MS));
	onced_fixture_remove_file(&fixture, "hang");
	ck_assert(is_told(&manager, "WATCHDOG=1", WAIT_MS));
	onced_fixture_wait_for_all(&fixture, WAIT_MS);
	ck_assert_int_eq(onced_stop(&onced), 0);
	manager_fini(&manager);
	onced_fixture_fini(&fixture);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("service");
	TCase *tcase = tcase_create("service");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(tcase,
		       it_is_told_of_the_start_of_trouble_and_of_the_stop);
	tcase_add_test(tcase,
		       a_process_whose_handler_does_not_return_pings_no_more);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
