/*
 * redis_circuit.c - whether Redis is asked at all: what all lines share.
 *
 * The idea to hold: it is a few numbers under one mutex that nobody holds while
 * doing anything slow. The lines do the work.
 */
#include "redis_circuit.h"

#include "backoff.h"
#include "clock.h"
#include "error.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

#define FIRST_PAUSE_MS 500
#define MAX_PAUSE_MS 10000
/* Closed for less than this, it goes on with the pauses where it was: a Redis
 * that passes every probe and fails right after must not cost a timeout each.
 */
#define RELAPSE_MS 10000
#define PATIENCE_TIMEOUTS 20
#define MIN_PATIENCE_MS 5000 /* an idle lane looks once a second */

static enum once_status init(struct once__circuit *circuit, const char *url,
			     struct once_error *err)
{
	pthread_mutex_init(&circuit->lock, NULL);
	circuit->epoch = 1;
	if (once__redis_url_parse(url, &circuit->url, err) != ONCE_OK)
		return err->status;
	circuit->lookup = once__lookup_create(&circuit->url);
	return circuit->lookup == NULL ? error_no_memory(err) : ONCE_OK;
}

enum once_status once__circuit_create(const char *url, int64_t timeout_ms,
				      struct once__circuit **ret_circuit,
				      struct once_error *err)
{
	struct once__circuit *circuit = calloc(1, sizeof(*circuit));

	*ret_circuit = NULL;
	if (circuit == NULL)
		return error_no_memory(err);
	circuit->timeout_ms = timeout_ms;
	if (init(circuit, url, err) != ONCE_OK) {
		once__circuit_destroy(circuit);
		return err->status;
	}
	*ret_circuit = circuit;
	return ONCE_OK;
}

void once__circuit_destroy(struct once__circuit *circuit)
{
	if (circuit == NULL)
		return;
	once__lookup_destroy(circuit->lookup);
	pthread_mutex_destroy(&circuit->lock);
	explicit_bzero(circuit->url.password, sizeof(circuit->url.password));
	free(circuit);
}

bool once__circuit_is_open(const struct once__circuit *circuit)
{
	return atomic_load(&circuit->open);
}

void once__circuit_get_view(struct once__circuit *circuit,
			    struct once__circuit_view *ret_view)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&circuit->lock);

	(void)lock;
	ret_view->open = once__circuit_is_open(circuit);
	ret_view->errors = circuit->errors;
	memcpy(ret_view->trouble, circuit->trouble, sizeof(circuit->trouble));
}

int64_t once__circuit_patience_ms(const struct once__circuit *circuit)
{
	int64_t patience_ms = circuit->timeout_ms * PATIENCE_TIMEOUTS;

	return patience_ms < MIN_PATIENCE_MS ? MIN_PATIENCE_MS : patience_ms;
}

/* ---- the lines' side ---- */

static bool owns_probe(const struct once__circuit *circuit, uint64_t epoch)
{
	return circuit->probing && circuit->epoch == epoch;
}

enum once__circuit_state once__circuit_enter(struct once__circuit *circuit,
					     uint64_t *epoch)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&circuit->lock);
	int64_t now_ms = clock_ms();

	(void)lock;
	if (!once__circuit_is_open(circuit)) {
		*epoch = circuit->epoch;
		return ONCE__CIRCUIT_CLOSED;
	}
	if (!owns_probe(circuit, *epoch)) {
		if (now_ms < circuit->due_ms)
			return ONCE__CIRCUIT_OPEN;
		circuit->probing = true;
		*epoch = ++circuit->epoch;
	}
	/* If its line isn't called for so long, another takes over. */
	circuit->due_ms = now_ms + once__circuit_patience_ms(circuit);
	return ONCE__CIRCUIT_PROBING;
}

/* An error text of a server may show what it was sent. */
static void hide_password(char *text, const char *password)
{
	size_t size = strlen(password);

	if (size == 0)
		return;
	for (char *at = strstr(text, password); at != NULL;
	     at = strstr(at, password))
		memset(at, '*', size);
}

/* One line of ASCII, whatever a server has sent. */
static void make_plain(char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void keep_trouble(struct once__circuit *circuit, const char *text)
{
	char plain[512];

	snprintf(plain, sizeof(plain), "%s", text);
	hide_password(plain, circuit->url.password);
	make_plain(plain);
	snprintf(circuit->trouble, sizeof(circuit->trouble), "%.90s: %.160s",
		 circuit->url.shown, plain);
}

static void open_circuit(struct once__circuit *circuit)
{
	int64_t now_ms = clock_ms();

	if (!once__circuit_is_open(circuit) &&
	    now_ms - circuit->healed_ms > RELAPSE_MS)
		circuit->failures = 0;
	circuit->failures++;
	circuit->probing = false;
	circuit->epoch++;
	circuit->due_ms = now_ms + backoff_ms(circuit->failures, FIRST_PAUSE_MS,
					      MAX_PAUSE_MS);
	atomic_store(&circuit->open, true);
}

void once__circuit_fail(struct once__circuit *circuit, uint64_t epoch,
			const char *text)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&circuit->lock);

	(void)lock;
	circuit->errors++;
	keep_trouble(circuit, text);
	if (epoch == circuit->epoch)
		open_circuit(circuit);
}

void once__circuit_heal(struct once__circuit *circuit, uint64_t epoch)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&circuit->lock);

	(void)lock;
	if (!owns_probe(circuit, epoch))
		return;
	circuit->probing = false;
	circuit->healed_ms = clock_ms();
	atomic_store(&circuit->open, false);
}

void once__circuit_leave(struct once__circuit *circuit, uint64_t epoch)
{
	scoped_lock pthread_mutex_t *lock = scope_locked(&circuit->lock);

	(void)lock;
	if (!owns_probe(circuit, epoch))
		return;
	circuit->probing = false;
	circuit->epoch++;
	circuit->due_ms = clock_ms();
}
