/* onced seek: where the group goes on. It is the database's position that is
 * moved; Kafka's offset follows by itself. */
#include "bytes.h"
#include "command.h"
#include "error.h"
#include "scope.h"
#include "seek_page.h"

#include <once/once.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is there ---- */

static void take_position(void *arg, int32_t partition,
			  const struct once_position *position)
{
	struct seeker *seeker = arg;
	size_t count = (size_t)partition + 1;
	struct once_position *positions =
		realloc(seeker->positions, count * sizeof(*positions));

	if (positions == NULL) {
		seeker->broken = true;
		return;
	}
	seeker->positions = positions;
	for (size_t i = seeker->position_count; i < count; i++)
		positions[i] = (struct once_position){
			.next_offset = -1,
			.anchor.offset = -1,
		};
	seeker->position_count = count;
	positions[partition] = *position;
}

static void say_another_log(struct seeker *seeker)
{
	for (size_t i = 0; i < seeker->place_count; i++)
		if (seeker->places[i].offset >= 0 &&
		    i < seeker->position_count &&
		    seeker->positions[i].next_offset >= 0)
			seeker->places[i].log = SEEK_LOG_ANOTHER;
}

static enum once_status look(const struct config *cfg, struct seeker *seeker,
			     const struct arguments *arguments,
			     int32_t partition, struct once_error *err)
{
	struct seek_request request = {
		.topic = arguments->given[OPTION_TOPIC],
		.partition = partition,
		.to = arguments->given[OPTION_TO],
	};
	enum once_status status =
		once_read_positions(cfg->database.conninfo, cfg->kafka.group,
				    request.topic, take_position, seeker, err);

	if (status == ONCE_OK && seeker->broken)
		status = error_no_memory(err);
	if (status != ONCE_OK)
		return status;
	request.positions = seeker->positions;
	request.position_count = seeker->position_count;
	status = source_find_places(cfg, &request, &seeker->places,
				    &seeker->place_count, err);
	if (status == ONCE_OK && arguments->given[OPTION_ANOTHER_LOG] != NULL)
		say_another_log(seeker);
	return status;
}

static enum once_status check_memory(const struct seeker *seeker,
				     const struct arguments *arguments,
				     struct once_error *err)
{
	if (arguments->given[OPTION_BEYOND_RETENTION] != NULL ||
	    arguments->dry_run)
		return ONCE_OK;
	for (size_t i = 0;
	     i < seeker->place_count && i < seeker->position_count; i++)
		if (seek_is_beyond(&seeker->places[i],
				   seeker->positions[i].next_offset))
			return error_set(
				err, ONCE_FENCED,
				"%s[%zu]: messages before offset %lld are "
				"older than the retention, and may be handled "
				"a second time; nothing was changed. "
				"--beyond-retention does it, --dry-run shows "
				"all partitions",
				arguments->given[OPTION_TOPIC], i,
				(long long)seeker->places[i].remembered);
	return ONCE_OK;
}

/* ---- the move ---- */

static enum once_status seek_to(const struct config *cfg,
				struct seek_page *page,
				const struct arguments *arguments,
				const struct seeker *seeker,
				struct once_error *err)
{
	scoped_text struct text person = { 0 };
	scoped_free int64_t *offsets =
		calloc(seeker->place_count, sizeof(*offsets));
	scoped_free unsigned char *another_log =
		calloc(seeker->place_count, sizeof(*another_log));
	char subject[1600];
	struct once_seek_options options = {
		.conninfo = cfg->database.conninfo,
		.group = cfg->kafka.group,
		.topic = arguments->given[OPTION_TOPIC],
		.offsets = offsets,
		.count = seeker->place_count,
		.another_log = another_log,
		.subject = subject,
		.dry_run = arguments->dry_run,
	};

	if (offsets == NULL || another_log == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < seeker->place_count; i++) {
		offsets[i] = seeker->places[i].offset;
		another_log[i] = seeker->places[i].log == SEEK_LOG_ANOTHER;
	}
	command_add_person(&person);
	options.person = person.data == NULL ? "" : person.data;
	snprintf(subject, sizeof(subject),
		 "group %s, topic %s, partition %s, to %s", cfg->kafka.group,
		 arguments->given[OPTION_TOPIC],
		 arguments->given[OPTION_PARTITION] == NULL
			 ? "all"
			 : arguments->given[OPTION_PARTITION],
		 arguments->given[OPTION_TO]);
	return once_seek(&options, seek_page_take, page, err);
}

static enum once_status run_seek(const struct config *cfg,
				 struct seek_page *page,
				 const struct arguments *arguments,
				 int32_t partition, struct once_error *err)
{
	struct seeker seeker = { 0 };
	enum once_status status = look(cfg, &seeker, arguments, partition, err);

	page->seeker = &seeker;
	if (status == ONCE_OK)
		status = check_memory(&seeker, arguments, err);
	if (status == ONCE_OK)
		status = seek_to(cfg, page, arguments, &seeker, err);
	page->seeker = NULL;
	free(seeker.positions);
	free(seeker.places);
	return status;
}

/* A process of the group is running, the log has forgotten what would be read
 * again, or there is no such place. */
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
	struct seek_page page = { .topic = arguments->given[OPTION_TOPIC],
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
	page.remembers_all = cfg->retention_ms < 0;
	refusal = find_refusal(cfg, arguments);
	if (refusal != NULL)
		fprintf(stderr, "onced: %s\n", refusal);
	else
		code = exit_code_of_seek(
			run_seek(cfg, &page, arguments, partition, &err));
	if (code == EXIT_CODE_OK)
		seek_page_print(&page);
	else if (refusal == NULL)
		command_complain("%s", err.text);
	text_fini(&page.text);
	config_destroy(cfg);
	return code;
}

const struct command command_seek = {
	.name = "seek",
	.summary = "moves the group's positions, while it is stopped",
	.help = "PLACE: earliest, latest, group (the group's offset in Kafka), an\n"
		"offset, or a time in UTC such as @2026-01-31T12:00:00Z (or @ and\n"
		"ms since 1970). Without --partition: in all partitions. --dry-run\n"
		"tells what it would mean. It is written down in once.audit.\n"
		"\n"
		"Messages that are older than the retention may be forgotten, and\n"
		"would be handled again: to go back that far, say\n"
		"--beyond-retention. Where another log is found than the one that\n"
		"the position was in, its messages are new ones under the same\n"
		"offsets; --another-log says so where it can't be seen.",
	.options = TAKES_CONFIG | TAKES_TOPIC | TAKES_PARTITION | TAKES_TO |
		   TAKES_ANOTHER_LOG | TAKES_BEYOND_RETENTION | TAKES_DRY_RUN |
		   TAKES_JSON,
	.interrupted = "either all positions were moved or none; see: onced "
		       "status",
	.run = seek,
};
