/*
 * Any bytes as a message and a field of a log line: what is written is one line
 * of UTF-8 without controls, of ASCII, of Unicode (C1) or of a line's
 * direction, and its quotes are closed.
 */
#define _GNU_SOURCE /* for memfd_create() */
#include "bytes.h"
#include "log.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LINE_MAX_SIZE = 1 << 16
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* Where log lines go, and where libFuzzer's own output went. */
static int swap_stderr(int fd)
{
	int old = dup(STDERR_FILENO);

	require(old >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	return old;
}

/* C1: U+0080 to U+009F. Directions: U+061C, U+200E, U+200F, U+202A to U+202E,
 * U+2066 to U+2069. */
static bool is_control(const unsigned char *at)
{
	if (at[0] < 0x20 || at[0] == 0x7F)
		return true;
	if (at[0] == 0xC2)
		return at[1] < 0xA0;
	if (at[0] == 0xD8)
		return at[1] == 0x9C;
	if (at[0] != 0xE2)
		return false;
	return (at[1] == 0x80 && (at[2] == 0x8E || at[2] == 0x8F ||
				  (at[2] >= 0xAA && at[2] <= 0xAE))) ||
	       (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9);
}

static void check_line(const unsigned char *line, size_t size)
{
	bool quoted = false;

	require(size > 0 && line[size - 1] == '\n');
	require(bytes_are_utf8(bytes_of(line, size)));
	for (size_t i = 0; i + 1 < size; i++) {
		require(!is_control(&line[i]));
		if (quoted && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			quoted = !quoted;
	}
	require(!quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char line[LINE_MAX_SIZE];
	const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
	size_t first = end == NULL ? size : (size_t)(end - data);
	int fd = memfd_create("log", 0);
	int old = swap_stderr(fd);
	ssize_t written;

	log_info(LOG_FIELDS(LOG_BYTES("field",
				      bytes_of(data + first, size - first)),
			    LOG_NUMBER("number", 7)),
		 "%.*s", (int)first, (const char *)data);
	dup2(old, STDERR_FILENO);
	close(old);
	written = pread(fd, line, sizeof(line), 0);
	close(fd);
	require(written > 0 && written < (ssize_t)sizeof(line));
	check_line(line, (size_t)written);
	return 0;
}
