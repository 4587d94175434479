/* Growing byte strings, the encoding of numbers and strings in files, and the checksum of records and blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that belong to somebody else. */
struct slice {
    const uint8_t *data;
    size_t length;
};

/* Bytes that grow. All zeros is the empty string. */
struct bytes {
    uint8_t *data;
    size_t length;
    size_t capacity;
};

/* Decodes from the front. Once something does not fit, `bad` is set and everything read is zero or empty. */
struct decoder {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

void bytes_clear(struct bytes *bytes);
void bytes_free(struct bytes *bytes);
void bytes_reserve(struct bytes *bytes, size_t more);
void bytes_add(struct bytes *bytes, const void *data, size_t length);
void bytes_add_u8(struct bytes *bytes, uint8_t value);
void bytes_add_u32(struct bytes *bytes, uint32_t value);
void bytes_add_u64(struct bytes *bytes, uint64_t value);
void bytes_add_slice(struct bytes *bytes, struct slice slice); /* with its length in front */
struct slice bytes_slice(const struct bytes *bytes);

/* Replaces the content. */
void bytes_set(struct bytes *bytes, struct slice slice);

struct slice slice_of(const char *text);
int slice_compare(struct slice a, struct slice b);

struct decoder decoder_of(struct slice slice);
uint8_t decode_u8(struct decoder *decoder);
uint32_t decode_u32(struct decoder *decoder);
uint64_t decode_u64(struct decoder *decoder);
struct slice decode_slice(struct decoder *decoder);

/* CRC-32 (IEEE) of some bytes, continued from an earlier one; 0 starts. */
uint32_t checksum(uint32_t before, const void *data, size_t length);
