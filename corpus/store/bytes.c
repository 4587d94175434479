/* Growing byte strings, the encoding of numbers and strings in files, and the checksum of records and blocks.
 */
#include "bytes.h"

#include "env.h"

#include <stdlib.h>
#include <string.h>

void bytes_clear(struct bytes *bytes) {
    bytes->length = 0;
}

void bytes_free(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

void bytes_reserve(struct bytes *bytes, size_t more) {
    if (bytes->length + more <= bytes->capacity)
        return;
    size_t capacity = bytes->capacity ? bytes->capacity : 64;
    while (capacity < bytes->length + more)
        capacity *= 2;
    bytes->data = realloc(bytes->data, capacity);
    must(bytes->data != NULL, "out of memory");
    bytes->capacity = capacity;
}

void bytes_add(struct bytes *bytes, const void *data, size_t length) {
    bytes_reserve(bytes, length);
    if (length > 0)
        memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
}

void bytes_add_u8(struct bytes *bytes, uint8_t value) {
    bytes_add(bytes, &value, 1);
}

/* Little endian, whatever the machine. */
static void add_number(struct bytes *bytes, uint64_t value, size_t size) {
    uint8_t encoded[8];
    for (size_t i = 0; i < size; i++)
        encoded[i] = (uint8_t)(value >> (8 * i));
    bytes_add(bytes, encoded, size);
}

void bytes_add_u32(struct bytes *bytes, uint32_t value) {
    add_number(bytes, value, 4);
}

void bytes_add_u64(struct bytes *bytes, uint64_t value) {
    add_number(bytes, value, 8);
}

void bytes_add_slice(struct bytes *bytes, struct slice slice) {
    bytes_add_u32(bytes, (uint32_t)slice.length);
    bytes_add(bytes, slice.data, slice.length);
}

struct slice bytes_slice(const struct bytes *bytes) {
    return (struct slice){bytes->data, bytes->length};
}

void bytes_set(struct bytes *bytes, struct slice slice) {
    bytes_clear(bytes);
    bytes_add(bytes, slice.data, slice.length);
}

struct slice slice_of(const char *text) {
    return (struct slice){(const uint8_t *)text, strlen(text)};
}

int slice_compare(struct slice a, struct slice b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

struct decoder decoder_of(struct slice slice) {
    return (struct decoder){slice.data, slice.data + slice.length, false};
}

/* The next bytes; NULL if there are not so many. */
static const uint8_t *take(struct decoder *decoder, size_t length) {
    if (decoder->bad || (size_t)(decoder->end - decoder->at) < length) {
        decoder->bad = true;
        return NULL;
    }
    decoder->at += length;
    return decoder->at - length;
}

static uint64_t decode_number(struct decoder *decoder, size_t size) {
    const uint8_t *encoded = take(decoder, size);
    uint64_t value = 0;
    for (size_t i = 0; encoded != NULL && i < size; i++)
        value |= (uint64_t)encoded[i] << (8 * i);
    return value;
}

uint8_t decode_u8(struct decoder *decoder) {
    return (uint8_t)decode_number(decoder, 1);
}

uint32_t decode_u32(struct decoder *decoder) {
    return (uint32_t)decode_number(decoder, 4);
}

uint64_t decode_u64(struct decoder *decoder) {
    return decode_number(decoder, 8);
}

struct slice decode_slice(struct decoder *decoder) {
    size_t length = decode_u32(decoder);
    const uint8_t *data = take(decoder, length);
    return data != NULL ? (struct slice){data, length} : (struct slice){(const uint8_t *)"", 0};
}

static uint32_t crc_table[256];

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0);
        crc_table[i] = value;
    }
}

uint32_t checksum(uint32_t before, const void *data, size_t length) {
    if (crc_table[1] == 0)
        make_crc_table();
    uint32_t value = ~before;
    for (const uint8_t *at = data, *end = at + length; at < end; at++)
        value = (value >> 8) ^ crc_table[(value ^ *at) & 0xFF];
    return ~value;
}
