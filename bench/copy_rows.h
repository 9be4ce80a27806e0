/* copy_rows.h - messages as rows of PostgreSQL's binary COPY, in the columns in
 * which onced and the handler write them. */
#ifndef BENCH_COPY_ROWS_H
#define BENCH_COPY_ROWS_H

#include <librdkafka/rdkafka.h>
#include <text.h>

#define COPY_LOG_SQL \
	"COPY once.consume_log (consumer_id, msg_id, biz_id, topic, " \
	"partition, message_offset, fingerprint) " \
	"FROM STDIN (FORMAT binary)"
#define COPY_REFUND_SQL \
	"COPY refund (refund_no, order_no, sku, amount) " \
	"FROM STDIN (FORMAT binary)"

struct copy_rows {
	struct text log;
	struct text refund;
};

void copy_rows_begin(struct copy_rows *rows);
void copy_rows_add(struct copy_rows *rows, const rd_kafka_message_t *rkm);
void copy_rows_end(struct copy_rows *rows);
void copy_rows_fini(struct copy_rows *rows);

#endif
