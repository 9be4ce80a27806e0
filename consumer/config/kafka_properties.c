/*
 * The policy for librdkafka's properties. First our table decides (what could
 * lose messages isn't the user's to set), then the library itself, which alone
 * knows the values; what it complains of is passed on unless that would show a
 * secret.
 */
#include "kafka_properties.h"

#include "config_value.h"
#include "similar.h"

#include <string.h>

enum policy {
	POLICY_FREE,
	POLICY_RANGE,
	POLICY_ONLY,
	POLICY_OURS,
	POLICY_PRODUCER
};

struct property {
	const char *name;
	enum policy policy;
	int64_t min;
	int64_t max;
	const char *words;
	const char *text;
};

static const struct property properties[] = {
/* clang-format off */
#define FREE(a_name) { .name = a_name, .policy = POLICY_FREE },
#define RANGE(a_name, a_min, a_max, a_text) \
	{ .name = a_name, .policy = POLICY_RANGE, .min = a_min, \
	  .max = a_max, .text = a_text },
#define ONLY(a_name, a_words, a_text) \
	{ .name = a_name, .policy = POLICY_ONLY, .words = a_words, \
	  .text = a_text },
#define OURS(a_name, a_text) \
	{ .name = a_name, .policy = POLICY_OURS, .text = a_text },
#define PRODUCER(a_name) \
	{ .name = a_name, .policy = POLICY_PRODUCER, \
	  .text = "it is a producer's, and onced consumes; leave it out" },
#include "kafka_properties.tbl"
	/* clang-format on */
};

static const size_t property_count = sizeof(properties) / sizeof(properties[0]);

/* The library's own defaults, for the checks between properties. */
enum {
	SESSION_MS = 45000,
	HEARTBEAT_MS = 3000,
	MAX_POLL_MS = 300000
};

/* Above this, max.poll.interval.ms looks like a remedy for slow handlers. */
enum {
	LONG_POLL_MS = 600000
};

static const struct property *find_property(const char *name)
{
	for (size_t i = 0; i < property_count; i++)
		if (strcmp(properties[i].name, name) == 0)
			return &properties[i];
	return NULL;
}

static struct place place_of(const struct name_value *given)
{
	struct place place = { given->line, given->column };

	return place;
}

static void refuse_unknown(const struct name_value *given,
			   struct faults *faults)
{
	struct similar similar = { .word = given->name };

	for (size_t i = 0; i < property_count && !faults_are_many(faults); i++)
		if (properties[i].policy < POLICY_OURS)
			similar_offer(&similar, properties[i].name);
	if (similar.best != NULL)
		faults_add(faults, place_of(given),
			   "kafka.properties: no property is called \"%.100s\";"
			   " did you mean \"%s\"?",
			   given->name, similar.best);
	else
		faults_add(faults, place_of(given),
			   "kafka.properties: no property is called \"%.100s\";"
			   " write one of those in librdkafka's "
			   "CONFIGURATION.md",
			   given->name);
}

static void ask_library(const struct name_value *given, bool known,
			config_property_check_f *check, void *arg,
			struct faults *faults)
{
	const char *complaint = NULL;

	if (check != NULL)
		complaint = check(arg, given->name, given->value);
	else if (known)
		return;
	if (check != NULL && complaint == NULL)
		return;
	if (!known)
		refuse_unknown(given, faults);
	else if (given->secret)
		faults_add(faults, place_of(given),
			   "kafka.properties: librdkafka refuses \"%s\" with "
			   "its value, which isn't shown; correct it or leave "
			   "it out",
			   given->name);
	else
		faults_add(faults, place_of(given),
			   "kafka.properties: librdkafka refuses \"%s\": %s; "
			   "correct it or leave it out",
			   given->name, complaint);
}

static bool is_in_range(const struct property *property, const char *value,
			int64_t *ret_number)
{
	return value_parse_digits(value, property->max, ret_number) &&
	       *ret_number >= property->min;
}

static bool check_range(const struct property *property,
			const struct name_value *given, struct faults *faults)
{
	int64_t number;

	if (is_in_range(property, given->value, &number))
		return true;
	faults_add(
		faults, place_of(given),
		"kafka.properties: %s is out of its range (%s); write a number "
		"from %lld to %lld",
		property->name, property->text, (long long)property->min,
		(long long)property->max);
	return false;
}

static bool is_word(const char *words, const char *word, size_t size)
{
	const char *at;
	size_t at_size;

	for (size_t i = 0; (at = config_word_at(words, i, &at_size)) != NULL;
	     i++)
		if (at_size == size && memcmp(at, word, size) == 0)
			return true;
	return false;
}

/* A list with commas, of which each word must be known. */
static bool check_words(const struct property *property,
			const struct name_value *given, struct faults *faults)
{
	const char *at = given->value;

	for (;;) {
		size_t size = strcspn(at, ",");

		if (!is_word(property->words, at, size))
			break;
		if (at[size] == '\0')
			return true;
		at += size + 1;
	}
	faults_add(
		faults, place_of(given),
		"kafka.properties: %s can't have this value: %s; write one of %s",
		property->name, property->text, property->words);
	return false;
}

static void check_property(const struct name_value *given,
			   config_property_check_f *check, void *arg,
			   struct faults *faults)
{
	const struct property *property = find_property(given->name);
	enum policy policy = property == NULL ? POLICY_FREE : property->policy;

