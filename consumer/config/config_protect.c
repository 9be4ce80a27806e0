/*
 * Encryption that proves nothing, passwords that are sent as they are, pages
 * that anybody may read, files that anybody may write. All of it may be meant
 * so, in a network or on a machine of one's own; so it is told, with its name,
 * and refused only where whoever likes could run code here.
 */
#include "config_protect.h"

#include "plain_file.h"

#include <string.h>
#include <strings.h>

/* ---- files ---- */

static void check_writers(const char *path, bool folder, struct place place,
			  struct faults *faults)
{
	struct once_error err;
	enum once_status status = plain_file_check_writers(path, folder, &err);

	if (status == ONCE_CONFIG)
		faults_add(faults, place, "%s", err.text);
	else if (status != ONCE_OK)
		faults_warn(faults, place, "%s", err.text);
}

/* Its folder may be one that others fill, such as an emptyDir; so that is only
 * said. */
void config_check_file(const char *path, struct faults *faults)
{
	struct place nowhere = { 0 };
	struct once_error err;

	check_writers(path, false, nowhere, faults);
	if (plain_file_check_writers(path, true, &err) == ONCE_CONFIG)
		faults_warn(faults, nowhere, "%s", err.text);
}

static void check_plugins(const struct config *cfg,
			  const struct tree_node *root, struct faults *faults)
{
	const struct tree_node *list = tree_find(root, "handlers");
	const struct tree_node *route = list == NULL ? NULL : list->children;

	for (size_t i = 0; i < cfg->route_count && route != NULL; i++) {
		const struct tree_node *plugin = tree_find(route, "plugin");

		if (plugin != NULL && cfg->routes[i].plugin != NULL) {
			check_writers(cfg->routes[i].plugin, false,
				      plugin->place, faults);
			check_writers(cfg->routes[i].plugin, true,
				      plugin->place, faults);
		}
		route = route->next;
	}
}

/* ---- Kafka ---- */

static const struct name_value *find_given(const struct kafka_config *kafka,
					   const char *name)
{
	for (size_t i = 0; i < kafka->property_count; i++)
		if (strcmp(kafka->properties[i].name, name) == 0)
			return &kafka->properties[i];
	return NULL;
}

/* Values are words, which librdkafka takes in any case. */
static bool is_one_of(const struct name_value *given, const char *const *words)
{
	for (; given != NULL && *words != NULL; words++)
		if (strcasecmp(given->value, *words) == 0)
			return true;
	return false;
}

static void warn(const struct name_value *given, const char *text,
		 struct faults *faults)
{
	struct place place = { given->line, given->column };

	faults_warn(faults, place, "kafka.properties: %s", text);
}

static bool is_this_machine(const char *address)
{
	return strncmp(address, "127.", 4) == 0 ||
	       strncmp(address, "localhost", 9) == 0 ||
	       strncmp(address, "[::1]", 5) == 0 || strcmp(address, "::1") == 0;
}

/* All of a list. */
static bool are_this_machine(const char *brokers)
{
	while (brokers != NULL && *brokers != '\0') {
		if (!is_this_machine(brokers))
			return false;
		brokers = strchr(brokers, ',');
		brokers = brokers == NULL ? NULL : brokers + 1;
	}
	return true;
}

static void check_tls(const struct kafka_config *kafka, struct faults *faults)
{
	static const char *const off[] = { "false", "f", "0", NULL };
	static const char *const none[] = { "none", NULL };
	const struct name_value *verify =
		find_given(kafka, "enable.ssl.certificate.verification");
	const struct name_value *name =
		find_given(kafka, "ssl.endpoint.identification.algorithm");

	if (is_one_of(verify, off))
		warn(verify,
		     "enable.ssl.certificate.verification=false takes any "
		     "server for a broker, and sends it the password; leave it "
		     "out, and name the authority with ssl.ca.location",
		     faults);
	if (is_one_of(name, none))
		warn(name,
		     "ssl.endpoint.identification.algorithm=none takes a "
		     "certificate of any host; leave it out, and list the "
		     "brokers by the names that their certificates have",
		     faults);
}

static void check_login(const struct kafka_config *kafka, struct faults *faults)
{
	static const char *const with_sasl[] = { "sasl_plaintext", "sasl_ssl",
						 NULL };
	static const char *const open[] = { "sasl_plaintext", NULL };
	static const char *const readable[] = { "PLAIN", "OAUTHBEARER", NULL };
	const struct name_value *protocol =
		find_given(kafka, "security.protocol");
	const struct name_value *mechanism =
		find_given(kafka, "sasl.mechanism");
	const struct name_value *password = find_given(kafka, "sasl.password");

	if (mechanism == NULL)
		mechanism = find_given(kafka, "sasl.mechanisms");
	if (password != NULL && !is_one_of(protocol, with_sasl))
		warn(password,
		     "sasl.password isn't used: security.protocol has no SASL; "
		     "write security.protocol=SASL_SSL",
		     faults);
	if (is_one_of(protocol, open) && is_one_of(mechanism, readable) &&
	    !are_this_machine(kafka->brokers))
		warn(protocol,
		     "security.protocol=SASL_PLAINTEXT sends the password or "
		     "token as it is over the network; write SASL_SSL",
		     faults);
}

/* It is a line for a shell; whoever writes this file decides what it does. */
static void check_shell(const struct kafka_config *kafka, struct faults *faults)
{
	const struct name_value *command =
		find_given(kafka, "sasl.kerberos.kinit.cmd");

	if (command != NULL && command->value[0] != '\0')
		warn(command,
		     "sasl.kerberos.kinit.cmd is given to a shell, with the "
		     "rights of this process; better let kinit or k5start run "
		     "beside it",
		     faults);
}

/* ---- the database, the pages ---- */

static struct place place_in(const struct tree_node *root, const char *section,
			     const char *key)
{
	const struct tree_node *node = tree_find(root, section);
	const struct tree_node *member =
		node == NULL ? NULL : tree_find(node, key);

	return member == NULL ? root->place : member->place;
}

static void check_database(const struct config *cfg,
			   const struct tree_node *root, struct faults *faults)
{
	char sslmode[32];

	if (cfg->database.conninfo == NULL ||
	    !once_conninfo_is_exposed(cfg->database.conninfo, sslmode,
				      sizeof(sslmode)))
		return;
	faults_warn(faults, place_in(root, "database", "conninfo"),
		    "the database is on another machine, and sslmode=%s "
		    "doesn't prove that it is the right one; write "
		    "sslmode=verify-full, with sslrootcert",
		    sslmode[0] == '\0' ? "prefer" : sslmode);
}

static void check_admin(const struct config *cfg, const struct tree_node *root,
			struct faults *faults)
{
	const char *warning = config_admin_warning(cfg);

	if (warning != NULL)
		faults_warn(faults, place_in(root, "admin", "listen"), "%s",
			    warning);
}

void config_check_protection(const struct config *cfg,
			     const struct tree_node *root,
			     struct faults *faults)
{
	check_tls(&cfg->kafka, faults);
	check_login(&cfg->kafka, faults);
	check_shell(&cfg->kafka, faults);
	check_database(cfg, root, faults);
	check_admin(cfg, root, faults);
	check_plugins(cfg, root, faults);
}
