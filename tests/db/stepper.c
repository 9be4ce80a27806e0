/* stepper.c - the tables, and the handler that is the test's. */
#include "stepper.h"

struct trial trial;
struct mail mail;

static step_f *taken;

static const char tables_sql[] =
	"CREATE TABLE refund (no text PRIMARY KEY, number int, data bytea);"
	"CREATE TABLE line (refund_no text REFERENCES refund);"
	"CREATE TABLE insert_seen (name text);"
	"CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS "
	"$$BEGIN INSERT INTO insert_seen VALUES (TG_TABLE_NAME); "
	"RETURN NULL; END$$;"
	"CREATE TRIGGER see AFTER INSERT ON refund EXECUTE FUNCTION see();"
	"CREATE TRIGGER see AFTER INSERT ON line EXECUTE FUNCTION see()";

static enum once_verdict take_step(void *self, const struct once_message *msg,
				   struct once_call *call)
{
	(void)self;
	return taken(msg, call);
}

static const struct once_handler stepper = { ONCE_HANDLER_ABI_FIELDS,
					     .name = "stepper",
					     .handle = take_step };

static void set_up(int64_t timeout_ms)
{
	struct once_route_options options = trial_route();

	options.handler = &stepper;
	options.timeout_ms = timeout_ms;
	trial_init(&trial, &options, 1);
	pg_fixture_run(&trial.pg, tables_sql);
}

void stepper_set_up(void)
{
	set_up(30000);
}

void stepper_set_up_hasty(void)
{
	set_up(500);
}

void stepper_tear_down(void)
{
	mail_fini(&mail);
	trial_fini(&trial);
}

void run(step_f *step, enum once_status expected)
{
	taken = step;
	trial_run(&trial, &mail, expected);
}

int64_t count(const char *sql)
{
	return trial_count(&trial, sql);
}

int64_t refunds(void)
{
	return count("SELECT count(*) FROM refund");
}

int64_t inserts(void)
{
	return count("SELECT count(*) FROM insert_seen");
}

bool is_value(const struct once_message *msg, const char *value)
{
	return is_text(once_value(msg), value);
}

enum once_verdict insert_refund(const struct once_message *msg,
				struct once_call *call)
{
	const char *number = is_value(msg, "poison") ? "six" : "6";

	once_insert(call, "refund (no, number, data)",
		    ONCE_PARAMS(ONCE_TEXT(once_msg_id(msg)),
				ONCE_TEXT(bytes(number)),
				ONCE_BINARY(once_value(msg))));
	return ONCE_DONE;
}
