/* The cache lines of a lint pass: a hash table of all that were touched, and records of those that are dirty.
 *
 * The table is one of its own, not hash_table.h's: four neighbouring lines share a cache line of it, it lies
 * on large pages, and records know their slots, which a growing table must tell them.
 *
 * Records never move and are used again once their line is persistent: mostly that is soon, so few are needed
 * and the same ones stay in the processor's cache.
 */
#include "lint/lint.h"

#include <string.h>
#include <sys/mman.h>

#define FIRST_BITS     12u
#define MOST_BITS      31u
#define CHUNK          (1u << LINT_CHUNK_BITS)
#define CHUNKS_AT_ONCE 1024u

static struct lint_line *free_slot(const struct lint_lines *lines, uint64_t key) {
    uint32_t mask = (1u << lines->bits) - 1, at = pc_lint_slot(lines, key);
    while (lines->slots[at].key != 0) {
        at = (at + 1) & mask;
    }
    return &lines->slots[at];
}

static size_t table_size(uint32_t bits) {
    return sizeof(struct lint_line) << bits;
}

/* Empty slots, on large pages where there are some: look-ups jump all over the table. */
static struct lint_line *new_table(uint32_t bits) {
    void *table = mmap(NULL, table_size(bits), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) {
        return NULL;
    }
    madvise(table, table_size(bits), MADV_HUGEPAGE);
    return table;
}

static bool grow(struct lint_lines *lines) {
    struct lint_lines larger = *lines;
    larger.bits = lines->slots == NULL ? FIRST_BITS : lines->bits + 1;
    if (larger.bits > MOST_BITS) {
        return false;
    }
    larger.slots = new_table(larger.bits);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t at = 0; lines->slots != NULL && at < (size_t)1 << lines->bits; at++) {
        if (lines->slots[at].key != 0) {
            struct lint_line *slot = free_slot(&larger, lines->slots[at].key);
            *slot = lines->slots[at];
            if ((slot->state & LINT_DIRTY) != 0) {
                pc_lint_dirty(lines, slot->state & LINT_DIRTY)->slot = (uint32_t)(slot - larger.slots);
            }
        }
    }
    if (lines->slots != NULL) {
        munmap(lines->slots, table_size(lines->bits));
    }
    *lines = larger;
    return true;
}

void pc_lint_lines_start(struct lint *lint) {
    if (!grow(&lint->lines)) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
    }
}

struct lint_line *pc_lint_line_add(struct lint *lint, uint64_t key) {
    struct lint_lines *lines = &lint->lines;
    if (2 * (uint64_t)lines->count >= (uint64_t)1 << lines->bits && !grow(lines)) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
        return NULL;
    }
    struct lint_line *line = free_slot(lines, key);
    line->key = key;
    lines->count++;
    return line;
}

/* A record that nobody uses; 0 without memory. Its lifetime tells it from those it was before. */
static uint32_t take_record(struct lint_lines *lines) {
    uint32_t number = lines->dirty_free;
    if (number != 0) {
        lines->dirty_free = pc_lint_dirty(lines, number)->next;
        return number;
    }
    number = lines->dirty_used + 1; /* 0 means none */
    uint32_t chunk = number >> LINT_CHUNK_BITS;
    if (number > LINT_DIRTY) {
        return 0;
    }
    if (number == 1 || number % CHUNK == 0) {
        if (chunk % CHUNKS_AT_ONCE == 0) {
            size_t room = (size_t)chunk + CHUNKS_AT_ONCE;
            struct lint_dirty **larger = realloc(lines->chunks, room * sizeof(*larger));
            if (larger == NULL) {
                return 0;
            }
            lines->chunks = larger;
            memset(larger + chunk, 0, CHUNKS_AT_ONCE * sizeof(*larger));
        }
        lines->chunks[chunk] = calloc(CHUNK, sizeof(**lines->chunks));
        if (lines->chunks[chunk] == NULL) {
            return 0;
        }
    }
    lines->dirty_used = number;
    return number;
}

static void link_to_file(struct lint *lint, struct lint_dirty *dirty, uint32_t number, uint32_t file) {
    struct lint_file *owner = &lint->files[file];
    dirty->file = file;
    dirty->previous = 0;
    dirty->next = owner->dirty;
    if (owner->dirty != 0) {
        pc_lint_dirty(&lint->lines, owner->dirty)->previous = number;
    }
    owner->dirty = number;
    owner->dirty_count++;
}

