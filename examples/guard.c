/*
 * guard - libonce without Kafka: guards a callback with the same log.
 *
 * Each line of standard input is a payment notification as a provider's webhook
 * would bring it, "<notification id> <order number> <amount>". Providers repeat
 * themselves; the order is paid once.
 *
 *	onced migrate -c onced.yaml      (once, makes the schema)
 *	guard "host=localhost dbname=shop" < notifications
 */
#include <once/once.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

static struct once_bytes text(const char *string)
{
	struct once_bytes bytes = { string, strlen(string) };

	return bytes;
}

/* The guarded callback. What it writes is committed with the claim. */
static enum once_verdict pay(void *self, const struct once_message *msg,
			     struct once_call *call)
{
	static const char sql[] =
		"INSERT INTO payment (order_no, amount) VALUES ($1, $2)";

	(void)self;
	once_send(call, sql,
		  ONCE_PARAMS(ONCE_TEXT(once_header(msg, "order")),
			      ONCE_TEXT(once_value(msg))));
	return ONCE_DONE;
}

static const struct once_handler payer = { ONCE_HANDLER_ABI_FIELDS,
					   .name = "payer", .handle = pay };

static const struct once_route_options route_options = {
	.name = "payment",
	.scope = "webhook/payment",
	.msg_id = "{header:id}",
	.biz_id = "payment:{header:order}",
	.max_attempts = 1,
	.handler = &payer,
};

static int report(const struct once_error *err)
{
	fprintf(stderr, "guard: %s\n", err->text);
	return 1;
}

static enum once_status take_line(struct once_session *session, char *line,
				  int64_t number, struct once_error *err)
{
	const char *id = strtok_r(line, " \n", &line);
	const char *order = strtok_r(NULL, " \n", &line);
	const char *amount = strtok_r(NULL, " \n", &line);
	struct once_header headers[] = { { "id", text(id ? id : "") },
					 { "order",
					   text(order ? order : "") } };
	struct once_item item = {
		.record = { .topic = "webhook",
			    .offset = number,
			    .time_ms = (int64_t)time(NULL) * 1000,
			    .value = text(amount ? amount : ""),
			    .headers = headers,
			    .header_count = 2 },
		.attempt = 1,
	};
	enum once_status status =
		once_session_run(session, &item, 1, NULL, err);

	if (status == ONCE_OK)
		printf("%s %s %s\n", headers[0].value.size ? id : "-",
		       once_ending_word(item.ending), item.reason);
	return status;
}

static int run(struct once_session *session, struct once_error *err)
{
	char line[512];

	for (int64_t i = 0; fgets(line, sizeof(line), stdin) != NULL; i++)
		if (take_line(session, line, i, err) != ONCE_OK)
			return report(err);
	return 0;
}

int main(int argc, char **argv)
{
	struct once_session_options options = { .conninfo = argv[1],
						.application_name = "guard",
						.route_count = 1 };
	const struct once_route *routes[1];
	struct once_session *session = NULL;
	struct once_route *route = NULL;
	struct once_error err;
	int code = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: guard CONNINFO < NOTIFICATIONS\n");
		return 64;
	}
	if (once_route_create(&route_options, &route, &err) != ONCE_OK)
		return report(&err);
	routes[0] = route;
	options.routes = routes;
	if (once_session_create(&options, &session, &err) == ONCE_OK)
		code = run(session, &err);
	else
		report(&err);
	once_session_destroy(session);
	once_route_destroy(route);
	return code;
}
