/*
 * tsan_threads.c - C11's threads made of POSIX ones, preloaded into programs
 * built with ThreadSanitizer.
 *
 * The idea: ThreadSanitizer of GCC 12 knows pthread_create() and its like, but
 * not thrd_create(), by which Debian's librdkafka makes its threads; the first
 * thread that it doesn't know makes it crash. glibc's types are the POSIX ones
 * under other names, so casting them is what glibc itself does.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

#define EXPORT __attribute__((visibility("default")))

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mutexes differ");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "conditions differ");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "threads differ");

struct start {
	thrd_start_t function;
	void *arg;
};

static int word_of(int error)
{
	switch (error) {
	case 0:
		return thrd_success;
	case ETIMEDOUT:
		return thrd_timedout;
	case EBUSY:
		return thrd_busy;
	default:
		return thrd_error;
	}
}

static void *run(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	return (void *)(intptr_t)start.function(start.arg);
}

EXPORT int thrd_create(thrd_t *ret_thread, thrd_start_t function, void *arg)
{
	struct start *start = malloc(sizeof(*start));
	int error;

	if (start == NULL)
		return thrd_nomem;
	start->function = function;
	start->arg = arg;
	error = pthread_create(ret_thread, NULL, run, start);
	if (error != 0)
		free(start);
	return word_of(error);
}

EXPORT int thrd_join(thrd_t thread, int *ret_code)
{
	void *code = NULL;
	int error = pthread_join(thread, &code);

	if (ret_code != NULL)
		*ret_code = (int)(intptr_t)code;
	return word_of(error);
}

EXPORT int mtx_init(mtx_t *mutex, int type)
{
	pthread_mutexattr_t attributes;
	int error;

	pthread_mutexattr_init(&attributes);
	if ((type & mtx_recursive) != 0)
		pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	error = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return word_of(error);
}

EXPORT void mtx_destroy(mtx_t *mutex)
{
	pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

EXPORT int mtx_lock(mtx_t *mutex)
{
	return word_of(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

EXPORT int mtx_unlock(mtx_t *mutex)
{
	return word_of(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

EXPORT int cnd_init(cnd_t *condition)
{
	return word_of(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

EXPORT void cnd_destroy(cnd_t *condition)
{
	pthread_cond_destroy((pthread_cond_t *)condition);
}

EXPORT int cnd_signal(cnd_t *condition)
{
	return word_of(pthread_cond_signal((pthread_cond_t *)condition));
}

EXPORT int cnd_broadcast(cnd_t *condition)
{
	return word_of(pthread_cond_broadcast((pthread_cond_t *)condition));
}

EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
	return word_of(pthread_cond_wait((pthread_cond_t *)condition,
					 (pthread_mutex_t *)mutex));
}

EXPORT int cnd_timedwait(cnd_t *condition, mtx_t *mutex,
			 const struct timespec *deadline)
{
	return word_of(pthread_cond_timedwait((pthread_cond_t *)condition,
					      (pthread_mutex_t *)mutex,
					      deadline));
}
