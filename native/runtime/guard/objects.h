/* Telling the log of objects that come and go. */
#ifndef POWERCUT_GUARD_OBJECTS_H
#define POWERCUT_GUARD_OBJECTS_H

#include "interpose/objects.h"
#include "log_format.h"

#include <stddef.h>

/* The bytes of an object, as many as it may use. */
size_t pc_object_size(struct object_id id);
void pc_object(enum pc_guard_kind kind, struct object_id id, size_t size, const void *site);

#endif
