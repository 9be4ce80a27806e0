/* source_seek_impl.h - shared by source_seek.c (places) and seek_compare.c
 * (what stands there). */
#ifndef ONCED_SOURCE_SEEK_IMPL_H
#define ONCED_SOURCE_SEEK_IMPL_H

#include "source_seek.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

enum {
	SEEK_ASK_MS = 10000
};

struct seek_range {
	int64_t first;
	int64_t end;
	bool asked;  /* its anchor is being read */
	bool absent; /* and isn't there */
};

struct seeking {
	const struct config *cfg;
	const struct seek_request *request;
	rd_kafka_t *rk;
	size_t count; /* of the topic's partitions */
	struct seek_place *places;
	struct seek_range *ranges; /* of those that have a place */
};

enum once_status seek_not_answered(rd_kafka_resp_err_t error,
				   struct once_error *err);

/* Fill in the places' `log`. */
enum once_status seek_compare_logs(struct seeking *seeking,
				   struct once_error *err);

#endif
