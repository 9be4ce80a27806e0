/* lined.c - see the header. */
#include "lined.h"

#include "bytes.h"
#include "clock.h"

#include <check.h>
#include <stdio.h>

/* What a call that waits for nothing may take on a machine that has other
 * things to do. */
#define BUSY_MS 1000
#define TTL_MS 60000

void lined_init(struct lined *line, const char *url, int64_t timeout_ms)
{
	struct once_error err = { 0 };

	line->timeout_ms = timeout_ms;
	ck_assert_msg(once__circuit_create(url, timeout_ms, &line->circuit,
					   &err) == ONCE_OK,
		      "%s", err.text);
	line->redis = once__redis_create(line->circuit);
	ck_assert_ptr_nonnull(line->redis);
}

void lined_init_beside(struct lined *line, const struct lined *other)
{
	line->timeout_ms = other->timeout_ms;
	line->circuit = NULL;
	line->redis = once__redis_create(other->circuit);
	ck_assert_ptr_nonnull(line->redis);
}

void lined_fini(struct lined *line)
{
	once__redis_destroy(line->redis);
	once__circuit_destroy(line->circuit);
}

static void check_time(int64_t began_ms, int64_t limit_ms)
{
	ck_assert_int_le(clock_ms() - began_ms, limit_ms);
}

bool lined_get(struct lined *line, const char *key, struct once_bytes *ret)
{
	const struct once_bytes keys[] = { bytes_text(key) };
	int64_t began_ms = clock_ms();
	bool done = once__redis_get(line->redis, keys, 1, ret);

	check_time(began_ms, 2 * line->timeout_ms + BUSY_MS);
	return done;
}

void lined_set(struct lined *line, const char *key, const char *value)
{
	const struct once_bytes keys[] = { bytes_text(key) };
	const struct once_bytes values[] = { bytes_text(value) };
	int64_t began_ms = clock_ms();

	once__redis_set(line->redis, keys, values, &(int64_t){ TTL_MS }, 1);
	check_time(began_ms, BUSY_MS);
}

void lined_tend(struct lined *line)
{
	int64_t began_ms = clock_ms();

	once__redis_tend(line->redis);
	check_time(began_ms, BUSY_MS);
}

static void fail_with_trouble(struct lined *line)
{
	struct once__circuit_view view;

	once__circuit_get_view(line->circuit, &view);
	ck_abort_msg("%s", view.trouble);
}

void lined_check(struct lined *line, const char *key, const char *value)
{
	struct once_bytes got = { 0 };

	if (!lined_get(line, key, &got))
		fail_with_trouble(line);
	ck_assert_msg(bytes_equal(got, bytes_text(value)), "%s: \"%.*s\"", key,
		      (int)got.size, (const char *)got.data);
}

void lined_check_open(struct lined *line, const char *trouble)
{
	struct once__circuit_view view;

	once__circuit_get_view(line->circuit, &view);
	ck_assert(view.open);
	ck_assert(once__circuit_is_open(line->circuit));
	ck_assert_uint_ge(view.errors, 1);
	ck_assert_msg(strstr(view.trouble, trouble) != NULL,
		      "\"%s\" doesn't say \"%s\"", view.trouble, trouble);
}

void lined_check_faultless(struct lined *line)
{
	struct once__circuit_view view;

	once__circuit_get_view(line->circuit, &view);
	ck_assert_str_eq(view.trouble, "");
	ck_assert_uint_eq(view.errors, 0);
	ck_assert(!view.open);
}

struct wish {
	struct lined *line;
	bool open;
};

static bool is_as_wished(void *arg)
{
	const struct wish *wish = arg;

	lined_tend(wish->line);
	return once__circuit_is_open(wish->line->circuit) == wish->open;
}

void lined_await(struct lined *line, bool open)
{
	struct wish wish = { line, open };

	if (!wait_until(is_as_wished, &wish, LINED_HEAL_MS))
		fail_with_trouble(line);
}

uint64_t lined_errors(struct lined *line)
{
	struct once__circuit_view view;

	once__circuit_get_view(line->circuit, &view);
	return view.errors;
}

void lined_start(struct redis_server *server, const char *const *settings)
{
	struct once_error err = { 0 };

	ck_assert_msg(redis_server_create_with(server, settings, &err) ==
			      ONCE_OK,
		      "%s", err.text);
}

void lined_restart(struct redis_server *server)
{
	struct once_error err = { 0 };

	ck_assert_msg(redis_server_start(server, &err) == ONCE_OK, "%s",
		      err.text);
}

void lined_say(struct redis_server *server, const char *command,
	       const char *answer)
{
	char lines[256];
	char got[4096];

	snprintf(lines, sizeof(lines), "%s\r\nQUIT\r\n", command);
	ck_assert(redis_say(server->port, lines, got, sizeof(got)));
	ck_assert_msg(strstr(got, answer) != NULL, "%s: %s", command, got);
}
