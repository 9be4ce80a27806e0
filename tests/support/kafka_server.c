/*
 * kafka_server.c - a Kafka broker of one's own.
 *
 * The idea: a broker is one java process with a directory and a file of
 * properties; the controller lives in it too, on the next port. It is there
 * when it answers a metadata request with itself.
 */
#include "kafka_server.h"

#include "free_port.h"

#include <error.h>
#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT_MS 60000
#define START_MS 90000
#define STOP_MS 30000
#define METADATA_MS 1000
#define GUARDED_LOGIN \
	"org.apache.kafka.common.security.plain.PlainLoginModule required " \
	"user_reader=\"secret\";"
#define LOG_LEVEL "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

/* The second part is for speed: what is waited for in tests (a dead member, a
 * dead broker, an empty group's first join) is waited for briefly. */
static const char properties_format[] =
	"process.roles=broker,controller\n"
	"node.id=1\n"
	"controller.quorum.voters=1@127.0.0.1:%d\n"
	"listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d\n"
	"controller.listener.names=CONTROLLER\n"
	"log.dirs=%s\n"
	"offsets.topic.replication.factor=1\n"
	"transaction.state.log.replication.factor=1\n"
	"transaction.state.log.min.isr=1\n"
	"auto.create.topics.enable=false\n"
	"\n"
	"group.initial.rebalance.delay.ms=0\n"
	"group.min.session.timeout.ms=500\n"
	"group.consumer.min.session.timeout.ms=6000\n"
	"group.consumer.session.timeout.ms=6000\n"
	"group.consumer.min.heartbeat.interval.ms=300\n"
	"group.consumer.heartbeat.interval.ms=300\n"
	"offsets.topic.num.partitions=1\n"
	"transaction.state.log.num.partitions=1\n"
	"broker.heartbeat.interval.ms=200\n"
	"broker.session.timeout.ms=1000\n"
	"log.cleaner.backoff.ms=500\n"
	"log.retention.check.interval.ms=1000\n";

/* A second listener, that clients may be told another port of. */
static const char outer_format[] =
	"listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d,"
	"OUTER://127.0.0.1:%d\n"
	"advertised.listeners=PLAINTEXT://127.0.0.1:%d,OUTER://127.0.0.1:%d\n"
	"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,"
	"CONTROLLER:PLAINTEXT,OUTER:%s\n";

/* Where one needs a password there, and rights. */
static const char guard_format[] =
	"sasl.enabled.mechanisms=PLAIN\n"
	"listener.name.outer.plain.sasl.jaas.config="
	"org.apache.kafka.common.security.plain.PlainLoginModule required "
	"user_onced=\"%s\";\n"
	"authorizer.class.name="
	"org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
	"super.users=User:ANONYMOUS\n";

/* Two more, with a login. */
static const char guarded_format[] =
	"listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d,"
	"LOGIN://127.0.0.1:%d,LOST://127.0.0.1:%d\n"
	"advertised.listeners=PLAINTEXT://127.0.0.1:%d,LOGIN://127.0.0.1:%d,"
	"LOST://nowhere.invalid:%d\n"
	"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,"
	"CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT,LOST:SASL_PLAINTEXT\n"
	"sasl.enabled.mechanisms=PLAIN\n"
	"listener.name.login.plain.sasl.jaas.config=" GUARDED_LOGIN "\n"
	"listener.name.lost.plain.sasl.jaas.config=" GUARDED_LOGIN "\n"
	"authorizer.class.name="
	"org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
	"super.users=User:ANONYMOUS\n";

static const char *jars(void)
{
	const char *directory = getenv("ONCE_TEST_KAFKA_JARS");

	return directory == NULL ? ONCE_KAFKA_JARS : directory;
}

static enum once_status check_jars(struct once_error *err)
{
	if (access(jars(), R_OK) == -1) {
		return error_set(err, ONCE_CONFIG,
				 "there is no Kafka in \"%s\"; "
				 "scripts/kafka-jars fetches it",
				 jars());
	}
	if (system("command -v java >/dev/null") != 0)
		return error_set(err, ONCE_CONFIG, "there is no Java");
	return ONCE_OK;
}

static enum once_status start_java(struct kafka_server *server,
				   const char *const *arguments,
				   struct once_error *err)
{
	char class_path[PATH_MAX];
	const char *argv[16] = { "java",
				 "-Xmx512m",
				 "-XX:+UseSerialGC",
				 "-XX:TieredStopAtLevel=1",
				 "-XX:-UsePerfData",
				 LOG_LEVEL,
				 "-cp",
				 class_path };
	struct process_options options = { .argv = argv,
					   .output = server->log,
					   .append = true,
					   .directory = server->dir.path };

	for (size_t i = 8; *arguments != NULL && i < 15; i++)
		argv[i] = *arguments++;
	if (temp_dir_path(class_path, jars(), "*", err) != ONCE_OK)
		return err->status;
	return process_start(&server->process, &options, err);
}

static void write_outer(const struct kafka_server *server, FILE *file)
{
	if (server->outer_port == 0 && server->password == NULL)
		return;
	fprintf(file, outer_format, server->port, server->port + 1,
		server->port + 2, server->port,
		server->outer_port == 0 ? server->port + 2 : server->outer_port,
		server->password == NULL ? "PLAINTEXT" : "SASL_PLAINTEXT");
	if (server->password != NULL)
		fprintf(file, guard_format, server->password);
}

static enum once_status write_properties(struct kafka_server *server,
					 const char *const *settings,
					 struct once_error *err)
{
	FILE *file = fopen(server->properties, "we");

