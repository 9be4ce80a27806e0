/* The delivery report says at which offset a message lies: each carries its
 * entry. */
#include "traffic.h"

#include "clock.h"
#include "error.h"
#include "text.h"

#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

enum {
	MESSAGES_PER_SECOND = 500,
	FLUSH_MS = 2000
};

struct traffic {
	rd_kafka_t *rk;
	struct ledger *ledger;
	size_t given; /* to the library */
	size_t acknowledged;
	int64_t began_ms; /* 0: not yet */
	rd_kafka_resp_err_t refusal;
};

static void take_report(rd_kafka_t *rk, const rd_kafka_message_t *rkm,
			void *arg)
{
	struct traffic *traffic = arg;
	struct entry *entry = rkm->_private;

	(void)rk;
	if (rkm->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		traffic->refusal = rkm->err;
		return;
	}
	entry->offset = rkm->offset;
	traffic->acknowledged++;
}

static void stay_silent(const rd_kafka_t *rk, int level, const char *facility,
			const char *text)
{
	(void)rk;
	(void)level;
	(void)facility;
	(void)text;
}

static rd_kafka_t *create_producer(struct traffic *traffic, const char *brokers,
				   char *text, size_t size)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk = NULL;

	rd_kafka_conf_set_dr_msg_cb(conf, take_report);
	rd_kafka_conf_set_log_cb(conf, stay_silent);
	rd_kafka_conf_set_opaque(conf, traffic);
	if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, text, size) ==
		    RD_KAFKA_CONF_OK &&
	    rd_kafka_conf_set(conf, "enable.idempotence", "true", text, size) ==
		    RD_KAFKA_CONF_OK)
		rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, size);
	if (rk == NULL)
		rd_kafka_conf_destroy(conf);
	return rk;
}

enum once_status traffic_start(const char *brokers, struct ledger *ledger,
			       struct traffic **ret_traffic,
			       struct once_error *err)
{
	struct traffic *traffic = calloc(1, sizeof(*traffic));
	char text[300];

	if (traffic == NULL)
		return error_no_memory(err);
	traffic->ledger = ledger;
	traffic->rk = create_producer(traffic, brokers, text, sizeof(text));
	if (traffic->rk == NULL) {
		traffic_stop(traffic);
		return error_set(err, ONCE_TRANSIENT,
				 "could not make a producer: %s", text);
	}
	*ret_traffic = traffic;
	return ONCE_OK;
}

void traffic_stop(struct traffic *traffic)
{
	if (traffic == NULL)
		return;
	if (traffic->rk != NULL) {
		rd_kafka_purge(traffic->rk, RD_KAFKA_PURGE_F_QUEUE |
						    RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_flush(traffic->rk, FLUSH_MS);
		rd_kafka_destroy(traffic->rk);
	}
	free(traffic);
}

static rd_kafka_headers_t *create_headers(const struct entry *entry)
{
	scoped_text struct text id = { 0 };
	rd_kafka_headers_t *headers = rd_kafka_headers_new(2);

	entry_add_message_id(entry, &id);
	rd_kafka_header_add(headers, "tenant", -1, DEMO_TENANT, -1);
	if (id.size > 0)
		rd_kafka_header_add(headers, "message-id", -1, id.data,
				    (ssize_t)id.size);
	return headers;
}

/* The library copies the value and takes the headers, unless it refuses. */
static rd_kafka_resp_err_t send_entry(struct traffic *traffic,
				      struct entry *entry)
{
	scoped_text struct text value = { 0 };
	rd_kafka_headers_t *headers = create_headers(entry);
	rd_kafka_error_t *error;
	rd_kafka_resp_err_t code;

	entry_add_value(entry, &value);
	/* clang-format off */
	const rd_kafka_vu_t parts[] = {
		{ RD_KAFKA_VTYPE_TOPIC, { .cstr = DEMO_TOPIC } },
		{ RD_KAFKA_VTYPE_PARTITION, { .i32 = entry->partition } },
		{ RD_KAFKA_VTYPE_VALUE, { .mem = { value.data, value.size } } },
		{ RD_KAFKA_VTYPE_HEADERS, { .headers = headers } },
		{ RD_KAFKA_VTYPE_OPAQUE, { .ptr = entry } },
		{ RD_KAFKA_VTYPE_MSGFLAGS, { .i = RD_KAFKA_MSG_F_COPY } },
	};
	/* clang-format on */
	error = rd_kafka_produceva(traffic->rk, parts,
				   sizeof(parts) / sizeof(parts[0]));
	if (error == NULL)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	code = rd_kafka_error_code(error);
	rd_kafka_error_destroy(error);
	rd_kafka_headers_destroy(headers);
	return code;
}

static size_t count_due(const struct traffic *traffic)
{
	int64_t due =
		(clock_ms() - traffic->began_ms) * MESSAGES_PER_SECOND / 1000;

	return (size_t)due < traffic->ledger->count ? (size_t)due
						    : traffic->ledger->count;
}

enum once_status traffic_step(struct traffic *traffic, struct once_error *err)
{
	size_t due;

	if (traffic->began_ms == 0)
		traffic->began_ms = clock_ms();
	due = count_due(traffic);
	while (traffic->given < due &&
	       traffic->refusal == RD_KAFKA_RESP_ERR_NO_ERROR) {
		traffic->refusal = send_entry(
			traffic, &traffic->ledger->entries[traffic->given]);
		traffic->given++;
	}
	rd_kafka_poll(traffic->rk, 0);
	if (traffic->refusal == RD_KAFKA_RESP_ERR_NO_ERROR)
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT, "could not send a message: %s",
			 rd_kafka_err2str(traffic->refusal));
}

size_t traffic_sent(const struct traffic *traffic)
{
	return traffic->acknowledged;
}

bool traffic_is_over(const struct traffic *traffic)
{
	return traffic->acknowledged == traffic->ledger->count;
}
