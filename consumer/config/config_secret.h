/* config_secret.h - what must not be shown. When in doubt, it is a secret. */
#ifndef ONCED_CONFIG_SECRET_H
#define ONCED_CONFIG_SECRET_H

#include "text.h"

#include <stdbool.h>

/* By the name of a property or setting. */
bool secret_name(const char *name);
/* By what stands in it: it may be a URL or conninfo with a password, in a wrong
 * place. */
bool secret_value(const char *value);
/* A conninfo or URL, its passwords as "(set)"; one that can't be followed is
 * "(set)" as a whole. */
void secret_redact_conninfo(struct text *text, const char *conninfo);

#endif