	if (file == NULL) {
		return error_set(err, ONCE_CONFIG, "could not write \"%s\"",
				 server->properties);
	}
	fprintf(file, properties_format, server->port + 1, server->port,
		server->port + 1, server->data);
	write_outer(server, file);
	if (server->guarded)
		fprintf(file, guarded_format, server->port, server->port + 1,
			server->port + 2, server->port + 3, server->port,
			server->port + 2, server->port + 3);
	for (; settings != NULL && *settings != NULL; settings++)
		fprintf(file, "%s\n", *settings);
	fclose(file);
	return ONCE_OK;
}

/* A cluster's id is 16 bytes in base64url; any will do. */
static enum once_status format_data(struct kafka_server *server,
				    struct once_error *err)
{
	const char *arguments[] = { "kafka.tools.StorageTool",
				    "format",
				    "-t",
				    "b25jZS10ZXN0LWNsdXN0ZQ",
				    "-c",
				    server->properties,
				    NULL };

	if (start_java(server, arguments, err) != ONCE_OK)
		return err->status;
	if (process_wait(&server->process, FORMAT_MS) &&
	    process_exit_code(&server->process) == 0)
		return ONCE_OK;
	process_kill(&server->process);
	return error_set(err, ONCE_CONFIG,
			 "Kafka's data directory could not be formatted; "
			 "see \"%s\"",
			 server->log);
}

static enum once_status prepare(struct kafka_server *server,
				const char *const *settings,
				struct once_error *err)
{
	const char *directory = server->dir.path;

	server->port = free_port_find(4);
	if (server->port == -1)
		return error_set(err, ONCE_TRANSIENT, "no port is free");
	snprintf(server->bootstrap, sizeof(server->bootstrap), "127.0.0.1:%d",
		 server->port);
	snprintf(server->outer, sizeof(server->outer), "127.0.0.1:%d",
		 server->port + 2);
	if (temp_dir_path(server->data, directory, "data", err) != ONCE_OK ||
	    temp_dir_path(server->log, directory, "log", err) != ONCE_OK ||
	    temp_dir_path(server->properties, directory, "server.properties",
			  err) != ONCE_OK)
		return err->status;
	if (write_properties(server, settings, err) != ONCE_OK)
		return err->status;
	return format_data(server, err);
}

static enum once_status create(struct kafka_server *server,
			       const char *const *settings,
			       struct once_error *err)
{
	memset(&server->process, 0, sizeof(server->process));
	if (temp_dir_init(&server->dir, err) != ONCE_OK ||
	    check_jars(err) != ONCE_OK ||
	    prepare(server, settings, err) != ONCE_OK)
		return err->status;
	return kafka_server_start(server, err);
}

enum once_status kafka_server_create(struct kafka_server *server,
				     const char *const *settings,
				     struct once_error *err)
{
	server->outer_port = 0;
	server->guarded = false;
	server->password = NULL;
	return create(server, settings, err);
}

enum once_status kafka_server_create_guarded(struct kafka_server *server,
					     struct once_error *err)
{
	server->outer_port = 0;
	server->password = NULL;
	server->guarded = true;
	return create(server, NULL, err);
}

enum once_status kafka_server_create_behind(struct kafka_server *server,
					    int outer_port,
					    const char *password,
					    struct once_error *err)
{
	server->outer_port = outer_port;
	server->guarded = false;
	server->password = password;
	return create(server, NULL, err);
}

enum once_status kafka_server_set_password(struct kafka_server *server,
					   const char *password,
					   struct once_error *err)
{
	server->password = password;
	return write_properties(server, NULL, err);
}

static bool answers(rd_kafka_t *rk)
{
	const struct rd_kafka_metadata *metadata;
	bool has_broker;

	if (rd_kafka_metadata(rk, 0, NULL, &metadata, METADATA_MS) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	has_broker = metadata->broker_cnt > 0;
	rd_kafka_metadata_destroy(metadata);
	return has_broker;
}

static rd_kafka_t *open_client(const struct kafka_server *server)
{
	const char *const properties[][2] = {
		{ "bootstrap.servers", server->bootstrap },
		{ "reconnect.backoff.ms", "50" },
		{ "reconnect.backoff.max.ms", "100" },
		{ "log_level", "0" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk;

	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++) {
		rd_kafka_conf_set(conf, properties[i][0], properties[i][1],
				  NULL, 0);
	}
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	if (rk == NULL)
		rd_kafka_conf_destroy(conf);
	return rk;
}

struct waiting {
	struct kafka_server *server;
	rd_kafka_t *rk;
};

static bool answers_or_has_ended(void *arg)
{
	const struct waiting *waiting = arg;

	return !process_is_running(&waiting->server->process) ||
	       answers(waiting->rk);
}

enum once_status kafka_server_start(struct kafka_server *server,
				    struct once_error *err)
{
	const char *arguments[] = { "kafka.Kafka", server->properties, NULL };
	struct waiting waiting = { server, NULL };
	bool is_there;

	if (start_java(server, arguments, err) != ONCE_OK)
		return err->status;
	waiting.rk = open_client(server);
	if (waiting.rk == NULL)
		return error_set(err, ONCE_BUG, "could not make a client");
	is_there = wait_until(answers_or_has_ended, &waiting, START_MS) &&
		   process_is_running(&server->process);
	rd_kafka_destroy(waiting.rk);
	if (is_there)
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT, "Kafka didn't start; see \"%s\"",
			 server->log);
}

void kafka_server_stop(struct kafka_server *server)
{
	process_stop(&server->process, SIGTERM, STOP_MS);
}

void kafka_server_kill(struct kafka_server *server)
{
	process_kill(&server->process);
}

/* Nobody needs its data any more: no time for an orderly end. */
void kafka_server_destroy(struct kafka_server *server)
{
	kafka_server_kill(server);
	temp_dir_fini(&server->dir);
}
