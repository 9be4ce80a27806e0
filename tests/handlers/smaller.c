/* smaller - a handler whose descriptor ends before handle(). */
#include <once/handler.h>

const struct once_handler once_handler = {
	.abi = ONCE_HANDLER_ABI,
	.size = (uint32_t)offsetof(struct once_handler, handle),
	.name = "smaller",
};
