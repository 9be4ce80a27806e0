/* facts.c - where a run's figures were measured. What can't be found out stays
 * empty. */
#include "facts.h"

#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <process.h>
#include <scope.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void find_date(struct facts *facts)
{
	time_t now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(facts->date, sizeof(facts->date), "%Y-%m-%d", &utc);
}

static void find_kernel(struct facts *facts)
{
	struct utsname system;

	if (uname(&system) == 0)
		snprintf(facts->kernel, sizeof(facts->kernel), "%.70s",
			 system.release);
}

static void find_processor(struct facts *facts)
{
	scoped_free char *page = read_file("/proc/cpuinfo");
	const char *line = page == NULL ? NULL : strstr(page, "model name");

	facts->processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (line != NULL)
		sscanf(line, "model name : %79[^\n]", facts->processor);
}

static void find_postgres(struct facts *facts, struct bench *bench)
{
	scoped_free char *version =
		pg_fixture_get_text(&bench->pg, "SHOW server_version");

	snprintf(facts->postgres, sizeof(facts->postgres), "%s", version);
}

void facts_init(struct facts *facts, struct bench *bench)
{
	*facts = (struct facts){ .librdkafka = rd_kafka_version_str(),
				 .messages = bench->messages,
				 .rounds = bench->rounds };
	find_date(facts);
	find_kernel(facts);
	find_processor(facts);
	find_postgres(facts, bench);
}

void facts_print(const struct facts *facts)
{
	printf("Measured on %s: %d × %s with everything on them, Linux %s, "
	       "PostgreSQL %s, librdkafka %s; %" PRId64 " messages; "
	       "rounds: %d.\n",
	       facts->date, facts->processors, facts->processor, facts->kernel,
	       facts->postgres, facts->librdkafka, facts->messages,
	       facts->rounds);
	fflush(stdout);
}
