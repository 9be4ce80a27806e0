/* kafka_properties.h - which of librdkafka's properties a user may set. */
#ifndef ONCED_KAFKA_PROPERTIES_H
#define ONCED_KAFKA_PROPERTIES_H

#include "config.h"
#include "config_faults.h"

/* Each property, and those that depend on each other. `check` may be NULL. */
void kafka_properties_check(const struct kafka_config *kafka,
			    config_property_check_f *check, void *arg,
			    struct faults *faults);

#endif
