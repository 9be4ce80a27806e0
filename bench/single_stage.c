/*
 * single_stage.c - the loop that people write by hand: poll, handle, store the
 * offset.
 *
 * The idea: nothing is slow on purpose. librdkafka fetches ahead, so a poll
 * costs next to nothing; the offset goes to the broker in the background. All
 * the time is the transaction's. The rate is steady, so a share of the messages
 * tells it.
 */
#include "single_transaction.h"
#include "workers.h"

#include <error.h>

enum {
	POLL_MS = 100,
	SHARE = 20
};

static enum once_status handle_message(struct worker *worker,
				       struct single_transaction *transaction,
				       const rd_kafka_message_t *rkm,
				       struct once_error *err)
{
	enum once_status status;

	if (rkm->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return error_set(err, ONCE_TRANSIENT, "could not consume: %s",
				 rd_kafka_message_errstr(rkm));
	status = single_transaction_run(transaction, rkm, err);
	if (status != ONCE_OK)
		return status;
	worker->handled++;
	rd_kafka_offset_store(rkm->rkt, rkm->partition, rkm->offset);
	return ONCE_OK;
}

static enum once_status consume(struct worker *worker,
				struct single_transaction *transaction,
				struct once_error *err)
{
	enum once_status status = ONCE_OK;

	while (status == ONCE_OK && worker->handled < worker->messages) {
		rd_kafka_message_t *rkm =
			rd_kafka_consumer_poll(worker->rk, POLL_MS);

		if (rkm == NULL)
			continue;
		status = handle_message(worker, transaction, rkm, err);
		rd_kafka_message_destroy(rkm);
	}
	return status;
}

static enum once_status handle_all(struct worker *worker,
				   struct once_error *err)
{
	struct single_transaction transaction = { 0 };
	enum once_status status = single_transaction_open(
		&transaction, worker->bench->pg.conninfo, err);

	if (status == ONCE_OK)
		status = consume(worker, &transaction, err);
	single_transaction_close(&transaction);
	return status;
}

void stage_single(struct bench *bench, const struct scenario *scenario,
		  const struct topic *topic, struct outcome *ret_outcome)
{
	workers_run(bench, scenario, topic, handle_all, scenario->lanes,
		    topic->messages / SHARE, ret_outcome);
	ret_outcome->booked =
		topic->messages / SHARE / scenario->lanes * scenario->lanes;
}
