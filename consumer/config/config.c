/*
 * Loading, in the order in which faults can be found: the file, its YAML, each
 * option by itself, then options against each other. All of it is done before
 * anything is told, so that one run tells everything.
 */
#include "config.h"

#include "bytes.h"
#include "config_check.h"
#include "config_options.h"
#include "config_protect.h"
#include "config_read.h"
#include "error.h"
#include "kafka_properties.h"
#include "plain_file.h"
#include "scope.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_FILE = 1024 * 1024,
	DEFAULT_TTL_MS = 7 * 24 * 3600 * 1000,
	MAX_DEFAULT_LANES = 8
};

/* ---- the file ---- */

static bool read_stream(FILE *file, struct text *source)
{
	char data[4096];
	size_t size;

	text_adds(source, "");
	while ((size = fread(data, 1, sizeof(data), file)) > 0 &&
	       source->size <= MAX_FILE)
		text_add(source, data, size);
	return !ferror(file) && !source->broken;
}

static void read_file(const char *path, struct text *source,
		      struct faults *faults)
{
	struct place nowhere = { 0 };
	struct once_error err = { 0 };
	FILE *file = plain_file_open(path, &err);

	if (file != NULL && !read_stream(file, source))
		error_set(&err, ONCE_CONFIG, "%s", strerror(errno));
	if (err.text[0] != '\0')
		faults_add(faults, nowhere,
			   "could not read it: %s; name the configuration "
			   "file with -c",
			   err.text);
	else if (source->size > MAX_FILE)
		faults_add(faults, nowhere,
			   "longer than 1 MiB, so this is no configuration; "
			   "name the configuration file with -c");
	if (file != NULL)
		fclose(file);
}

/* Where the file is: "." for a bare name. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* ---- defaults that are worked out ---- */

static unsigned default_lanes(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores < 1)
		return 1;
	return cores > MAX_DEFAULT_LANES ? MAX_DEFAULT_LANES : (unsigned)cores;
}

static void fill_ttl(struct config *cfg)
{
	struct prefilter_config *prefilter = &cfg->prefilter;

	if (prefilter->redis_ttl_ms != 0)
		return;
	prefilter->redis_ttl_ms = DEFAULT_TTL_MS;
	if (cfg->retention_ms >= 0 && cfg->retention_ms < DEFAULT_TTL_MS)
		prefilter->redis_ttl_ms = cfg->retention_ms;
}

static void fill_scope(const struct config *cfg, struct route_config *route,
		       struct faults *faults)
{
	struct text scope scoped_text = { 0 };

	if (route->scope != NULL && route->scope[0] != '\0')
		return;
	if (cfg->kafka.group == NULL || route->name == NULL)
		return;
	text_addf(&scope, "%s/%s", cfg->kafka.group, route->name);
	if (scope.broken) {
		faults->broken = true;
		return;
	}
	free(route->scope);
	route->scope = take(&scope.data);
}

/* ---- loading ---- */

static void load_tree(struct config *cfg, struct tree *tree, const char *path,
		      struct faults *faults)
{
	char *folder scoped_free = folder_of(path);

	if (folder == NULL) {
		faults->broken = true;
		return;
	}
	config_read(cfg, tree, folder, faults);
	for (size_t i = 0; i < cfg->route_count; i++)
		fill_scope(cfg, &cfg->routes[i], faults);
	fill_ttl(cfg);
	if (faults->broken)
		return;
	config_check_prefilter(cfg, tree->root, faults);
	config_check_retention(cfg, tree->root, faults);
	config_check_routes(cfg, tree->root, faults);
	config_check_protection(cfg, tree->root, faults);
}

/* In UTF-16 every other byte of our keys is a NUL. */
static bool is_utf16(struct once_bytes source)
{
	const unsigned char *at = source.data;

	return source.size >= 2 &&
	       ((at[0] == 0xFF && at[1] == 0xFE) ||
		(at[0] == 0xFE && at[1] == 0xFF) ||
		(at[0] == 0 && at[1] != 0) || (at[0] != 0 && at[1] == 0));
}

/* Some editors begin a file with the byte order mark of UTF-8. */
static struct once_bytes without_mark(struct once_bytes source)
{
	const char *at = source.data;

	if (source.size < 3 || memcmp(at, "\xEF\xBB\xBF", 3) != 0)
		return source;
	return bytes_of(at + 3, source.size - 3);
}

static void load(struct config *cfg, const char *path, struct tree *tree,
		 struct faults *faults)
{
	struct text source scoped_text = { 0 };
	struct place start = { 1, 1 };
	struct once_bytes bytes;

