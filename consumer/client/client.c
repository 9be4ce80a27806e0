/* One request, one answer, within a time. The one place that knows libcurl. */
#include "client.h"

#include "error.h"
#include "text.h"

#include <curl/curl.h>
#include <string.h>

enum {
	MOST_BYTES = 64 * 1024 * 1024
};

/* ---- where ---- */

/* What a program listens on, but nobody can connect to everywhere. */
static bool is_any_address(const char *host, size_t size)
{
	return size == 0 || (size == 1 && host[0] == '*') ||
	       (size == 7 && memcmp(host, "0.0.0.0", 7) == 0);
}

static bool is_any_address6(const char *host, size_t size)
{
	return size == 4 && memcmp(host, "[::]", 4) == 0;
}

bool client_url(const char *listen, const char *path, struct text *ret_url)
{
	const char *colon = strrchr(listen, ':');
	size_t size = colon == NULL ? 0 : (size_t)(colon - listen);

	if (colon == NULL || strspn(colon + 1, "0") == strlen(colon + 1))
		return false;
	text_adds(ret_url, "http://");
	if (is_any_address(listen, size))
		text_adds(ret_url, "127.0.0.1");
	else if (is_any_address6(listen, size))
		text_adds(ret_url, "[::1]");
	else
		text_add(ret_url, listen, size);
	text_adds(ret_url, colon);
	text_adds(ret_url, path);
	return !ret_url->broken;
}

/* ---- asking ---- */

static size_t take_part(char *data, size_t size, size_t count, void *arg)
{
	struct text *body = arg;

	if (body->size + size * count > MOST_BYTES)
		return 0;
	text_add(body, data, size * count);
	return body->broken ? 0 : size * count;
}

/* libcurl keeps it to the host that is asked. */
static CURLcode set_token(CURL *curl, const char *token)
{
	CURLcode result;

	if (token[0] == '\0')
		return CURLE_OK;
	result =
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
	return result != CURLE_OK
		       ? result
		       : curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, token);
}

static CURLcode set_up(CURL *curl, const char *url, const char *token,
		       int timeout_ms, struct text *body)
{
	const CURLcode done[] = {
		curl_easy_setopt(curl, CURLOPT_URL, url),
		curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http"),
		/* It is this machine, or one that the file names. */
		curl_easy_setopt(curl, CURLOPT_NOPROXY, "*"),
		curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L),
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms),
		curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_part),
		curl_easy_setopt(curl, CURLOPT_WRITEDATA, body),
		set_token(curl, token),
	};

	for (size_t i = 0; i < sizeof(done) / sizeof(done[0]); i++)
		if (done[i] != CURLE_OK)
			return done[i];
	return CURLE_OK;
}

static enum once_status refuse_code(const char *url, long code,
				    struct once_error *err)
{
	if (code == 401)
		return error_set(err, ONCE_CONFIG,
				 "%s needs another admin.token than that of "
				 "this file; was the process started with "
				 "this file?",
				 url);
	return error_set(err, ONCE_TRANSIENT,
			 "%s was answered with HTTP status %ld; is it onced, "
			 "of this version?",
			 url, code);
}

static enum once_status ask(CURL *curl, const char *url, const char *token,
			    int timeout_ms, struct text *body,
			    struct once_error *err)
{
	CURLcode result = set_up(curl, url, token, timeout_ms, body);
	long code = 0;

	if (result == CURLE_OK)
		result = curl_easy_perform(curl);
	if (result != CURLE_OK)
		return error_set(err, ONCE_TRANSIENT,
				 "no process answers at %s: %s; does it run "
				 "here, with this file?",
				 url, curl_easy_strerror(result));
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
	return code == 200 ? ONCE_OK : refuse_code(url, code, err);
}

enum once_status client_fetch(const char *listen, const char *token,
			      const char *path, int timeout_ms,
			      struct text *body, struct once_error *err)
{
	scoped_text struct text url = { 0 };
	enum once_status status;
	CURL *curl;

	if (!client_url(listen, path, &url))
		return error_set(err, ONCE_CONFIG,
				 "admin.listen is \"%s\": the process can't be "
				 "asked; give it an address, such as "
				 "127.0.0.1:9464",
				 listen);
	curl = curl_easy_init();
	if (curl == NULL)
		return error_no_memory(err);
	status = ask(curl, url.data, token, timeout_ms, body, err);
	curl_easy_cleanup(curl);
	return status;
}
