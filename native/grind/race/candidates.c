/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a load has found a pending store. After: it is counted, and if its pair of sites has not had its
 * share yet, a CANDIDATE record stands in the trace and what is needed to meet it again on the board.
 */
#include "candidates.h"

#include "pub_tool_hashtable.h"
#include "race.h"
#include "stacks.h"
#include "thread_states.h"

/* How often a pair of sites has been recorded: by other threads, by the same. */
struct pair {
    struct pair *next;
    UWord key;
    UInt inter, intra;
};

/* A candidate, as long as its store may get lost. */
struct candidate {
    const struct pc_shadow_line *line;
    ULong offset;  /* of the first byte, in the file */
    UInt position; /* of the store, in the line */
    UShort file;
    UChar size;
};

static VgHashTable *pairs;
static struct candidate *candidates; /* by number - 1 */
static UInt count, room;

static struct pair *pair_of(const struct pc_access_site *load, const struct pc_access_site *store) {
    static struct pair *last;
    UWord key = (ULong)load->number << 32 | store->number;
    if (last != NULL && last->key == key)
        return last;
    if (pairs == NULL)
        pairs = VG_(HT_construct)("powercut.pairs");
    last = VG_(HT_lookup)(pairs, key);
    if (last == NULL) {
        last = VG_(calloc)("powercut.pair", 1, sizeof(*last));
        last->key = key;
        VG_(HT_add_node)(pairs, last);
    }
    return last;
}

/* How often its pair can still be recorded. */
static UInt left_of(const struct pair *pair, Bool inter) {
    return inter ? pc_board->plan.most_inter - pair->inter : pc_board->plan.most_intra - pair->intra;
}

Bool pc_candidate_is_due(const struct pc_load *load, const struct pc_pending_store *store) {
    return left_of(pair_of(load->site, store->site), store->thread != pc_self()->index) > 0;
}

/* Counts it; False: its pair has been recorded often enough. */
static Bool is_wanted(const struct pc_load *load, const struct pc_pending_store *store) {
    Bool inter = store->thread != pc_self()->index;
    struct pair *pair = pair_of(load->site, store->site);
    *(inter ? &pc_board->inter : &pc_board->intra) += 1;
    if (left_of(pair, inter) > 0) {
        *(inter ? &pair->inter : &pair->intra) += 1;
        return True;
    }
    *(inter ? &pc_board->inter_dropped : &pc_board->intra_dropped) += 1;
    return False;
}

static void tell(const struct pc_load *load, const struct pc_pending_store *store,
                 const struct candidate *candidate) {
    if (count > PC_BOARD_CANDIDATES)
        return;
    pc_board->candidates[count - 1] = (struct pc_board_candidate){.offset = candidate->offset,
                                                                  .file = pc_file_index(candidate->file),
                                                                  .size = candidate->size,
                                                                  .load_site = pc_site_told(load->site),
                                                                  .store_site = pc_site_told(store->site),
                                                                  .reader = pc_self()->index,
                                                                  .writer = store->thread,
                                                                  .load_occurrence = load->occurrence,
                                                                  .store_occurrence = store->occurrence};
    pc_board->candidate_count = count;
}

pc_labels pc_candidate(struct pc_load *load, const struct pc_shadow_line *line,
                       const struct pc_pending_store *store, ULong offset, ULong mask) {
    if (!is_wanted(load, store))
        return 0;
    if (count == room) {
        room = room == 0 ? 256 : room * 2;
        candidates = VG_(realloc)("powercut.candidates", candidates, room * sizeof(*candidates));
    }
    UInt first = (UInt)__builtin_ctzll(mask), last = 63 - (UInt)__builtin_clzll(mask);
    struct candidate *candidate = &candidates[count++];
    *candidate = (struct candidate){.line = line,
                                    .offset = (offset & ~(ULong)(PC_LINE - 1)) + first,
                                    .position = store->position,
                                    .file = load->range->file,
                                    .size = (UChar)(last - first + 1)};
    tell(load, store, candidate);
    if (load->stack == 0)
        load->stack = pc_stack(load->site->pc);
    pc_put_one(load->range->file, (struct pc_memory){.value = count,
                                                     .offset = candidate->offset,
                                                     .stack = load->stack,
                                                     .file = load->range->file,
                                                     .kind = PC_MEMORY_CANDIDATE,
                                                     .size = candidate->size});
    return pc_labels_one(count);
}

Bool pc_candidate_is_over(ULong number) {
    return number == 0 || number > count ||
           candidates[number - 1].position <= candidates[number - 1].line->guaranteed;
}

Bool pc_candidate_is_at(ULong number, UInt file, ULong offset, UInt size) {
    const struct candidate *candidate = &candidates[number - 1];
    return number != 0 && number <= count && candidate->file == file && offset >= candidate->offset &&
           offset + size <= candidate->offset + candidate->size;
}
