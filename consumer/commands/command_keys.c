/* onced keys: before anything is consumed, what the templates make of the
 * messages that are there. It asks Kafka only: no plugin is loaded, no database
 * is needed, and Kafka remembers nothing of it. */
#include "clock.h"
#include "command.h"
#include "error.h"
#include "keys_print.h"
#include "log.h"
#include "scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	USUAL_MESSAGES = 100000,
	MOST_WITH_ALL = 10000000,
	TOLD_EVERY_MS = 200
};

/* ---- what is asked for ---- */

struct request {
	int64_t messages;  /* -1: all, */
	int64_t limit;     /* if they aren't more than this */
	const char *topic; /* NULL: all of the handler */
	const char *route; /* NULL: all */
};

static bool parse_count(const char *text, int64_t otherwise, int64_t *ret_count)
{
	char *end;

	*ret_count = otherwise;
	if (text == NULL)
		return true;
	errno = 0;
	*ret_count = strtoll(text, &end, 10);
	return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0' &&
	       *ret_count > 0;
}

static bool parse_request(const struct arguments *arguments,
			  struct request *request)
{
	const char *const *given = arguments->given;
	bool all = given[OPTION_ALL] != NULL;

	request->topic = given[OPTION_TOPIC];
	request->route = given[OPTION_ROUTE];
	if (!parse_count(given[OPTION_MESSAGES], USUAL_MESSAGES,
			 &request->messages) ||
	    !parse_count(given[OPTION_LIMIT], MOST_WITH_ALL, &request->limit) ||
	    (all && given[OPTION_MESSAGES] != NULL) ||
	    (!all && given[OPTION_LIMIT] != NULL)) {
		fprintf(stderr, "onced: keys may have --messages NUMBER, or "
				"--all and --limit NUMBER\n");
		return false;
	}
	if (all)
		request->messages = -1;
	return true;
}

static bool is_chosen(const struct config *cfg, const struct request *request,
		      size_t route)
{
	if (request->topic != NULL &&
	    config_route_of(cfg, request->topic) != (int)route)
		return false;
	return request->route == NULL ||
	       strcmp(cfg->routes[route].name, request->route) == 0;
}

static bool is_any_chosen(const struct config *cfg,
			  const struct request *request)
{
	for (size_t i = 0; i < cfg->route_count; i++)
		if (is_chosen(cfg, request, i))
			return true;
	fprintf(stderr, "onced: no handler of this configuration %s\n",
		request->route == NULL ? "takes that topic"
		: request->topic == NULL
			? "has that name"
			: "has that name and takes that topic");
	return false;
}

/* ---- progress, for people who wait ---- */

struct progress {
	bool wanted;
	int64_t told_ms;
	int64_t messages;
	int64_t offsets; /* of the sample: messages at most */
};

static void tell_progress(struct progress *progress, const char *route)
{
	progress->messages++;
	if (!progress->wanted || progress->messages % 256 != 0 ||
	    clock_ms() - progress->told_ms < TOLD_EVERY_MS)
		return;
	progress->told_ms = clock_ms();
	fprintf(stderr, "\r%s: %lld of at most %lld messages", route,
		(long long)progress->messages, (long long)progress->offsets);
}

static void end_progress(const struct progress *progress)
{
	if (progress->told_ms != 0)
		fprintf(stderr, "\r\033[K");
}

/* ---- one handler ---- */

struct reading {
	const struct route_config *route;
	struct once_key_reader *reader;
	struct key_survey survey;
	struct progress progress;
};

static enum once_status take_message(void *arg, size_t number,
				     const struct once_record *record,
				     struct once_error *err)
{
	struct reading *reading = arg;
	struct once_read_keys keys;
	enum once_status status =
		once_key_reader_read(reading->reader, record, &keys, err);

	tell_progress(&reading->progress, reading->route->name);
	if (status == ONCE_OK)
		return key_survey_add(&reading->survey, (uint32_t)number,
				      record->offset, &keys, err);
	if (status != ONCE_INVALID)
		return status;
	key_survey_add_bad(&reading->survey, (uint32_t)number, record->offset,
			   err->text);
	return ONCE_OK;
}

static enum once_status make_reader(struct reading *reading,
				    struct once_error *err)
{
	const struct route_config *route = reading->route;
	const struct once_route_options options = {
		.name = route->name,
		.scope = route->scope,
		.msg_id = route->msg_id,
		.biz_id = route->biz_id,
		.fingerprint = route->fingerprint,
	};
	enum once_status status =
		once_key_reader_create(&options, &reading->reader, err);

	if (status != ONCE_OK)
		error_prefix(err, "handler \"%s\"", route->name);
	return status;
}

static enum once_status check_limit(const struct request *request,
				    const struct sample *sample,
				    struct once_error *err)
{
	int64_t offsets = sample_offsets(sample);

	if (request->messages >= 0 || offsets <= request->limit)
		return ONCE_OK;
	return error_set(err, ONCE_INVALID,
			 "Kafka has %lld offsets there, and --all reads at "
			 "most %lld; give --messages NUMBER for the newest, or "
			 "--limit NUMBER: each million takes up to 170 MB of "
			 "memory",
			 (long long)offsets, (long long)request->limit);
}

static struct key_place *make_places(const struct sample_partition *partitions,
				     size_t count)
{
	struct key_place *places = calloc(count + 1, sizeof(*places));

	for (size_t i = 0; places != NULL && i < count; i++) {
		places[i].topic = partitions[i].topic;
		places[i].partition = partitions[i].partition;
	}
	return places;
}