static void unlink_from_file(struct lint *lint, struct lint_dirty *dirty) {
    struct lint_file *owner = &lint->files[dirty->file];
    if (dirty->previous != 0) {
        pc_lint_dirty(&lint->lines, dirty->previous)->next = dirty->next;
    } else {
        owner->dirty = dirty->next;
    }
    if (dirty->next != 0) {
        pc_lint_dirty(&lint->lines, dirty->next)->previous = dirty->previous;
    }
    owner->dirty_count--;
}

struct lint_dirty *pc_lint_dirty_add(struct lint *lint, struct lint_line *line, uint32_t file) {
    uint32_t number = take_record(&lint->lines);
    if (number == 0) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
        return NULL;
    }
    struct lint_dirty *dirty = pc_lint_dirty(&lint->lines, number);
    dirty->bytes = dirty->cached = dirty->settled = 0;
    dirty->slot = (uint32_t)(line - lint->lines.slots);
    dirty->stores = dirty->overwrites = dirty->pending_count = 0;
    link_to_file(lint, dirty, number, file);
    line->state |= number;
    return dirty;
}

void pc_lint_dirty_drop(struct lint *lint, struct lint_dirty *dirty) {
    struct lint_line *line = &lint->lines.slots[dirty->slot];
    uint32_t number = line->state & LINT_DIRTY;
    pc_lint_overwrites_end(lint, dirty, false);
    unlink_from_file(lint, dirty);
    line->state &= ~LINT_DIRTY;
    dirty->bytes = 0;
    dirty->lifetime++;
    dirty->next = lint->lines.dirty_free;
    lint->lines.dirty_free = number;
}

struct lint_pending *pc_lint_pending_add(struct lint *lint, struct lint_dirty *dirty, uint32_t thread) {
    if (dirty->pending_count == LINT_OWN_PENDING + dirty->more_room) {
        uint32_t room = 2 * dirty->more_room + 6;
        struct lint_pending *larger = realloc(dirty->more, room * sizeof(*larger));
        if (larger == NULL) {
            pc_lint_fail(lint, LINT_NO_MEMORY, "");
            return &dirty->own[0];
        }
        dirty->more = larger;
        dirty->more_room = room;
    }
    struct lint_pending *pending = pc_lint_pending(dirty, dirty->pending_count++);
    *pending = (struct lint_pending){.thread = thread};
    return pending;
}

void pc_lint_overwrite_add(struct lint *lint, struct lint_dirty *dirty, uint32_t first, uint32_t second) {
    struct lint_lines *lines = &lint->lines;
    for (uint32_t at = dirty->overwrites; at != 0; at = lines->overwrites[at].next) {
        if (lines->overwrites[at].first == first && lines->overwrites[at].second == second) {
            lines->overwrites[at].count++;
            return;
        }
    }
    uint32_t number = lines->overwrite_free;
    if (number != 0) {
        lines->overwrite_free = lines->overwrites[number].next;
    } else {
        number = lines->overwrite_used + 1;
        if (number >= lines->overwrite_room) {
            uint32_t room = 2 * lines->overwrite_room + 64;
            struct lint_overwrite *larger = realloc(lines->overwrites, room * sizeof(*larger));
            if (larger == NULL) {
                pc_lint_fail(lint, LINT_NO_MEMORY, "");
                return;
            }
            lines->overwrites = larger;
            lines->overwrite_room = room;
        }
        lines->overwrite_used = number;
    }
    lines->overwrites[number] = (struct lint_overwrite){first, second, 1, dirty->overwrites};
    dirty->overwrites = number;
}

void pc_lint_overwrites_end(struct lint *lint, struct lint_dirty *dirty, bool found) {
    struct lint_lines *lines = &lint->lines;
    while (dirty->overwrites != 0) {
        uint32_t number = dirty->overwrites;
        struct lint_overwrite *note = &lines->overwrites[number];
        if (found) {
            pc_lint_site(lint, LINT_OVERWRITE, dirty->file, note->second, note->first)->count += note->count;
        }
        dirty->overwrites = note->next;
        note->next = lines->overwrite_free;
        lines->overwrite_free = number;
    }
}

void pc_lint_lines_free(struct lint *lint) {
    struct lint_lines *lines = &lint->lines;
    for (uint32_t number = 1; number <= lines->dirty_used; number++) {
        free(pc_lint_dirty(lines, number)->more);
    }
    for (uint32_t chunk = 0; lines->dirty_used != 0 && chunk <= lines->dirty_used >> LINT_CHUNK_BITS;
         chunk++) {
        free(lines->chunks[chunk]);
    }
    free(lines->chunks);
    if (lines->slots != NULL) {
        munmap(lines->slots, table_size(lines->bits));
    }
    free(lines->overwrites);
}
