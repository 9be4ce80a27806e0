/* no_symbol - a shared object that is no handler. */
#include <once/handler.h>

ONCE_API int no_handler_at_all(void);

int no_handler_at_all(void)
{
	return 0;
}
