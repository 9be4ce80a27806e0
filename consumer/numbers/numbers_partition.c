/* What is said of a partition goes with it; and of Kafka itself. */
#include "numbers_impl.h"

#include <stdio.h>

/* A lag that isn't known is not shown: its last value would be a lie. */
static void set_lag(struct numbers *numbers, const char *topic,
		    const char *number, int64_t lag)
{
	const char *const values[] = { topic, number };

	if (lag < 0)
		metrics_remove(numbers->metrics, METRIC_PARTITION_LAG, values);
	else
		metric_set(numbers_cell(numbers, METRIC_PARTITION_LAG, topic,
					number, NULL),
			   (double)lag);
}

void numbers_partition_set(struct numbers *numbers, const char *topic,
			   int32_t partition, int64_t lag,
			   double oldest_inflight_seconds, bool halted)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)partition);
	set_lag(numbers, topic, number, lag);
	metric_set(numbers_cell(numbers, METRIC_OLDEST_INFLIGHT, topic, number,
				NULL),
		   oldest_inflight_seconds);
	metric_set(numbers_cell(numbers, METRIC_HALTED, topic, number, NULL),
		   halted);
}

void numbers_kafka_connected_set(struct numbers *numbers, bool connected)
{
	metric_set(
		numbers_cell(numbers, METRIC_KAFKA_CONNECTED, NULL, NULL, NULL),
		connected);
}

void numbers_partition_remove(struct numbers *numbers, const char *topic,
			      int32_t partition)
{
	char number[16];
	const char *const values[] = { topic, number };

	snprintf(number, sizeof(number), "%d", (int)partition);
	metrics_remove(numbers->metrics, METRIC_PARTITION_LAG, values);
	metrics_remove(numbers->metrics, METRIC_OLDEST_INFLIGHT, values);
	metrics_remove(numbers->metrics, METRIC_HALTED, values);
}

void numbers_anchor_gone(struct numbers *numbers, const char *topic)
{
	metric_add(numbers_cell(numbers, METRIC_ANCHOR_GONE, topic, NULL, NULL),
		   1);
}

void numbers_group_offset_strange(struct numbers *numbers, const char *topic,
				  const char *found)
{
	metric_add(numbers_cell(numbers, METRIC_GROUP_OFFSET_STRANGE, topic,
				found, NULL),
		   1);
}
