/*
 * single_worker.c - the loop that people write by hand: poll, handle, store the
 * offset.
 *
 * The idea: nothing is slow on purpose. librdkafka fetches ahead, so a poll
 * costs next to nothing; the offset goes to the broker in the background. All
 * the time is the transaction's.
 */
#include "single_worker.h"

#include <clock.h>
#include <error.h>
#include <stdbool.h>
#include <stdio.h>

enum {
	POLL_MS = 100,
	SHARE = BENCH_PARTITIONS / BENCH_WORKERS
};

static enum once_status set_properties(const struct single_worker *worker,
				       rd_kafka_conf_t *conf,
				       struct once_error *err)
{
	const char *const properties[][2] = {
		{ "bootstrap.servers", worker->bench->kafka.bootstrap },
		{ "group.id", worker->bench->kafka.group },
		{ "enable.auto.offset.store", "false" },
		{ "enable.partition.eof", "true" },
		{ "auto.offset.reset", "error" },
		{ "log_level", "3" },
	};
	char error[256];

	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		if (rd_kafka_conf_set(conf, properties[i][0], properties[i][1],
				      error, sizeof(error)) != RD_KAFKA_CONF_OK)
			return error_set(err, ONCE_CONFIG, "%s", error);
	return ONCE_OK;
}

static enum once_status assign(struct single_worker *worker,
			       struct once_error *err)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(SHARE);
	rd_kafka_resp_err_t code;

	for (int i = 0; i < SHARE; i++)
		rd_kafka_topic_partition_list_add(list,
						  worker->bench->kafka.topic,
						  worker->index * SHARE + i)
			->offset = 0;
	code = rd_kafka_assign(worker->rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return ONCE_OK;
	return error_set(err, ONCE_BUG, "could not assign partitions: %s",
			 rd_kafka_err2str(code));
}

static enum once_status open_consumer(struct single_worker *worker,
				      struct once_error *err)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char error[256];

	if (set_properties(worker, conf, err) == ONCE_OK) {
		worker->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error,
					  sizeof(error));
		if (worker->rk == NULL)
			error_set(err, ONCE_CONFIG, "%s", error);
	}
	if (worker->rk == NULL) {
		rd_kafka_conf_destroy(conf);
		return err->status;
	}
	rd_kafka_poll_set_consumer(worker->rk);
	return assign(worker, err);
}

/* ---- the loop ---- */

static enum once_status handle_message(struct single_worker *worker,
				       const rd_kafka_message_t *rkm,
				       struct once_error *err)
{
	enum once_status status;

	if (worker->first_ns == 0)
		worker->first_ns = clock_ns();
	status = single_transaction_run(&worker->transaction, rkm, err);
	if (status != ONCE_OK)
		return status;
	worker->handled++;
	worker->last_ns = clock_ns();
	rd_kafka_offset_store(rkm->rkt, rkm->partition, rkm->offset);
	return ONCE_OK;
}

static enum once_status take_message(struct single_worker *worker,
				     const rd_kafka_message_t *rkm,
				     struct once_error *err)
{
	if (rkm->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return handle_message(worker, rkm, err);
	if (rkm->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
		return error_set(err, ONCE_TRANSIENT, "could not consume: %s",
				 rd_kafka_message_errstr(rkm));
	worker->ended_partitions++;
	return ONCE_OK;
}

static bool is_over(const struct single_worker *worker)
{
	return worker->ended_partitions == SHARE ||
	       (worker->first_ns != 0 &&
		clock_ns() - worker->first_ns >= worker->limit_ns);
}

static enum once_status consume(struct single_worker *worker,
				struct once_error *err)
{
	enum once_status status = ONCE_OK;

	while (status == ONCE_OK && !is_over(worker)) {
		rd_kafka_message_t *rkm =
			rd_kafka_consumer_poll(worker->rk, POLL_MS);

		if (rkm == NULL)
			continue;
		status = take_message(worker, rkm, err);
		rd_kafka_message_destroy(rkm);
	}
	return status;
}

void *single_worker_run(void *arg)
{
	struct single_worker *worker = arg;
	struct once_error *err = &worker->err;

	worker->status = single_transaction_open(
		&worker->transaction, worker->bench->pg.conninfo, err);
	if (worker->status == ONCE_OK)
		worker->status = open_consumer(worker, err);
	if (worker->status == ONCE_OK)
		worker->status = consume(worker, err);
	if (worker->rk != NULL) {
		rd_kafka_consumer_close(worker->rk);
		rd_kafka_destroy(worker->rk);
	}
	single_transaction_close(&worker->transaction);
	return NULL;
}
