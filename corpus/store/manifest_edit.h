/* Edits of the manifest: as bytes, and applied to a version. */
#pragma once

#include "manifest.h"

void edit_encode(struct bytes *into, const struct edit *edit, uint64_t next_file);
void version_apply(struct version *version, const struct edit *edit);

/* False if the record is no edit. */
bool version_apply_encoded(struct version *version, struct slice record);
