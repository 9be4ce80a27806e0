/* What libpq would refuse is refused without the value, which may be a part of
 * a password; what it takes is taken. */
#include "pg_conninfo.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *conninfo;
	const char *words; /* part of what is said */
} refused[] = {
	{ "postgresql://u:a@SECRET@h/db", "%40" },
	{ "postgresql://u:a@SECRET/x@h/db", "%40" },
	{ "postgresql://u:a@SECRET:5@h/db", "%40" },
	{ "postgresql://u:SECRET/x@h/db", "%2F" },
	{ "postgresql://u:12/SECRET@h/db", "%2F" },
	{ "postgres://u:SECRET/x", "port" },
	{ "postgresql://u:SECRET?x@h/db?user=a@b", "%40" },
	{ "postgresql://u:12?x/SECRET@h/db", "%40" },
	{ "postgresql://u:%zzSECRET@h/db", "can't be read" },
	{ "postgresql://u:p@h:SECRET/db", "port" },
	{ "postgresql://u:p@[SECRET/db", "can't be read" },
	{ "postgresql://u:p@h/db?SECRET=1", "can't be read" },
	{ "postgresql://SE CRET/db", "host" },
	{ "postgresql://h/db?sslmode=SECRET", "verify-full" },
	{ "host='SE CRET'", "host" },
	{ "host=a,b@SECRET", "host" },
	{ "host=größe", "host" },
	{ "hostaddr=SECRET", "numeric address" },
	{ "hostaddr=127.0.0.1,SECRET", "numeric address" },
	{ "port=SECRET", "from 1 to 65535" },
	{ "port=0", "from 1 to 65535" },
	{ "port=65536", "from 1 to 65535" },
	{ "port=5432,SECRET", "from 1 to 65535" },
	{ "port='5432 SECRET'", "from 1 to 65535" },
	{ "connect_timeout=SECRET", "whole number" },
	{ "keepalives=SECRET", "whole number" },
	{ "keepalives_idle=SECRET", "whole number" },
	{ "keepalives_interval=SECRET", "whole number" },
	{ "keepalives_count=SECRET", "whole number" },
	{ "tcp_user_timeout=99999999999", "whole number" },
	{ "sslmode=SECRET", "verify-full" },
	{ "sslmode=Require", "verify-full" },
	{ "sslmode=''", "verify-full" },
	{ "channel_binding=SECRET", "prefer" },
	{ "gssencmode=SECRET", "prefer" },
	{ "target_session_attrs=SECRET", "prefer-standby" },
	{ "ssl_min_protocol_version=SECRET", "TLSv1.2" },
	{ "ssl_max_protocol_version=SECRET", "TLSv1.2" },
	{ "password=a SECRET", "can't be read" },
	{ "password='SECRET", "can't be read" },
	{ "pasword=SECRET", "can't be read" },
};

START_TEST(what_libpq_would_refuse_is_refused_without_the_value)
{
	struct once_error err = { 0 };

	ck_assert_msg(once__pg_conninfo_check(refused[_i].conninfo, &err) ==
			      ONCE_CONFIG,
		      "taken: %s", refused[_i].conninfo);
	ck_assert_msg(strstr(err.text, "SECRET") == NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, refused[_i].words) != NULL, "%s: %s",
		      refused[_i].conninfo, err.text);
}
END_TEST

static const char *const taken[] = {
	"",
	"shop",
	"u@shop",
	"host=db user=a@b password=x@y/z dbname='a@b'",
	"host=/run/postgresql port=''",
	"host=@abstract",
	"host=a.b,c-d,::1,/tmp port=1,2,,65535",
	"host=fe80::1%eth0 port=' 5432 '",
	"hostaddr=127.0.0.1,::1,",
	"sslmode=verify-full channel_binding=require gssencmode=disable",
	"ssl_min_protocol_version=tlsv1.2 ssl_max_protocol_version=''",
	"target_session_attrs=read-write connect_timeout=3 keepalives=0",
	"postgresql://",
	"postgresql:///shop?host=/tmp&port=1",
	"postgresql://u:p%40%2Fq@h1:1,h2:2/shop",
	"postgresql://u:p?q#r:s@[::1]:5432/shop?sslmode=disable",
	"postgresql://%2Frun%2Fpostgresql/shop",
	"postgres://u%40tenant@h/shop",
};

START_TEST(what_libpq_takes_is_taken)
{
	struct once_error err = { 0 };

	ck_assert_msg(once__pg_conninfo_check(taken[_i], &err) == ONCE_OK,
		      "%s: %s", taken[_i], err.text);
}
END_TEST

START_TEST(a_wrong_environment_variable_is_named)
{
	struct once_error err = { 0 };

	ck_assert_int_eq(setenv("PGPORT", "SECRET", 1), 0);
	ck_assert_int_eq(once__pg_conninfo_check("host=db port=1", &err),
			 ONCE_OK);
	ck_assert_int_eq(once__pg_conninfo_check("shop", &err), ONCE_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "variable PGPORT"));
	ck_assert_ptr_null(strstr(err.text, "SECRET"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conninfo");
	TCase *tests = tcase_create("all");

	tcase_add_loop_test(
		tests, what_libpq_would_refuse_is_refused_without_the_value, 0,
		sizeof(refused) / sizeof(refused[0]));
	tcase_add_loop_test(tests, what_libpq_takes_is_taken, 0,
			    sizeof(taken) / sizeof(taken[0]));
	tcase_add_test(tests, a_wrong_environment_variable_is_named);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
