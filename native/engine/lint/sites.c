/* What a lint pass has found: one entry for each pattern, file and call stack (of one side, or of both). */
#include "lint/lint.h"

static bool make_room(struct lint_sites *sites) {
    if (sites->count + 1 < sites->room) {
        return true;
    }
    uint32_t room = sites->room == 0 ? 256 : 2 * sites->room;
    struct lint_site *larger = realloc(sites->sites, room * sizeof(*larger));
    if (larger != NULL) {
        sites->sites = larger;
        sites->room = room;
    }
    return larger != NULL;
}

struct lint_site *pc_lint_site(struct lint *lint, enum lint_pattern pattern, uint32_t file, uint32_t stack,
                               uint32_t other) {
    struct lint_sites *sites = &lint->sites;
    struct lint_place place = {pattern, file, stack, other};
    struct lint_site_slot *slot = make_room(sites) ? lint_places_take(&sites->places, place) : NULL;
    if (slot == NULL) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
        return &lint->no_site;
    }
    if (slot->number == 0) {
        *slot = (struct lint_site_slot){place, ++sites->count};
        sites->sites[sites->count] =
            (struct lint_site){.pattern = pattern, .file = file, .stack = stack, .other = other};
    }
    return &sites->sites[slot->number];
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
