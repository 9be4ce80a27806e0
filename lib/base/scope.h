/* scope.h - temporaries that clean themselves. Initialise at the declaration;
 * let ownership out only through take(). */
#ifndef ONCE_SCOPE_H
#define ONCE_SCOPE_H

#include <pthread.h>
#include <stdlib.h>

#define scoped(cleanup_f) __attribute__((cleanup(cleanup_f)))
#define scoped_free scoped(scope_free)
#define scoped_lock scoped(scope_unlock)

static inline void scope_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline pthread_mutex_t *scope_locked(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void scope_unlock(pthread_mutex_t **mutex)
{
	if (*mutex != NULL)
		pthread_mutex_unlock(*mutex);
}

static inline void *scope_take(void *pointer)
{
	void *taken = *(void **)pointer;

	*(void **)pointer = NULL;
	return taken;
}

#define take(pointer) scope_take(pointer)

#endif
