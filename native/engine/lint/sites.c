/* What a lint pass has found: one entry for each pattern, file and call stack (of one side, or of both). */
#include "lint/lint.h"

static uint32_t slot_of(const struct lint_sites *sites, uint32_t pattern, uint32_t file, uint32_t stack,
                        uint32_t other) {
    uint64_t hash = ((uint64_t)stack << 32 | other) * 0x9E3779B97F4A7C15ull;
    hash = (hash ^ ((uint64_t)file << 8 | pattern)) * 0xC2B2AE3D27D4EB4Full;
    uint32_t at = (uint32_t)(hash >> 32) & sites->mask;
    for (; sites->slots[at] != 0; at = (at + 1) & sites->mask) {
        const struct lint_site *site = &sites->sites[sites->slots[at]];
        if (site->stack == stack && site->other == other && site->file == file && site->pattern == pattern) {
            break;
        }
    }
    return at;
}

static bool grow(struct lint_sites *sites) {
    uint32_t room = sites->room == 0 ? 256 : 2 * sites->room;
    struct lint_site *larger = realloc(sites->sites, room * sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    sites->sites = larger;
    uint32_t *slots = calloc((size_t)room * 2, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    free(sites->slots);
    sites->slots = slots;
    sites->mask = 2 * room - 1;
    sites->room = room;
    for (uint32_t i = 1; i <= sites->count; i++) {
        const struct lint_site *site = &larger[i];
        sites->slots[slot_of(sites, site->pattern, site->file, site->stack, site->other)] = i;
    }
    return true;
}

struct lint_site *pc_lint_site(struct lint *lint, enum lint_pattern pattern, uint32_t file, uint32_t stack,
                               uint32_t other) {
    struct lint_sites *sites = &lint->sites;
    if (sites->count + 1 >= sites->room && !grow(sites)) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
        return &lint->no_site;
    }
    uint32_t at = slot_of(sites, pattern, file, stack, other);
    if (sites->slots[at] == 0) {
        sites->slots[at] = ++sites->count;
        sites->sites[sites->count] =
            (struct lint_site){.pattern = pattern, .file = file, .stack = stack, .other = other};
    }
    return &sites->sites[sites->slots[at]];
}

void pc_lint_found(struct lint *lint, enum lint_pattern pattern, uint32_t file, uint32_t stack,
                   uint32_t first, uint32_t last, uint32_t most) {
    struct lint_site *site = pc_lint_site(lint, pattern, file, stack, 0);
    if (site->count++ == 0) {
        site->first = first;
        site->last = last;
    }
    if (most > site->most) {
        site->most = most;
    }
}