	if (policy == POLICY_OURS || policy == POLICY_PRODUCER) {
		faults_add(faults, place_of(given),
			   "kafka.properties: \"%s\" can't be set: %s",
			   given->name, property->text);
		return;
	}
	if (policy == POLICY_RANGE && !check_range(property, given, faults))
		return;
	if (policy == POLICY_ONLY && !check_words(property, given, faults))
		return;
	ask_library(given, property != NULL, check, arg, faults);
}

/* ---- what depends on another, or is only unwise ---- */

static const struct name_value *find_given(const struct kafka_config *kafka,
					   const char *name)
{
	for (size_t i = 0; i < kafka->property_count; i++)
		if (strcmp(kafka->properties[i].name, name) == 0)
			return &kafka->properties[i];
	return NULL;
}

/* A number that was refused already counts as not given. */
static int64_t number_of(const struct name_value *given, int64_t otherwise)
{
	const struct property *property;
	int64_t number;

	if (given == NULL)
		return otherwise;
	property = find_property(given->name);
	return is_in_range(property, given->value, &number) ? number
							    : otherwise;
}

static void check_times(const struct kafka_config *kafka, struct faults *faults)
{
	const struct name_value *session =
		find_given(kafka, "session.timeout.ms");
	const struct name_value *heartbeat =
		find_given(kafka, "heartbeat.interval.ms");
	const struct name_value *poll =
		find_given(kafka, "max.poll.interval.ms");
	int64_t session_ms = number_of(session, SESSION_MS);

	if (number_of(poll, MAX_POLL_MS) < session_ms)
		faults_add(faults, place_of(poll != NULL ? poll : session),
			   "kafka.properties: max.poll.interval.ms is shorter "
			   "than session.timeout.ms; write at least as much "
			   "for the former");
	if (number_of(heartbeat, HEARTBEAT_MS) > session_ms / 3)
		faults_add(faults,
			   place_of(heartbeat != NULL ? heartbeat : session),
			   "kafka.properties: heartbeat.interval.ms is more "
			   "than a third of session.timeout.ms; write at most "
			   "a third, so that one lost heartbeat costs nothing");
}

static bool has_value(const struct kafka_config *kafka, const char *name,
		      const char *value)
{
	const struct name_value *given = find_given(kafka, name);

	return given != NULL && strcmp(given->value, value) == 0;
}

/* Members that give up all and members that don't can't be of one group. */
static void check_assignors(const struct kafka_config *kafka,
			    struct faults *faults)
{
	const struct name_value *given =
		find_given(kafka, "partition.assignment.strategy");

	if (given != NULL && strchr(given->value, ',') != NULL &&
	    strstr(given->value, "cooperative-sticky") != NULL)
		faults_add(faults, place_of(given),
			   "kafka.properties: partition.assignment.strategy "
			   "can't mix cooperative-sticky with others; write it "
			   "alone, and stop all members before you change it");
}

/* KIP-848: the brokers keep the sessions and share out the partitions. */
static void check_consumer_protocol(const struct kafka_config *kafka,
				    struct faults *faults)
{
	static const struct {
		const char *name;
		const char *instead;
	} theirs[] = {
		{ "session.timeout.ms",
		  "set group.consumer.session.timeout.ms at the brokers" },
		{ "heartbeat.interval.ms",
		  "set group.consumer.heartbeat.interval.ms at the brokers" },
		{ "partition.assignment.strategy",
		  "write group.remote.assignor" },
	};

	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		const struct name_value *given =
			find_given(kafka, theirs[i].name);

		if (given != NULL)
			faults_add(faults, place_of(given),
				   "kafka.properties: \"%s\" can't be set with "
				   "group.protocol=consumer; %s, or leave it "
				   "out",
				   theirs[i].name, theirs[i].instead);
	}
}

static void check_classic_protocol(const struct kafka_config *kafka,
				   struct faults *faults)
{
	const struct name_value *given =
		find_given(kafka, "group.remote.assignor");

	if (given != NULL)
		faults_add(faults, place_of(given),
			   "kafka.properties: group.remote.assignor is for "
			   "group.protocol=consumer; write "
			   "partition.assignment.strategy");
	check_assignors(kafka, faults);
	check_times(kafka, faults);
}

static void warn_unwise(const struct kafka_config *kafka, struct faults *faults)
{
	const struct name_value *poll =
		find_given(kafka, "max.poll.interval.ms");
	const struct name_value *crcs = find_given(kafka, "check.crcs");

	if (number_of(poll, MAX_POLL_MS) > LONG_POLL_MS)
		faults_warn(faults, place_of(poll),
			    "max.poll.interval.ms this long isn't needed: "
			    "onced goes on polling while handlers run, however "
			    "slow they are, and a process that is stuck would "
			    "hold its partitions that long; leave it out");
	if (crcs != NULL && strcmp(crcs->value, "false") == 0)
		faults_warn(faults, place_of(crcs),
			    "check.crcs=false lets damaged messages reach the "
			    "handlers unnoticed; leave it out");
}

void kafka_properties_check(const struct kafka_config *kafka,
			    config_property_check_f *check, void *arg,
			    struct faults *faults)
{
	for (size_t i = 0; i < kafka->property_count; i++)
		check_property(&kafka->properties[i], check, arg, faults);
	if (has_value(kafka, "group.protocol", "consumer"))
		check_consumer_protocol(kafka, faults);
	else
		check_classic_protocol(kafka, faults);
	warn_unwise(kafka, faults);
}
