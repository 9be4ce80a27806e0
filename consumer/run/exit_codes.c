/* From what a library says to what a process says. */
#include "exit_codes.h"

enum exit_code exit_code_of(enum once_status status)
{
	switch (status) {
	case ONCE_OK:
		return EXIT_CODE_OK;
	case ONCE_TRANSIENT:
	case ONCE_UNKNOWN:
		return EXIT_CODE_NO_SERVER;
	case ONCE_INVALID:
	case ONCE_CONFIG:
		return EXIT_CODE_CONFIG;
	case ONCE_DENIED:
		return EXIT_CODE_DENIED;
	case ONCE_FENCED:
		return EXIT_CODE_FENCED;
	case ONCE_BUG:
		break;
	}
	return EXIT_CODE_BUG;
}
