/*
 * Options against each other; most of it, routes against each other. Each is
 * compared with those before it, so a fault is reported once, at the later one,
 * and names the line of the first.
 *
 * Two routes never share a scope: a message of the one would count as a
 * duplicate of the other's and its own handler would not be called. Topics that
 * carry the same operations belong into one route.
 */
#include "config_check.h"

#include "name_set.h"

#include <string.h>

enum {
	SHORT_RETENTION_MS = 3600 * 1000
};

static struct place place_of(const struct tree_node *node, const char *key)
{
	const struct tree_node *member = tree_find(node, key);

	return member == NULL ? node->place : member->place;
}

/* All that libonce would refuse, with a table of no size. */
void config_check_prefilter(const struct config *cfg,
			    const struct tree_node *root, struct faults *faults)
{
	const struct tree_node *node = tree_find(root, "prefilter");
	const struct tree_node *redis =
		node == NULL ? NULL : tree_find(node, "redis");
	struct once_prefilter_options options;
	struct once_prefilter *prefilter = NULL;
	struct once_error err;

	if (redis == NULL || cfg->prefilter.redis_url == NULL)
		return;
	options = config_prefilter_options(cfg);
	options.local_max_bytes = 0;
	if (cfg->retention_ms >= 0 && options.redis_ttl_ms > cfg->retention_ms)
		faults_add(faults, place_of(redis, "ttl"),
			   "prefilter.redis.ttl is longer than the retention: "
			   "a mark would outlive the row that it tells of; "
			   "write at most as much as for the retention");
	else if (once_prefilter_create(&options, &prefilter, &err) != ONCE_OK)
		faults_add(faults, place_of(redis, "url"),
			   "prefilter.redis.url: %s", err.text);
	once_prefilter_destroy(prefilter);
}

/* A producer that sends again after an hour is no rare thing. */
void config_check_retention(const struct config *cfg,
			    const struct tree_node *root, struct faults *faults)
{
	if (cfg->retention_ms <= 0 || cfg->retention_ms >= SHORT_RETENTION_MS)
		return;
	faults_warn(faults, place_of(root, "retention"),
		    "retention is under an hour: a message that comes again "
		    "later than that is new, and handled again");
}

/* NULL: the topic's name came from outside the file and isn't shown. */
static const struct tree_node *find_topic(const struct tree_node *list,
					  const char *topic)
{
	for (const struct tree_node *at = list->children; at != NULL;
	     at = at->next)
		if (at->kind == TREE_TEXT && strcmp(at->text, topic) == 0)
			return at;
	return NULL;
}

/* What routes have, by the index of the first that has it. */
struct taken {
	struct name_set names;
	struct name_set scopes;
	struct name_set topics;
};

static void check_topics(const struct config *cfg, size_t index,
			 const struct tree_node *node, struct taken *taken,
			 struct faults *faults)
{
	const struct route_config *route = &cfg->routes[index];
	const struct tree_node *list = tree_find(node, "topics");

	for (size_t i = 0; i < route->topic_count; i++) {
		const char *topic = route->topics[i];
		const struct tree_node *at;
		size_t earlier;

		if (name_set_add(&taken->topics, topic, strlen(topic), index,
				 &earlier))
			continue;
		at = faults_are_many(faults) ? NULL : find_topic(list, topic);
		faults_add(faults, at == NULL ? list->place : at->place,
			   "topic \"%.100s\" belongs to the route on line %d "
			   "already; write it under one of the two",
			   at == NULL ? "${...}" : at->text,
			   cfg->routes[earlier].line);
	}
}

static void check_names(const struct config *cfg, size_t index,
			const struct tree_node *node, struct taken *taken,
			struct faults *faults)
{
	const struct route_config *route = &cfg->routes[index];
	size_t earlier = index;

	if (route->name != NULL &&
	    !name_set_add(&taken->names, route->name, strlen(route->name),
			  index, &earlier)) {
		faults_add(faults, place_of(node, "name"),
			   "the route on line %d has this name already; write "
			   "another",
			   cfg->routes[earlier].line);
		return;
	}
	if (route->scope != NULL &&
	    !name_set_add(&taken->scopes, route->scope, strlen(route->scope),
			  index, &earlier))
		faults_add(faults, place_of(node, "scope"),
			   "the route on line %d has this scope already, and "
			   "its messages would count as duplicates of this "
			   "one's; write another scope, or put the topics of "
			   "both into one route",
			   cfg->routes[earlier].line);
}

/* Kafka allows "/" in a group's name. The default scope can be read back as
 * long as a route's name has none: else group "a" with route "b/c" would share
 * its keys with group "a/b" and route "c". */
static void check_default_scope(const struct route_config *route,
				const struct tree_node *node,
				struct faults *faults)
{
	const struct tree_node *scope = tree_find(node, "scope");

	if (route->name == NULL || strchr(route->name, '/') == NULL ||
	    (scope != NULL && scope->kind == TREE_TEXT &&
	     scope->text[0] != '\0'))
		return;
	faults_add(faults, place_of(node, "name"),
		   "a \"/\" in a route's name needs a scope of its own, for "
		   "the default one would be ambiguous; write handlers[].scope "
		   "(to keep the keys of before: <group>/<name>), or another "
		   "name");
}

static void check_retry(const struct route_config *route,
			const struct tree_node *node, struct faults *faults)
{
	const struct tree_node *retry = tree_find(node, "retry");

	if (retry == NULL ||
	    route->retry.first_delay_ms <= route->retry.max_delay_ms)
		return;
	faults_add(faults,
		   place_of(retry, tree_find(retry, "first_delay") != NULL
					   ? "first_delay"
					   : "max_delay"),
		   "handlers[].retry.first_delay is longer than max_delay; "
		   "write at most as much for it");
}

void config_check_routes(const struct config *cfg, const struct tree_node *root,
			 struct faults *faults)
{
	const struct tree_node *list = tree_find(root, "handlers");
	const struct tree_node *node = list == NULL ? NULL : list->children;
	struct taken taken = { 0 };

	for (size_t i = 0; i < cfg->route_count; i++, node = node->next) {
		check_default_scope(&cfg->routes[i], node, faults);
		check_retry(&cfg->routes[i], node, faults);
		check_topics(cfg, i, node, &taken, faults);
		check_names(cfg, i, node, &taken, faults);
	}
	faults->broken |= taken.names.broken || taken.scopes.broken ||
			  taken.topics.broken;
	name_set_fini(&taken.names);
	name_set_fini(&taken.scopes);
	name_set_fini(&taken.topics);
}
