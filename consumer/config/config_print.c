/*
 * The table written out: as help, and as the configuration in effect. A value
 * is shown only if it stands in the file itself and its option holds no secret.
 */
#include "bytes.h"
#include "config.h"
#include "config_options.h"
#include "config_secret.h"
#include "config_value.h"

#include <string.h>

static const char set[] = "\"(set)\"";

struct printer {
	const void *base; /* the struct that has the fields */
	uint64_t hidden;  /* of that struct */
	int indent;
	FILE *out;
};

static void print_section(const struct printer *printer, const char *prefix);

/* ---- values ---- */

static const void *field_of(const struct printer *printer, size_t offset)
{
	return (const char *)printer->base + offset;
}

static int64_t number_of(const struct printer *printer,
			 const struct config_option *option)
{
	unsigned small;
	int64_t number;

	if (option->size == sizeof(small)) {
		memcpy(&small, field_of(printer, option->offset),
		       sizeof(small));
		return small;
	}
	memcpy(&number, field_of(printer, option->offset), sizeof(number));
	return number;
}

static void print_quoted(const char *value, FILE *out)
{
	struct text text scoped_text = { 0 };

	text_add_json(&text, bytes_text(value));
	fputs(text.data == NULL ? set : text.data, out);
}

static void print_text(const struct printer *printer,
		       const struct config_option *option)
{
	struct text shown scoped_text = { 0 };
	const char *value;

	memcpy(&value, field_of(printer, option->offset), sizeof(value));
	if (value == NULL)
		fprintf(printer->out, "# %s", option->value);
	else if ((option->flags & CONFIG_SECRET) == 0 || value[0] == '\0')
		print_quoted(value, printer->out);
	else if (option->kind == CONFIG_TOKEN)
		fputs(set, printer->out);
	else {
		secret_redact_conninfo(&shown, value);
		print_quoted(shown.data == NULL ? "" : shown.data,
			     printer->out);
	}
}

static void print_number(const struct printer *printer,
			 const struct config_option *option)
{
	int64_t number = number_of(printer, option);
	char text[VALUE_SIZE];
	const char *word;
	size_t size;

	if (option->kind != CONFIG_WORD) {
		value_format_number(option->kind, number, text);
		fputs(text, printer->out);
		return;
	}
	word = config_word_at(option->words, (size_t)number, &size);
	if (word != NULL)
		fprintf(printer->out, "%.*s", (int)size, word);
}

/* ---- lists ---- */

static void print_pair(const char *name, size_t size, bool secret,
		       const char *value, FILE *out)
{
	struct text pair scoped_text = { 0 };

	text_add(&pair, name, size);
	text_addf(&pair, "=%s", secret ? "(set)" : value);
	print_quoted(pair.data == NULL ? "(set)" : pair.data, out);
}

static void print_setting(const char *setting, bool hidden, FILE *out)
{
	struct text name scoped_text = { 0 };
	size_t size = strcspn(setting, "=");

	text_add(&name, setting, size);
	if (name.data == NULL)
		return;
	print_pair(name.data, size, hidden || secret_name(name.data),
		   setting + size + 1, out);
}

static void print_item(const struct printer *printer,
		       const struct config_option *option, size_t index)
{
	bool hidden = (printer->hidden >> config_option_index(option) & 1) != 0;
	const struct name_value *pairs;
	char *const *texts;

	if (option->kind == CONFIG_PROPERTIES) {
		memcpy(&pairs, field_of(printer, option->offset),
		       sizeof(pairs));
		print_pair(pairs[index].name, strlen(pairs[index].name),
			   pairs[index].secret, pairs[index].value,
			   printer->out);
		return;
	}
	memcpy(&texts, field_of(printer, option->offset), sizeof(texts));
	if (option->kind == CONFIG_SETTINGS)
		print_setting(texts[index], hidden, printer->out);
	else if (hidden)
		fputs(set, printer->out);
	else
		print_quoted(texts[index], printer->out);
}

