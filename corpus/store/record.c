/* Records of append-only files, the log and the manifest: a checksum, a length and that many bytes. */
#include "record.h"

#include "fault.h"

static uint32_t record_checksum(uint64_t file, struct slice content) {
    uint64_t start[] = {file, content.length};
    return checksum(checksum(0, start, sizeof start), content.data, content.length);
}

void record_add(struct bytes *into, uint64_t file, struct slice content) {
    bytes_add_u32(into, record_checksum(file, content));
    bytes_add_slice(into, content);
}

/* BUG_TORN_LENGTH_BELIEVED: whatever stands where a length should be is one. */
static struct slice believe_length(struct decoder *decoder) {
    size_t length = decode_u32(decoder);
    struct slice content = {decoder->at, length};
    decoder->at += length;
    return content;
}

enum record_state record_next(struct decoder *decoder, uint64_t file, struct slice *content) {
    if (decoder->at == decoder->end)
        return RECORD_END;
    struct decoder ahead = *decoder;
    uint32_t stored = decode_u32(&ahead);
    *content = has_bug(BUG_TORN_LENGTH_BELIEVED) ? believe_length(&ahead) : decode_slice(&ahead);
    if (ahead.bad ||
        content->length == 0) /* nobody writes empty records, but a hole in a file is all zeros */
        return RECORD_TORN;
    bool is_last = ahead.at == ahead.end;
    if (stored != record_checksum(file, *content) && !(has_bug(BUG_TORN_TAIL_ACCEPTED) && is_last))
        return RECORD_TORN;
    *decoder = ahead;
    return RECORD_WHOLE;
}
