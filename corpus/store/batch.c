/* A batch: changes that become visible and durable together, each with its own sequence number. */
#include "batch.h"

void entry_encode(struct bytes *into, const struct entry *entry) {
    bytes_add_u8(into, (uint8_t)entry->kind);
    bytes_add_u64(into, entry->sequence);
    bytes_add_slice(into, entry->key);
    bytes_add_slice(into, entry->value);
}

struct entry entry_decode(struct decoder *decoder) {
    struct entry entry;
    uint8_t kind = decode_u8(decoder);
    decoder->bad |= kind > CHANGE_PUT;
    entry.kind = kind == CHANGE_PUT ? CHANGE_PUT : CHANGE_DELETE;
    entry.sequence = decode_u64(decoder);
    entry.key = decode_slice(decoder);
    entry.value = decode_slice(decoder);
    return entry;
}

/* In a batch the sequence counts from 0; where it starts is said when it is written. */
static void add_change(struct batch *batch, enum change_kind kind, struct slice key, struct slice value) {
    struct entry entry = {key, batch->count++, kind, value};
    entry_encode(&batch->changes, &entry);
}

void batch_put(struct batch *batch, struct slice key, struct slice value) {
    add_change(batch, CHANGE_PUT, key, value);
}

void batch_delete(struct batch *batch, struct slice key) {
    add_change(batch, CHANGE_DELETE, key, slice_of(""));
}

void batch_clear(struct batch *batch) {
    bytes_clear(&batch->changes);
    batch->count = 0;
}

void batch_free(struct batch *batch) {
    bytes_free(&batch->changes);
    batch->count = 0;
}
