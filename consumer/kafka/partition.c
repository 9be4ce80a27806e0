/* A partition's entry is made when it is first assigned and stays for the life
 * of the source: lanes name it by pointer, epochs tell its assignments apart.
 */
#include "partition.h"

#include <stdlib.h>
#include <string.h>

#define TO(state) (1u << PARTITION_##state)

static const unsigned allowed[] = {
	[PARTITION_IDLE] = TO(OPENING),
	[PARTITION_OPENING] = TO(OPENING) | TO(RESOLVING) | TO(READY) |
			      TO(HALTED) | TO(DROPPING),
	[PARTITION_RESOLVING] = TO(CREATING) | TO(HALTED) | TO(DROPPING),
	[PARTITION_CREATING] =
		TO(RESOLVING) | TO(READY) | TO(HALTED) | TO(DROPPING),
	[PARTITION_READY] =
		TO(OPENING) | TO(RUNNING) | TO(HALTED) | TO(DROPPING),
	[PARTITION_RUNNING] =
		TO(OPENING) | TO(READY) | TO(HALTED) | TO(DROPPING),
	[PARTITION_HALTED] = TO(HALTED) | TO(DROPPING),
	[PARTITION_DROPPING] = TO(IDLE) | TO(OPENING),
};

void partition_enter(struct source_partition *partition,
		     enum partition_state state)
{
	if ((allowed[partition->state] & (1u << state)) == 0)
		abort(); /* a rule of ours is broken: nothing is safe now */
	partition->state = state;
}

const char *partition_state_word(enum partition_state state)
{
	static const char *const words[] = {
#define X(name, word, text) word,
		PARTITION_STATE_TABLE(X)
#undef X
	};

	return words[state];
}

bool partition_is_held(const struct source_partition *partition)
{
	return partition->state != PARTITION_IDLE &&
	       partition->state != PARTITION_DROPPING;
}

bool partition_is_opening(const struct source_partition *partition)
{
	return partition->state == PARTITION_OPENING ||
	       partition->state == PARTITION_RESOLVING ||
	       partition->state == PARTITION_CREATING;
}

int64_t partition_start_offset(const struct source_partition *partition)
{
	return partition->proving ? partition->anchor.offset
				  : partition->fetch_next;
}

void partition_forget_log(struct source_partition *partition)
{
	partition->proving = false;
	partition->unidentified = false;
	partition->asked_for_id = false;
	partition->log_id[0] = '\0';
	partition->anchor.offset = -1;
	partition->pulled.offset = -1;
	if (!partition->suspected)
		partition->witness.offset = -1;
	partition->gone_anchor = -1;
	partition->sent_next = -1;
	partition->sent_pulled.offset = -1;
	partition->looked_at = false;
	partition->watched = PARTITION_FLOWS;
	partition->watched_at = -1;
}

struct address partition_address(struct source_partition *partition)
{
	struct address address = {
		.partition = partition,
		.epoch = partition->epoch,
		.topic = partition->topic,
		.number = partition->number,
		.route = partition->route,
	};

	return address;
}

struct source_partition *partition_create(const char *topic, int32_t number,
					  size_t route)
{
	struct source_partition *partition = calloc(1, sizeof(*partition));

	if (partition == NULL)
		return NULL;
	partition->topic = strdup(topic);
	if (partition->topic == NULL) {
		free(partition);
		return NULL;
	}
	partition->number = number;
	partition->route = route;
	partition_forget_log(partition);
	partition->first_next = -1;
	return partition;
}

void partition_destroy(struct source_partition *partition)
{
	free(partition->topic);
	free(partition);
}
