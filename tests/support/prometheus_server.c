/*
 * prometheus_server.c - a Prometheus of one's own, and questions to it.
 *
 * The idea: it is told of one target in a file of its throwaway directory, and
 * all else is asked by its HTTP API.
 */
#include "prometheus_server.h"

#include "free_port.h"

#include <curl/curl.h>
#include <errno.h>
#include <error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text.h>

enum {
	START_MS = 60000,
	STOP_MS = 20000,
	ANSWER_MS = 20000
};

bool prometheus_is_installed(void)
{
	return system("command -v prometheus >/dev/null") == 0;
}

/* ---- started and stopped ---- */

static enum once_status write_config(const char *path, int target_port,
				     const char *rules, struct once_error *err)
{
	FILE *file = fopen(path, "we");

	if (file == NULL)
		return error_set(err, ONCE_TRANSIENT,
				 "could not write \"%s\": %s", path,
				 strerror(errno));
	fprintf(file,
		"global:\n"
		"  scrape_interval: 1s\n"
		"  evaluation_interval: 1s\n"
		"rule_files: ['%s']\n"
		"scrape_configs:\n"
		"  - job_name: onced\n"
		"    static_configs:\n"
		"      - targets: ['127.0.0.1:%d']\n",
		rules, target_port);
	if (fclose(file) != 0)
		return error_set(err, ONCE_TRANSIENT,
				 "could not write \"%s\": %s", path,
				 strerror(errno));
	return ONCE_OK;
}

static bool answers_or_has_ended(void *arg)
{
	struct prometheus_server *server = arg;
	json_t *answer;

	if (!process_is_running(&server->process))
		return true;
	answer = prometheus_ask(server, "status/runtimeinfo", NULL);
	json_decref(answer);
	return answer != NULL;
}

static enum once_status start(struct prometheus_server *server,
			      const char *config, struct once_error *err)
{
	char file[PATH_MAX + 32];
	char storage[PATH_MAX + 32];
	char address[64];
	const char *argv[] = { "prometheus",       file, storage, address,
			       "--log.level=warn", NULL };
	struct process_options options = { .argv = argv,
					   .output = server->log };

	snprintf(file, sizeof(file), "--config.file=%s", config);
	snprintf(storage, sizeof(storage), "--storage.tsdb.path=%s/data",
		 server->dir.path);
	snprintf(address, sizeof(address), "--web.listen-address=127.0.0.1:%d",
		 server->port);
	if (process_start(&server->process, &options, err) != ONCE_OK)
		return err->status;
	if (wait_until(answers_or_has_ended, server, START_MS) &&
	    process_is_running(&server->process))
		return ONCE_OK;
	return error_set(err, ONCE_TRANSIENT,
			 "Prometheus didn't start; see \"%s\"", server->log);
}

enum once_status prometheus_server_create(struct prometheus_server *server,
					  int target_port, const char *rules,
					  struct once_error *err)
{
	char config[PATH_MAX];

	memset(&server->process, 0, sizeof(server->process));
	if (temp_dir_init(&server->dir, err) != ONCE_OK ||
	    temp_dir_path(server->log, server->dir.path, "log", err) !=
		    ONCE_OK ||
	    temp_dir_path(config, server->dir.path, "prometheus.yml", err) !=
		    ONCE_OK)
		return err->status;
	server->port = free_port_find(1);
	if (server->port == -1)
		return error_set(err, ONCE_TRANSIENT, "no port is free");
	if (write_config(config, target_port, rules, err) != ONCE_OK)
		return err->status;
	return start(server, config, err);
}

void prometheus_server_destroy(struct prometheus_server *server)
{
	process_stop(&server->process, SIGTERM, STOP_MS);
	temp_dir_fini(&server->dir);
}

/* ---- asked ---- */

static size_t take_part(char *data, size_t size, size_t count, void *arg)
{
	text_add(arg, data, size * count);
	return size * count;
}

static void add_query(CURL *curl, const char *query, struct text *url)
{
	char *escaped = curl_easy_escape(curl, query, 0);

	text_addf(url, "?query=%s", escaped == NULL ? "" : escaped);
	curl_free(escaped);
}

json_t *prometheus_ask(const struct prometheus_server *server, const char *what,
		       const char *query)
{
	scoped_text struct text url = { 0 };
	scoped_text struct text body = { 0 };
	CURL *curl = curl_easy_init();
	CURLcode result;

	if (curl == NULL)
		return NULL;
	text_addf(&url, "http://127.0.0.1:%d/api/v1/%s", server->port, what);
	if (query != NULL)
		add_query(curl, query, &url);
	curl_easy_setopt(curl, CURLOPT_URL, url.data);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_part);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
	result = curl_easy_perform(curl);
	curl_easy_cleanup(curl);
	if (result != CURLE_OK || body.data == NULL)
		return NULL;
	return json_loadb(body.data, body.size, 0, NULL);
}