static void print_list(const struct printer *printer,
		       const struct config_option *option)
{
	size_t count;

	memcpy(&count, field_of(printer, option->count), sizeof(count));
	if (count == 0)
		fputs(" []", printer->out);
	for (size_t i = 0; i < count; i++) {
		fprintf(printer->out, "\n%*s- ", printer->indent + 2, "");
		print_item(printer, option, i);
	}
	fputc('\n', printer->out);
}

/* ---- sections ---- */

static void print_routes(const struct printer *printer,
			 const struct config_option *option)
{
	const struct config *cfg = printer->base;
	char prefix[CONFIG_PREFIX_SIZE];

	config_option_prefix(option, prefix);
	fputc('\n', printer->out);
	for (size_t i = 0; i < cfg->route_count; i++) {
		struct printer inner = { .base = &cfg->routes[i],
					 .hidden = cfg->routes[i].hidden,
					 .indent = printer->indent + 4,
					 .out = printer->out };

		fprintf(printer->out, "%*s-\n", printer->indent + 2, "");
		print_section(&inner, prefix);
	}
}

static void print_inner(const struct printer *printer,
			const struct config_option *option)
{
	struct printer inner = *printer;
	char prefix[CONFIG_PREFIX_SIZE];

	config_option_prefix(option, prefix);
	inner.indent += 2;
	fputc('\n', printer->out);
	print_section(&inner, prefix);
}

static void print_value(const struct printer *printer,
			const struct config_option *option)
{
	fputc(' ', printer->out);
	if ((printer->hidden >> config_option_index(option) & 1) != 0)
		fputs(set, printer->out);
	else if (config_kind_is_text(option->kind))
		print_text(printer, option);
	else
		print_number(printer, option);
	fputc('\n', printer->out);
}

static void print_option(const struct printer *printer,
			 const struct config_option *option)
{
	fprintf(printer->out, "%*s%s:", printer->indent, "",
		config_option_key(option));
	if (option->kind == CONFIG_SECTION)
		print_inner(printer, option);
	else if (option->kind == CONFIG_ROUTES)
		print_routes(printer, option);
	else if (option->count != 0)
		print_list(printer, option);
	else
		print_value(printer, option);
}

static void print_section(const struct printer *printer, const char *prefix)
{
	for (size_t i = 0; i < config_option_count; i++)
		if (config_option_is_in(&config_options[i], prefix))
			print_option(printer, &config_options[i]);
}

void config_print(const struct config *cfg, FILE *out)
{
	struct printer printer = { .base = cfg,
				   .hidden = cfg->hidden,
				   .out = out };

	print_section(&printer, "");
}

/* ---- help ---- */

/* Words are listed with those that are available. */
static void print_words(const struct config_option *option, FILE *out)
{
	const char *word;
	size_t size;

	fputs("    one of:", out);
	for (size_t i = 0;
	     (word = config_word_at(option->words, i, &size)) != NULL; i++)
		fprintf(out, "%s %.*s", i == 0 ? "" : ",", (int)size, word);
	fputc('\n', out);
}

static void print_range(const struct config_option *option, FILE *out)
{
	char min[VALUE_SIZE];
	char max[VALUE_SIZE];

	value_format_number(option->kind, option->min, min);
	value_format_number(option->kind, option->max, max);
	fprintf(out, "    from %s to %s\n", min, max);
}

static void print_default(const struct config_option *option, FILE *out)
{
	if ((option->flags & CONFIG_REQUIRED) != 0)
		fputs(", required", out);
	else if (option->value != NULL)
		fprintf(out, ", default: %s",
			option->value[0] == '\0' ? "\"\"" : option->value);
	fputc('\n', out);
}

void config_print_options(FILE *out)
{
	for (size_t i = 0; i < config_option_count; i++) {
		const struct config_option *option = &config_options[i];

		fprintf(out, "%s: %s", option->path,
			config_kind_word(option->kind));
		print_default(option, out);
		fprintf(out, "    %s\n", option->text);
		if (option->kind == CONFIG_WORD)
			print_words(option, out);
		if (option->kind == CONFIG_COUNT ||
		    option->kind == CONFIG_DURATION ||
		    option->kind == CONFIG_RETENTION ||
		    option->kind == CONFIG_SIZE)
			print_range(option, out);
	}
}
