#include "guard/effects.h"
#include "guard/authorship.h"

#include <string.h>
#include <unistd.h>

struct page {
    char image[PC_PAGE];
    bool known[PC_PAGE]; /* who wrote the byte */
};

void pc_effects_make(struct pc_effects *effects, const int *bases) {
    *effects = (struct pc_effects){.pages = {.size = sizeof(struct page)}, .bases = bases};
}

void pc_effects_free(struct pc_effects *effects) {
    pc_pages_free(&effects->pages);
    free(effects->bits);
}

static struct page *page_of(struct pc_effects *effects, unsigned pool, uint64_t offset) {
    bool is_new;
    struct page *page = pc_page_of(&effects->pages, pool, offset, &is_new);
    off_t start = (off_t)(offset / PC_PAGE * PC_PAGE);
    /* What lies behind the end of a base is zero. */
    if (page && is_new && pread(effects->bases[pool], page->image, PC_PAGE, start) < 0)
        return NULL;
    return page;
}

static bool make_room(struct pc_effects *effects, uint64_t bits) {
    uint64_t needed = (effects->count + bits + 7) / 8;
    if (needed <= effects->room)
        return true;
    uint64_t room = 2 * needed + 4096;
    unsigned char *larger = realloc(effects->bits, room);
    if (!larger)
        return false;
    memset(larger + effects->room, 0, room - effects->room);
    effects->bits = larger;
    effects->room = room;
    return true;
}

/* Bytes of a range up to the end of a page. */
static uint64_t in_page(uint64_t offset, uint64_t left) {
    uint64_t room = PC_PAGE - offset % PC_PAGE;
    return left < room ? left : room;
}

static enum pc_author author_of(const struct pc_guard_record *record) {
    if ((record->flags & (PC_GUARD_LIBRARY | PC_GUARD_RESTORE)) || record->kind == PC_GUARD_FOUND)
        return PC_AUTHOR_UNKNOWN;
    return record->flags & PC_GUARD_CHANGES ? PC_AUTHOR_CHANGER : PC_AUTHOR_KNOWN;
}

uint64_t pc_effects_add(struct pc_effects *effects, const struct pc_guard_record *record, const char *data) {
    uint64_t bits = effects->count;
    if (!make_room(effects, record->size))
        return UINT64_MAX;
    enum pc_author author = author_of(record);
    bool fill = record->kind == PC_GUARD_FILL;
    for (uint64_t at = 0, size; at < record->size; at += size) {
        uint64_t offset = record->offset + at;
        struct page *page = page_of(effects, record->pool, offset);
        if (!page)
            return UINT64_MAX;
        char *there = page->image + offset % PC_PAGE;
        bool *known = page->known + offset % PC_PAGE;
        size = in_page(offset, record->size - at);
        for (uint64_t i = 0; i < size; i++) {
            char now = data[fill ? 0 : at + i];
            if (!pc_is_new_version(there[i] == now, known[i], author))
                continue;
            there[i] = now;
            known[i] = author != PC_AUTHOR_UNKNOWN;
            effects->bits[(bits + at + i) / 8] |= (unsigned char)(1u << (bits + at + i) % 8);
        }
    }
    effects->count += record->size;
    return bits;
}

bool pc_effects_forget(struct pc_effects *effects, const struct pc_guard_record *record) {
    for (uint64_t at = 0, size; at < record->size; at += size) {
        uint64_t offset = record->offset + at;
        struct page *page = page_of(effects, record->pool, offset);
        if (!page)
            return false;
        size = in_page(offset, record->size - at);
        memset(page->known + offset % PC_PAGE, 0, size);
    }
    return true;
}

uint64_t pc_effects_run(const struct pc_effects *effects, uint64_t bits, uint64_t from, uint64_t size,
                        bool *effective) {
    uint64_t at = from;
    *effective = effects->bits[(bits + from) / 8] >> (bits + from) % 8 & 1;
    while (at < size && (effects->bits[(bits + at) / 8] >> (bits + at) % 8 & 1) == *effective)
        at++;
    return at - from;
}
