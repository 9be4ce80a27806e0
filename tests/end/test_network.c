/*
 * test_network.c - the network before both servers does all that a network can
 * do, one after the other, under load: nothing lost, nothing twice.
 */
#include "kafka_server.h"
#include "onced_fixture.h"
#include "pg_server.h"
#include "proxy.h"
#include "servers.h"
#include "suite.h"

#include <clock.h>
#include <stdio.h>
#include <time.h>

enum {
	WAIT_MS = 50000,
	PARTITIONS = 4,
	LOAD = 5,
	FAULT_MS = 700,
	REST_MS = 500
};

struct network {
	struct proxy to_pg;
	struct proxy to_kafka;
	struct pg_server pg;
	struct kafka_server kafka;
	struct onced_fixture fixture;
	struct onced onced;
	char conninfo[640];
	char brokers[32];
};

static void create_servers(struct network *network)
{
	struct once_error err;

	proxy_open(&network->to_pg);
	proxy_open(&network->to_kafka);
	ck_assert_msg(pg_server_create(&network->pg, NULL, &err) == ONCE_OK,
		      "%s", err.text);
	ck_assert_msg(kafka_server_create_behind(&network->kafka,
						 network->to_kafka.port, NULL,
						 &err) == ONCE_OK,
		      "%s", err.text);
	proxy_start(&network->to_pg, network->pg.port);
	proxy_start(&network->to_kafka, network->kafka.port + 2);
}

static void begin(struct network *network)
{
	struct onced_options options = { .conninfo = network->conninfo,
					 .brokers = network->brokers };

	create_servers(network);
	onced_fixture_init_with(&network->fixture, PARTITIONS,
				network->pg.conninfo, network->kafka.bootstrap);
	snprintf(network->conninfo, sizeof(network->conninfo), "%s port=%d",
		 network->fixture.pg.conninfo, network->to_pg.port);
	snprintf(network->brokers, sizeof(network->brokers), "127.0.0.1:%d",
		 network->to_kafka.port);
	onced_init(&network->onced, &network->fixture, &options);
	onced_start(&network->onced, NULL);
	onced_wait_until_ready(&network->onced, WAIT_MS);
}

static void end(struct network *network)
{
	onced_fixture_fini(&network->fixture);
	proxy_close(&network->to_pg);
	proxy_close(&network->to_kafka);
	pg_server_destroy(&network->pg);
	kafka_server_destroy(&network->kafka);
}

static void send_for(struct network *network, int64_t ms)
{
	const struct timespec pause = { 0, 10000000 };
	struct onced_fixture *fixture = &network->fixture;
	int64_t deadline_ms = clock_ms() + ms;

	while (clock_ms() < deadline_ms) {
		onced_fixture_send_series(fixture, fixture->sent, LOAD);
		nanosleep(&pause, NULL);
	}
}

static void do_all(struct network *network, struct proxy *proxy)
{
	static const enum proxy_mode modes[] = { PROXY_DELAY, PROXY_FREEZE,
						 PROXY_DEAF, PROXY_REFUSE };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		proxy_set(proxy, modes[i], 50);
		send_for(network, FAULT_MS);
		proxy_set(proxy, PROXY_PASS, 0);
		send_for(network, REST_MS);
		proxy_cut(proxy);
		send_for(network, REST_MS);
	}
}

START_TEST(a_network_at_its_worst_loses_nothing_and_repeats_nothing)
{
	static struct network network;
	int before;

	begin(&network);
	ck_assert_int_gt(network.to_kafka.orders->seen, 0);
	before = network.to_pg.orders->seen;
	do_all(&network, &network.to_pg);
	ck_assert_int_ge(network.to_pg.orders->seen, before + 4);
	before = network.to_kafka.orders->seen;
	do_all(&network, &network.to_kafka);
	ck_assert_int_ge(network.to_kafka.orders->seen, before + 4);
	onced_fixture_wait_for_all(&network.fixture, WAIT_MS);
	onced_fixture_check_effects(&network.fixture, network.fixture.sent);
	printf("%lld messages, %lld commits unknown\n",
	       (long long)network.fixture.sent,
	       (long long)onced_get_metric(
		       &network.onced, "onced_transactions_total", "unknown"));
	ck_assert_int_eq(onced_stop(&network.onced), 0);
	end(&network);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the network");
	TCase *tests = tcase_create("all");

	servers_need(NEED(PG) | NEED(KAFKA));
	tcase_add_test(
		tests,
		a_network_at_its_worst_loses_nothing_and_repeats_nothing);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
