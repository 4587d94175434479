#include "guard/versions.h"

static enum pc_fate fate_of(const struct pc_versions *versions, uint8_t met) {
    return met < versions->most ? PC_KEPT : met == versions->most ? PC_FOLDED : PC_DROPPED;
}

bool pc_versions_reach(struct pc_versions *versions, unsigned pool, uint64_t offset, uint64_t size) {
    for (uint64_t at = offset; at < offset + size; at++) {
        bool is_new;
        uint8_t *page = pc_page_of(&versions->pages, pool, at, &is_new);
        if (!page || fate_of(versions, page[at % PC_PAGE]) == PC_DROPPED)
            return false;
    }
    return true;
}

uint64_t pc_versions_add(struct pc_versions *versions, unsigned pool, uint64_t offset, uint64_t size,
                         enum pc_fate *fate) {
    bool is_new;
    uint8_t *page = pc_page_of(&versions->pages, pool, offset, &is_new);
    if (!page)
        return 0;
    uint8_t *met = page + offset % PC_PAGE;
    uint64_t left = PC_PAGE - offset % PC_PAGE, end = size < left ? size : left, at = 0;
    *fate = fate_of(versions, met[0]);
    for (; at < end && fate_of(versions, met[at]) == *fate; at++)
        met[at] += *fate != PC_DROPPED;
    return at;
}
