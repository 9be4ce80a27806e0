/* single_transaction.h - one message in one transaction: claim, refund, commit;
 * in a session with prepared statements. */
#ifndef BENCH_SINGLE_TRANSACTION_H
#define BENCH_SINGLE_TRANSACTION_H

#include <arena.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <once/types.h>

struct single_transaction {
	PGconn *conn;
	struct arena arena; /* of one message */
};

enum once_status single_transaction_open(
	struct single_transaction *transaction, const char *conninfo,
	struct once_error *err) ONCE_MUST_CHECK;
/* A half-opened one, too. */
void single_transaction_close(struct single_transaction *transaction);

/* Committed when it returns ONCE_OK. A message that was claimed before leaves
 * the table refund alone. */
enum once_status single_transaction_run(struct single_transaction *transaction,
					const rd_kafka_message_t *rkm,
					struct once_error *err) ONCE_MUST_CHECK;

#endif
