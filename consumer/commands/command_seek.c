/* onced seek: where the group goes on. It is the database's position that is
 * moved; Kafka's offset follows by itself. */
#include "bytes.h"
#include "command.h"
#include "scope.h"
#include "source_seek.h"
#include "text.h"

#include <once/once.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page {
	const char *topic;
	bool json;
	bool dry_run;
	struct text text;
};

static void add_json(struct page *page, int32_t partition, int64_t from,
		     int64_t to)
{
	text_adds(&page->text, page->text.size == 0 ? "[" : ",");
	text_adds(&page->text, "{\"topic\":");
	text_add_json(&page->text, bytes_text(page->topic));
	text_addf(&page->text,
		  ",\"partition\":%d,\"from\":%lld,\"to\":%lld,\"moved\":%s}",
		  (int)partition, (long long)from, (long long)to,
		  page->dry_run ? "false" : "true");
}

static void add_line(struct page *page, int32_t partition, int64_t from,
		     int64_t to)
{
	text_addf(&page->text, "%s[%d]: ", page->topic, (int)partition);
	if (from < 0)
		text_addf(&page->text, "starts at %lld (it had no position)\n",
			  (long long)to);
	else if (to == from)
		text_addf(&page->text, "stays at %lld\n", (long long)to);
	else if (to > from)
		text_addf(&page->text,
			  "%lld -> %lld: up to %lld messages are skipped, and "
			  "never handled\n",
			  (long long)from, (long long)to,
			  (long long)(to - from));
	else
		text_addf(&page->text,
			  "%lld -> %lld: up to %lld messages are read again; "
			  "those whose keys are in the log are duplicates\n",
			  (long long)from, (long long)to,
			  (long long)(from - to));
}

static void take_move(void *arg, int32_t partition, int64_t from, int64_t to)
{
	struct page *page = arg;

	if (page->json)
		add_json(page, partition, from, to);
	else
		add_line(page, partition, from, to);
}

static void show(struct page *page)
{
	if (page->json)
		text_adds(&page->text, page->text.size == 0 ? "[]" : "]");
	else
		text_adds(&page->text, page->dry_run ? "nothing was changed "
						       "(--dry-run)"
						     : "done");
	printf("%s\n", page->text.data);
}

static enum once_status seek_to(const struct config *cfg, struct page *page,
				const struct arguments *arguments,
				const int64_t *offsets, size_t count,
				struct once_error *err)
{
	scoped_text struct text person = { 0 };
	char subject[600];
	struct once_seek_options options = {
		.conninfo = cfg->database.conninfo,
		.group = cfg->kafka.group,
		.topic = arguments->given[OPTION_TOPIC],
		.offsets = offsets,
		.count = count,
		.subject = subject,
		.dry_run = arguments->dry_run,
	};

	command_add_person(&person);
	options.person = person.data == NULL ? "" : person.data;
	snprintf(subject, sizeof(subject),
		 "group %s, topic %s, partition %s, to %s", cfg->kafka.group,
		 arguments->given[OPTION_TOPIC],
		 arguments->given[OPTION_PARTITION] == NULL
			 ? "all"
			 : arguments->given[OPTION_PARTITION],
		 arguments->given[OPTION_TO]);
	return once_seek(&options, take_move, page, err);
}

static enum once_status run_seek(const struct config *cfg, struct page *page,
				 const struct arguments *arguments,
				 int32_t partition, struct once_error *err)
{
	const struct seek_request request = { arguments->given[OPTION_TOPIC],
					      partition,
					      arguments->given[OPTION_TO] };
	int64_t *offsets = NULL;
	size_t count = 0;
	enum once_status status =
		source_find_offsets(cfg, &request, &offsets, &count, err);

	if (status == ONCE_OK)
		status = seek_to(cfg, page, arguments, offsets, count, err);
	free(offsets);
	return status;
}

/* A process of the group is running, or there is no such place. */
static int exit_code_of_seek(enum once_status status)
{
	if (status == ONCE_FENCED)
		return EXIT_CODE_FOUND;
	if (status == ONCE_INVALID)
		return EXIT_CODE_USAGE;
	return (int)exit_code_of(status);
}

static bool parse_partition(const char *text, int32_t *ret_partition)
{
	char *end;
	long number;

	*ret_partition = -1;
	if (text == NULL)
		return true;
	number = strtol(text, &end, 10);
	*ret_partition = (int32_t)number;
	return end != text && *end == '\0' && number >= 0 &&
	       number <= INT32_MAX;
}

static const char *find_refusal(const struct config *cfg,
				const struct arguments *arguments)
{
	if (config_route_of(cfg, arguments->given[OPTION_TOPIC]) < 0)
		return "no handler of this configuration takes that topic";
	return NULL;
}

static int seek(const struct arguments *arguments)
{
	struct page page = { .topic = arguments->given[OPTION_TOPIC],
			     .json = arguments->json,
			     .dry_run = arguments->dry_run };
	struct config *cfg;
	struct once_error err;
	const char *refusal;
	int32_t partition;
	int code = EXIT_CODE_USAGE;

	if (arguments->given[OPTION_TOPIC] == NULL ||
	    arguments->given[OPTION_TO] == NULL ||
	    !parse_partition(arguments->given[OPTION_PARTITION], &partition)) {
		fprintf(stderr, "onced: seek wants --topic TOPIC, --to PLACE, "
				"and may have --partition NUMBER\n");
		return EXIT_CODE_USAGE;
	}
	cfg = command_load_config(arguments);
	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	refusal = find_refusal(cfg, arguments);
	if (refusal != NULL)
		fprintf(stderr, "onced: %s\n", refusal);
	else
		code = exit_code_of_seek(
			run_seek(cfg, &page, arguments, partition, &err));
	if (code == EXIT_CODE_OK)
		show(&page);
	else if (refusal == NULL)
		fprintf(stderr, "onced: %s\n", err.text);
	text_fini(&page.text);
	config_destroy(cfg);
	return code;
}

const struct command command_seek = {
	.name = "seek",
	.summary = "moves the group's positions, while it is stopped",
	.help = "PLACE: earliest, latest, an offset, or a time in UTC such as\n"
		"@2026-01-31T12:00:00Z (or @ and ms since 1970). Without\n"
		"--partition: in all partitions. --dry-run tells what it would\n"
		"mean. It is written down in once.audit.",
	.options = TAKES_CONFIG | TAKES_TOPIC | TAKES_PARTITION | TAKES_TO |
		   TAKES_DRY_RUN | TAKES_JSON,
	.run = seek,
};
