/* Telling the log of objects that come and go. */
#ifndef POWERCUT_GUARD_OBJECTS_H
#define POWERCUT_GUARD_OBJECTS_H

#include "interpose/objects.h"
#include "log_format.h"

void pc_object(enum pc_guard_kind kind, struct object_id id, const void *site);

#endif
