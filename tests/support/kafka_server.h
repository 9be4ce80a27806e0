/*
 * kafka_server.h - a Kafka broker (KRaft, one node) of a test's own, from the
 * jars that scripts/kafka-jars fetched: for tests that stop or kill it. (Others
 * share the run's; see servers.h.) A start takes about four seconds.
 */
#ifndef TEST_KAFKA_SERVER_H
#define TEST_KAFKA_SERVER_H

#include "process.h"
#include "temp_dir.h"

struct kafka_server {
	struct temp_dir dir;
	struct process process;
	int port;
	int outer_port;       /* 0: none; see kafka_server_create_behind() */
	const char *password; /* of user "onced"; NULL: nobody needs one */
	bool guarded;         /* see kafka_server_create_guarded() */
	char data[PATH_MAX];  /* the logs: data/TOPIC-PARTITION/ */
	char log[PATH_MAX];
	char properties[PATH_MAX];
	char bootstrap[32];
	char outer[32]; /* see kafka_server_create_behind() */
};

/* Format and start. `settings`: "name=value" on top of ours, NULL-terminated;
 * may be NULL. CONFIG: no Java or no jars. Whatever is returned, give it to
 * kafka_server_destroy(). */
enum once_status kafka_server_create(struct kafka_server *server,
				     const char *const *settings,
				     struct once_error *err) ONCE_MUST_CHECK;
/* The same, with a second listener, `outer`. Whoever comes in there is told
 * that the broker is at `outer_port` (a proxy's; 0: at no other one). With a
 * password only user "onced" comes in (SASL_PLAINTEXT, PLAIN), and has the
 * rights that he is given (kafka_rights.h); at `bootstrap` everybody may do
 * all. */
enum once_status kafka_server_create_behind(
	struct kafka_server *server, int outer_port, const char *password,
	struct once_error *err) ONCE_MUST_CHECK;
/* From its next start on. */
enum once_status kafka_server_set_password(
	struct kafka_server *server, const char *password,
	struct once_error *err) ONCE_MUST_CHECK;
/* One with rights. Whoever comes in at its port may do all; at port + 2 the
 * user "reader" with the password "secret" logs in (SASL PLAIN), who may do
 * what he is given; at port + 3 too, and is told a name of the broker that
 * nobody can resolve. */
enum once_status kafka_server_create_guarded(
	struct kafka_server *server, struct once_error *err) ONCE_MUST_CHECK;
/* At the port and with the data of before; returns when it answers. */
enum once_status kafka_server_start(struct kafka_server *server,
				    struct once_error *err) ONCE_MUST_CHECK;
void kafka_server_stop(struct kafka_server *server);
void kafka_server_kill(struct kafka_server *server);
void kafka_server_destroy(struct kafka_server *server);

#endif