/* What is written, and what comes of it. */
struct page {
	bool json;
	size_t count; /* handlers */
	int64_t parked;
	bool halts;
	struct text text;
};

static void add_report(struct page *page, const struct keys_report *report)
{
	page->parked += keys_report_parked(report);
	page->halts = page->halts || keys_report_halts(report);
	if (page->json) {
		text_adds(&page->text, page->count++ == 0 ? "[" : ",\n");
		keys_print_json(&page->text, report);
	} else {
		text_adds(&page->text, page->count++ == 0 ? "" : "\n");
		keys_print_text(&page->text, report);
	}
}

static enum once_status survey_sample(struct reading *reading,
				      struct sample *sample, struct page *page,
				      struct once_error *err)
{
	struct keys_report report = { .route = reading->route,
				      .survey = &reading->survey };
	scoped_free struct key_place *places = NULL;
	enum once_status status;

	report.partitions = sample_partitions(sample, &report.partition_count);
	places = make_places(report.partitions, report.partition_count);
	if (places == NULL)
		return error_no_memory(err);
	key_survey_init(&reading->survey, places, report.partition_count);
	reading->progress.offsets = sample_offsets(sample);
	status = sample_read(sample, take_message, reading, err);
	end_progress(&reading->progress);
	if (status == ONCE_OK)
		add_report(page, &report);
	key_survey_fini(&reading->survey);
	return status;
}

static enum once_status open_sample(const struct config *cfg,
				    const struct route_config *route,
				    const struct request *request,
				    struct sample **ret_sample,
				    struct once_error *err)
{
	const char *const *topics = request->topic == NULL
					    ? (const char *const *)route->topics
					    : &request->topic;
	size_t count = request->topic == NULL ? route->topic_count : 1;
	enum once_status status = sample_open(
		cfg, topics, count, request->messages, ret_sample, err);

	return status == ONCE_OK ? check_limit(request, *ret_sample, err)
				 : status;
}

static enum once_status survey_route(const struct config *cfg,
				     const struct route_config *route,
				     const struct request *request,
				     struct page *page, struct once_error *err)
{
	struct reading reading = { .route = route };
	struct sample *sample = NULL;
	enum once_status status = make_reader(&reading, err);

	reading.progress.wanted = isatty(STDERR_FILENO) != 0;
	if (status == ONCE_OK)
		status = open_sample(cfg, route, request, &sample, err);
	if (status == ONCE_OK)
		status = survey_sample(&reading, sample, page, err);
	sample_close(sample);
	once_key_reader_destroy(reading.reader);
	return status;
}

/* ---- all ---- */

static int show(struct page *page)
{
	bool is_good = page->parked == 0 && !page->halts;

	if (page->json)
		text_adds(&page->text, "]");
	else if (page->parked > 0)
		text_addf(&page->text, "\n%lld message%s would be parked%s",
			  (long long)page->parked, page->parked == 1 ? "" : "s",
			  page->halts ? ", and partitions would halt" : "");
	else
		text_adds(&page->text, page->halts
					       ? "\npartitions would halt"
					       : "\nnothing would be parked");
	if (page->text.broken) {
		fprintf(stderr, "onced: out of memory\n");
		return EXIT_CODE_BUG;
	}
	printf("%s\n", page->text.data);
	return is_good ? EXIT_CODE_OK : EXIT_CODE_FOUND;
}

static int survey(const struct config *cfg, const struct request *request,
		  struct page *page)
{
	enum once_status status = ONCE_OK;
	struct once_error err;

	if (!is_any_chosen(cfg, request))
		return EXIT_CODE_USAGE;
	for (size_t i = 0; i < cfg->route_count && status == ONCE_OK; i++)
		if (is_chosen(cfg, request, i))
			status = survey_route(cfg, &cfg->routes[i], request,
					      page, &err);
	if (status == ONCE_OK)
		return show(page);
	command_complain("%s", err.text);
	return status == ONCE_INVALID ? EXIT_CODE_USAGE
				      : (int)exit_code_of(status);
}

static int keys(const struct arguments *arguments)
{
	struct page page = { .json = arguments->json };
	struct request request;
	struct config *cfg;
	int code;

	if (!parse_request(arguments, &request))
		return EXIT_CODE_USAGE;
	cfg = command_load_config(arguments);
	if (cfg == NULL)
		return EXIT_CODE_CONFIG;
	log_set_level(LOG_LEVEL_ERROR);
	code = survey(cfg, &request, &page);
	text_fini(&page.text);
	config_destroy(cfg);
	return code;
}

const struct command command_keys = {
	.name = "keys",
	.summary = "what the templates yield on the messages that are there",
	.help = "Reads the newest messages of each handler's topics, evenly over\n"
		"their partitions: 100000, or --messages N; or --all, if they aren't\n"
		"more than --limit N (10000000). Counts the new, repeated,\n"
		"conflicting, and those without a key, with examples. Ends with 1 if\n"
		"any would be parked, or halt their partition. Joins no group,\n"
		"commits nothing, asks no database, loads no plugin.",
	.options = TAKES_CONFIG | TAKES_ROUTE | TAKES_TOPIC | TAKES_MESSAGES |
		   TAKES_ALL | TAKES_LIMIT | TAKES_JSON,
	.run = keys,
};
