/* All other clients of the private PostgreSQL are the victim's lanes. */
#include "victim.h"

#include "error.h"
#include "ledger.h"
#include "stop_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
	REST_TRIES = 100,
	REST_PAUSE_MS = 2,
	STOP_MS = 30000
};

/* Only what the demo needs is set; batches are small, so that there are many to
 * be cut. */
static const char config_text[] =
	"kafka:\n"
	"  brokers: %s\n"
	"  group: demo\n"
	"  properties:\n"
	"    - session.timeout.ms=6000 # a killed one holds its partitions\n"
	"    - heartbeat.interval.ms=500\n"
	"    - fetch.wait.max.ms=20\n"
	"database:\n"
	"  conninfo: %s\n"
	"retention: forever\n"
	"lanes: 4\n"
	"batch:\n"
	"  max_messages: 200\n"
	"admin:\n"
	"  listen: \"\"\n"
	"handlers:\n"
	"  - name: refund\n"
	"    topics: [" DEMO_TOPIC "]\n"
	"    plugin: \"%s\"\n"
	"    msg_id: \"{header:message-id}\"\n"
	"    biz_id: \"refund:{header:tenant}:{json:/refund_no}\"\n"
	"    retry:\n"
	"      max_attempts: 2\n"
	"      first_delay: 100ms\n";

static enum once_status write_config(const struct victim *victim,
				     const struct sandbox *sandbox,
				     const char *plugin, struct once_error *err)
{
	FILE *file = fopen(victim->config, "we");
	int written = -1;

	if (file != NULL) {
		written = fprintf(file, config_text,
				  broker_address(sandbox->broker),
				  sandbox->postgres.conninfo, plugin);
		if (fclose(file) != 0)
			written = -1;
	}
	if (written > 0)
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT, "could not write \"%s\": %s",
			 victim->config, strerror(errno));
}

enum once_status victim_prepare(struct victim *victim,
				const struct sandbox *sandbox,
				struct once_error *err)
{
	char plugin[NEIGHBOUR_PATH_SIZE];
	enum once_status status = neighbours_find_program(victim->program, err);

	snprintf(victim->config, sizeof(victim->config), "%s/onced.yaml",
		 sandbox->scratch.path);
	snprintf(victim->log, sizeof(victim->log), "%s/onced.log",
		 sandbox->scratch.path);
	if (status == ONCE_OK)
		status = neighbours_find_handler("refund", plugin, err);
	if (status == ONCE_OK)
		status = write_config(victim, sandbox, plugin, err);
	return status;
}

enum once_status victim_start(struct victim *victim, struct once_error *err)
{
	const char *argv[] = { victim->program, "run", "-c", victim->config,
			       NULL };
	struct child_options options = { .argv = argv,
					 .output = victim->log,
					 .death_signal = SIGKILL };

	return child_start(&victim->child, &options, err);
}

/* Nobody works, twice in a row: what was sent before the freeze has arrived.
 * Waiting for another lane's lock is rest, too: that lane is frozen. */
static enum once_status wait_for_rest(struct database *database,
				      struct once_error *err)
{
	static const char count_working[] =
		"SELECT count(*) FROM pg_stat_activity "
		"WHERE backend_type = 'client backend' "
		"AND pid <> pg_backend_pid() AND state = 'active' "
		"AND wait_event_type IS DISTINCT FROM 'Lock'";
	enum once_status status = ONCE_OK;
	int at_rest = 0;

	for (int i = 0; i < REST_TRIES && at_rest < 2 && status == ONCE_OK;
	     i++) {
		int64_t working = 0;

		stop_signal_sleep(REST_PAUSE_MS);
		status =
			database_ask(database, count_working, &working, 1, err);
		at_rest = working == 0 ? at_rest + 1 : 0;
	}
	return status;
}

static enum once_status note_open(struct database *database, int64_t *ret_open,
				  struct once_error *err)
{
	static const char note[] =
		"WITH open AS (INSERT INTO demo.cut (xid) SELECT "
		"backend_xid::text::xid8 FROM pg_stat_activity "
		"WHERE backend_type = 'client backend' "
		"AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL "
		"RETURNING 1) SELECT count(*) FROM open";

	return database_ask(database, note, ret_open, 1, err);
}

enum once_status victim_try_to_kill(struct victim *victim,
				    struct database *database, int64_t *ret_cut,
				    struct once_error *err)
{
	enum once_status status;

	*ret_cut = 0;
	child_signal(&victim->child, SIGSTOP);
	status = wait_for_rest(database, err);
	if (status == ONCE_OK)
		status = note_open(database, ret_cut, err);
	if (*ret_cut > 0)
		child_stop(&victim->child, SIGKILL, STOP_MS);
	else
		child_signal(&victim->child, SIGCONT);
	return status;
}

int victim_stop(struct victim *victim)
{
	child_stop(&victim->child, SIGTERM, STOP_MS);
	return child_exit_code(&victim->child);
}
