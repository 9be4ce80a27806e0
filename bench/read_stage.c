/* read_stage.c - the yardstick of what can be read. One thread takes messages
 * in batches from the queue of all partitions, and lets go. */
#include "clients.h"
#include "workers.h"

enum {
	AT_ONCE = 2000
};

static enum once_status take_some(struct worker *worker,
				  rd_kafka_queue_t *queue,
				  struct once_error *err)
{
	rd_kafka_message_t *messages[AT_ONCE];
	size_t count;
	enum once_status status =
		clients_take(queue, messages, AT_ONCE, &count, err);

	for (size_t i = 0; i < count; i++)
		rd_kafka_message_destroy(messages[i]);
	worker->handled += (int64_t)count;
	return status;
}

static enum once_status read_all(struct worker *worker, struct once_error *err)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(worker->rk);
	enum once_status status = ONCE_OK;

	while (status == ONCE_OK && worker->handled < worker->messages)
		status = take_some(worker, queue, err);
	rd_kafka_queue_destroy(queue);
	return status;
}

void stage_read(struct bench *bench, const struct scenario *scenario,
		const struct topic *topic, struct outcome *ret_outcome)
{
	workers_run(bench, scenario, topic, read_all, 1, topic->messages,
		    ret_outcome);
	ret_outcome->booked = 0;
}
