/*
 * Any bytes as onced.yaml: it is taken, or refused with a text that has a
 * bounded number of lines. No network: the one thing that the library is asked
 * for, whether it would take a Redis, is answered from the URL alone.
 */
#define _GNU_SOURCE /* for memfd_create() */
#include "config.h"
#include "config_faults.h"
#include "redis_url.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

enum once_status once_prefilter_create(
	const struct once_prefilter_options *options,
	struct once_prefilter **ret_prefilter, struct once_error *err)
{
	struct once__redis_url url;

	*ret_prefilter = NULL;
	return options->redis_url == NULL
		       ? ONCE_OK
		       : once__redis_url_parse(options->redis_url, &url, err);
}

void once_prefilter_destroy(struct once_prefilter *prefilter)
{
	(void)prefilter;
}

static void check_faults(const struct config *cfg, const char *faults)
{
	size_t lines = 0;

	for (const char *at = faults; *at != '\0'; at++) {
		unsigned char byte = (unsigned char)*at;

		require(byte == '\n' || (byte >= 0x20 && byte != 0x7f));
		lines += byte == '\n';
	}
	require(lines <= FAULTS_SHOWN + 1);
	require(cfg != NULL || lines > 0);
}

static void check_printed(const struct config *cfg)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	require(out != NULL);
	config_print(cfg, out);
	require(fclose(out) == 0 && size > 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("onced.yaml", 0);
	struct config *cfg;
	char *faults = NULL;
	size_t faults_size = 0;
	FILE *out = open_memstream(&faults, &faults_size);
	char path[64];

	require(fd >= 0 && out != NULL);
	require(write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cfg = config_load(path, NULL, NULL, out);
	require(fclose(out) == 0);
	check_faults(cfg, faults);
	if (cfg != NULL)
		check_printed(cfg);
	config_destroy(cfg);
	free(faults);
	close(fd);
	return 0;
}
