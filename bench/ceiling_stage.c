/*
 * ceiling_stage.c - the yardstick of what can be written: read, copy, commit.
 *
 * The idea: its rows are onced's, and so are the number of its sessions, the
 * messages of a transaction and what a COMMIT waits for. It looks for no
 * duplicate, calls no handler and keeps no position.
 */
#include "clients.h"
#include "copy_session.h"
#include "workers.h"

#include <stdlib.h>

/* What is taken for a transaction. */
struct basket {
	rd_kafka_message_t **messages;
	size_t size;
	struct copy_rows rows;
};

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static enum once_status fill_basket(const struct worker *worker,
				    rd_kafka_queue_t *queue,
				    struct basket *basket,
				    struct once_error *err)
{
	size_t left = (size_t)(worker->messages - worker->handled);
	size_t most = min_size(left, (size_t)worker->scenario->max_messages);

	return clients_take(queue, basket->messages, most, &basket->size, err);
}

static void empty_basket(struct basket *basket)
{
	for (size_t i = 0; i < basket->size; i++)
		rd_kafka_message_destroy(basket->messages[i]);
	basket->size = 0;
}

static enum once_status write_basket(PGconn *conn, struct basket *basket,
				     struct once_error *err)
{
	if (basket->size == 0)
		return ONCE_OK;
	copy_rows_begin(&basket->rows);
	for (size_t i = 0; i < basket->size; i++)
		copy_rows_add(&basket->rows, basket->messages[i]);
	copy_rows_end(&basket->rows);
	return copy_session_run(conn, &basket->rows, err);
}

static enum once_status copy_messages(struct worker *worker, PGconn *conn,
				      struct basket *basket,
				      struct once_error *err)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(worker->rk);
	enum once_status status = ONCE_OK;

	while (status == ONCE_OK && worker->handled < worker->messages) {
		status = fill_basket(worker, queue, basket, err);
		if (status == ONCE_OK)
			status = write_basket(conn, basket, err);
		if (status == ONCE_OK)
			worker->handled += (int64_t)basket->size;
		empty_basket(basket);
	}
	rd_kafka_queue_destroy(queue);
	return status;
}

static enum once_status copy_all(struct worker *worker, struct once_error *err)
{
	size_t most = (size_t)worker->scenario->max_messages;
	struct basket basket = { 0 };
	PGconn *conn = NULL;
	enum once_status status;

	basket.messages = calloc(most, sizeof(*basket.messages));
	status = copy_session_open(worker->bench->pg.conninfo,
				   worker->scenario->durability, &conn, err);
	if (status == ONCE_OK)
		status = copy_messages(worker, conn, &basket, err);
	PQfinish(conn);
	copy_rows_fini(&basket.rows);
	free(basket.messages);
	return status;
}

void stage_ceiling(struct bench *bench, const struct scenario *scenario,
		   const struct topic *topic, struct outcome *ret_outcome)
{
	workers_run(bench, scenario, topic, copy_all, scenario->lanes,
		    topic->messages, ret_outcome);
	ret_outcome->booked = topic->messages;
}