	read_file(path, &source, faults);
	config_check_file(path, faults);
	bytes = bytes_of(source.data, source.size);
	if (!faults_refuse(faults) && is_utf16(bytes))
		faults_add(faults, start,
			   "this is UTF-16; save the file as plain UTF-8");
	if (!faults_refuse(faults))
		tree_load(tree, without_mark(bytes), faults);
	if (tree->root != NULL)
		load_tree(cfg, tree, path, faults);
}

struct config *config_load(const char *path, config_property_check_f *check,
			   void *arg, FILE *faults_out)
{
	struct config *cfg = calloc(1, sizeof(*cfg));
	struct faults faults = { .broken = cfg == NULL };
	struct tree tree = { 0 };

	if (cfg != NULL) {
		cfg->lanes = default_lanes();
		load(cfg, path, &tree, &faults);
	}
	if (!faults.broken)
		kafka_properties_check(&cfg->kafka, check, arg, &faults);
	faults_write(&faults, path, faults_out);
	if (faults_refuse(&faults)) {
		config_destroy(cfg);
		cfg = NULL;
	}
	faults_fini(&faults);
	tree_fini(&tree);
	return cfg;
}

bool config_has_prefilter(const struct config *cfg)
{
	return cfg->prefilter.local_max_bytes > 0 ||
	       cfg->prefilter.redis_url[0] != '\0';
}

struct once_prefilter_options config_prefilter_options(const struct config *cfg)
{
	const struct prefilter_config *prefilter = &cfg->prefilter;
	bool has_redis = prefilter->redis_url[0] != '\0';

	return (struct once_prefilter_options){
		.local_max_bytes = prefilter->local_max_bytes,
		.redis_url = has_redis ? prefilter->redis_url : NULL,
		.redis_timeout_ms = prefilter->redis_timeout_ms,
		.redis_ttl_ms = prefilter->redis_ttl_ms,
		.redis_pause =
			prefilter->redis_on_unavailable == UNAVAILABLE_PAUSE,
		.retention_ms = cfg->retention_ms,
	};
}

/* Names aren't looked up: another than localhost may be reached from outside.
 */
static bool is_loopback(const char *listen)
{
	return strncmp(listen, "127.", 4) == 0 ||
	       strncmp(listen, "[::1]:", 6) == 0 ||
	       strncmp(listen, "localhost:", 10) == 0;
}

const char *config_admin_warning(const struct config *cfg)
{
	const char *listen = cfg->admin.listen;
	const char *token = cfg->admin.token;

	/* NULL: it was refused, and that is what is said then. */
	if (listen == NULL || token == NULL || listen[0] == '\0' ||
	    token[0] != '\0' || is_loopback(listen))
		return NULL;
	return "admin.listen can be reached from other machines and there is "
	       "no admin.token: whoever connects sees message keys and error "
	       "texts; set admin.token, or restrict who can connect";
}

int config_route_of(const struct config *cfg, const char *topic)
{
	for (size_t i = 0; i < cfg->route_count; i++)
		for (size_t j = 0; j < cfg->routes[i].topic_count; j++)
			if (strcmp(cfg->routes[i].topics[j], topic) == 0)
				return (int)i;
	return -1;
}

/* ---- the end ---- */

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

static void free_properties(struct name_value *properties, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(properties[i].name);
		free(properties[i].value);
	}
	free(properties);
}

/* The fields of texts in one struct; the table knows where they are. */
static void free_options(void *base, bool in_route)
{
	for (size_t i = 0; i < config_option_count; i++) {
		const struct config_option *option = &config_options[i];
		bool is_route = strncmp(option->path, "handlers[].", 11) == 0;
		char *text;

		if (is_route != in_route || !config_kind_is_text(option->kind))
			continue;
		memcpy(&text, (char *)base + option->offset, sizeof(char *));
		free(text);
	}
}

void config_destroy(struct config *cfg)
{
	if (cfg == NULL)
		return;
	for (size_t i = 0; i < cfg->route_count; i++) {
		struct route_config *route = &cfg->routes[i];

		free_options(route, true);
		free_texts(route->topics, route->topic_count);
		free_texts(route->settings, route->setting_count);
		free_texts(route->retry.never, route->retry.never_count);
	}
	free_options(cfg, false);
	free_texts(cfg->admin.hosts, cfg->admin.host_count);
	free_properties(cfg->kafka.properties, cfg->kafka.property_count);
	free(cfg->routes);
	free(cfg);
}
