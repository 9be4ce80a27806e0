/*
 * any_server.c - one view of three servers, for who starts them all alike.
 */
#include "any_server.h"

static enum once_status create_pg(struct any_server *server,
				  struct once_error *err)
{
	server->address = server->as.pg.conninfo;
	server->log = server->as.pg.log;
	server->process = &server->as.pg.process;
	return pg_server_create(&server->as.pg, NULL, err);
}

static enum once_status create_kafka(struct any_server *server,
				     struct once_error *err)
{
	server->address = server->as.kafka.bootstrap;
	server->log = server->as.kafka.log;
	server->process = &server->as.kafka.process;
	return kafka_server_create(&server->as.kafka, NULL, err);
}

static enum once_status create_redis(struct any_server *server,
				     struct once_error *err)
{
	server->address = server->as.redis.url;
	server->log = server->as.redis.log;
	server->process = &server->as.redis.process;
	return redis_server_create(&server->as.redis, err);
}

enum once_status any_server_create(struct any_server *server,
				   enum server_kind kind,
				   struct once_error *err)
{
	server->kind = kind;
	if (kind == SERVER_PG)
		return create_pg(server, err);
	if (kind == SERVER_KAFKA)
		return create_kafka(server, err);
	return create_redis(server, err);
}

void any_server_destroy(struct any_server *server)
{
	if (server->kind == SERVER_PG) {
		pg_server_destroy(&server->as.pg);
	} else if (server->kind == SERVER_KAFKA) {
		kafka_server_destroy(&server->as.kafka);
	} else {
		redis_server_destroy(&server->as.redis);
	}
}
