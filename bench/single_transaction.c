/*
 * single_transaction.c - BEGIN, claim, INSERT, COMMIT: four round trips, as
 * everybody writes them.
 *
 * The idea: the same rows as onced's, by the same code for JSON and
 * fingerprints, so that what is compared is the way to the database.
 */
#include "single_transaction.h"

#include "clients.h"
#include "letter.h"

#include <bytes.h>
#include <error.h>
#include <inttypes.h>
#include <json_pointer.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	CLAIM_PARAMS = 6,
	REFUND_PARAMS = 4,
	REFUND_NO_SIZE = 64
};

static const char claim_sql[] =
	"INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, topic, "
	"partition, message_offset, fingerprint) "
	"VALUES (1, $1::text, $2::text, $3::text, $4::int4, $5::int8, "
	"$6::bytea) ON CONFLICT DO NOTHING";

static const char refund_sql[] =
	"INSERT INTO refund (refund_no, order_no, sku, amount) "
	"VALUES ($1::text, $2::text, $3::text, $4::numeric)";

/* What the two statements need of a message. */
struct refund {
	const char *msg_id;
	char biz_id[REFUND_NO_SIZE + 8];
	const char *fields[REFUND_PARAMS]; /* as in refund_sql */
};

static enum once_status fail(const struct single_transaction *transaction,
			     struct once_error *err)
{
	return error_set(err, ONCE_TRANSIENT, "%s",
			 PQerrorMessage(transaction->conn));
}

static bool is_good(const PGresult *res)
{
	return PQresultStatus(res) == PGRES_COMMAND_OK;
}

/* ---- the session ---- */

static enum once_status prepare(struct single_transaction *transaction,
				const char *name, const char *sql,
				struct once_error *err)
{
	PGresult *res = PQprepare(transaction->conn, name, sql, 0, NULL);
	bool good = is_good(res);

	PQclear(res);
	return good ? ONCE_OK : fail(transaction, err);
}

enum once_status single_transaction_open(struct single_transaction *transaction,
					 const char *conninfo,
					 struct once_error *err)
{
	enum once_status status;

	transaction->conn = PQconnectdb(conninfo);
	if (PQstatus(transaction->conn) != CONNECTION_OK)
		return fail(transaction, err);
	status = prepare(transaction, "claim", claim_sql, err);
	if (status == ONCE_OK)
		status = prepare(transaction, "refund", refund_sql, err);
	return status;
}

void single_transaction_close(struct single_transaction *transaction)
{
	PQfinish(transaction->conn);
	transaction->conn = NULL;
	arena_fini(&transaction->arena);
}

/* ---- the message ---- */

static const char *find_msg_id(struct single_transaction *transaction,
			       const rd_kafka_message_t *rkm)
{
	struct once_bytes id = clients_message_id(rkm);

	if (id.data == NULL)
		return NULL;
	return arena_copy(&transaction->arena, id);
}

static const char *find_field(struct single_transaction *transaction,
			      const rd_kafka_message_t *rkm,
			      const char *pointer)
{
	struct once_bytes scalar;

	if (once__json_find(bytes_of(rkm->payload, rkm->len), pointer,
			    &transaction->arena, &scalar) != ONCE__KEY_OK)
		return NULL;
	return arena_copy(&transaction->arena, scalar);
}

static enum once_status read_refund(struct single_transaction *transaction,
				    const rd_kafka_message_t *rkm,
				    struct refund *ret_refund,
				    struct once_error *err)
{
	static const char *const pointers[REFUND_PARAMS] = {
		"/refund_no", "/order_no", "/sku", "/amount"
	};
	bool complete;

	ret_refund->msg_id = find_msg_id(transaction, rkm);
	complete = ret_refund->msg_id != NULL;
	for (size_t i = 0; i < REFUND_PARAMS; i++) {
		ret_refund->fields[i] =
			find_field(transaction, rkm, pointers[i]);
		complete = complete && ret_refund->fields[i] != NULL;
	}
	if (!complete)
		return error_set(err, ONCE_INVALID, "a message lacks a field");
	snprintf(ret_refund->biz_id, sizeof(ret_refund->biz_id), "refund:%s",
		 ret_refund->fields[0]);
	return ONCE_OK;
}

/* ---- the transaction ---- */

/* *ret_new: it is ours, and nobody handled it before. */
static enum once_status claim(struct single_transaction *transaction,
			      const rd_kafka_message_t *rkm,
			      const struct refund *refund, bool *ret_new,
			      struct once_error *err)
{
	unsigned char digest[ONCE__FINGERPRINT_SIZE];
	char partition[16];
	char offset[24];
	const char *values[CLAIM_PARAMS] = {
		refund->msg_id, refund->biz_id, rd_kafka_topic_name(rkm->rkt),
		partition,      offset,         (const char *)digest
	};
	const int sizes[CLAIM_PARAMS] = { 0, 0, 0, 0, 0, sizeof(digest) };
	const int formats[CLAIM_PARAMS] = { 0, 0, 0, 0, 0, 1 };
	PGresult *res;
	bool good;

	letter_fingerprint(bytes_of(rkm->payload, rkm->len), digest);
	snprintf(partition, sizeof(partition), "%" PRId32, rkm->partition);
	snprintf(offset, sizeof(offset), "%" PRId64, rkm->offset);
	res = PQexecPrepared(transaction->conn, "claim", CLAIM_PARAMS, values,
			     sizes, formats, 0);
	good = is_good(res);
	*ret_new = good && strcmp(PQcmdTuples(res), "1") == 0;
	PQclear(res);
	return good ? ONCE_OK : fail(transaction, err);
}

static enum once_status book(struct single_transaction *transaction,
			     const struct refund *refund,
			     struct once_error *err)
{
	PGresult *res =
		PQexecPrepared(transaction->conn, "refund", REFUND_PARAMS,
			       refund->fields, NULL, NULL, 0);
	bool good = is_good(res);

	PQclear(res);
	return good ? ONCE_OK : fail(transaction, err);
}

/* BEGIN or COMMIT; a COMMIT that rolled back says so in its tag. */
static enum once_status run(struct single_transaction *transaction,
			    const char *sql, struct once_error *err)
{
	PGresult *res = PQexec(transaction->conn, sql);
	bool good = is_good(res) && strcmp(PQcmdStatus(res), sql) == 0;

	PQclear(res);
	return good ? ONCE_OK : fail(transaction, err);
}

enum once_status single_transaction_run(struct single_transaction *transaction,
					const rd_kafka_message_t *rkm,
					struct once_error *err)
{
	struct refund refund;
	bool is_new = false;
	enum once_status status;

	arena_reset(&transaction->arena);
	status = read_refund(transaction, rkm, &refund, err);
	if (status == ONCE_OK)
		status = run(transaction, "BEGIN", err);
	if (status == ONCE_OK)
		status = claim(transaction, rkm, &refund, &is_new, err);
	if (status == ONCE_OK && is_new)
		status = book(transaction, &refund, err);
	if (status == ONCE_OK)
		status = run(transaction, "COMMIT", err);
	return status;
}
