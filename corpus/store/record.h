/* Records of append-only files, the log and the manifest: a checksum, a length and that many bytes.
 *
 * The checksum starts from the number of the file, so that old bytes of another file are no records of this
 * one. */
#pragma once

#include "bytes.h"

enum { RECORD_HEADER = 8 };

enum record_state {
    RECORD_WHOLE,
    RECORD_END,  /* the file ends here, and nothing is cut off */
    RECORD_TORN, /* what follows is not a whole record */
};

/* Adds a record to `into`. */
void record_add(struct bytes *into, uint64_t file, struct slice content);

/* The next record. Only after RECORD_WHOLE has the decoder moved. */
enum record_state record_next(struct decoder *decoder, uint64_t file, struct slice *content);
