/* Blocks with long histories: a memory page whose words are stored to again and again, a counter in a file.
 *
 * The offsets at which updates of the block begin and end cut it into segments, within which every update
 * changes all bytes or none. Each segment has its writers in program order. Its bytes come from the last
 * writer that shows, and finding that one costs no more than the lost writers behind it:
 *
 *   - where all but the delta survived, the walk back from the newest writer passes members of the delta
 * only;
 *   - where only guaranteed updates and the delta survived, the last guaranteed writer is found by bisection
 *     (`soonest` is sorted), and the delta is looked at once, whichever of delta and waiting writers is
 * fewer.
 *
 * So a block of 100,000 stores costs as much as the number of its words and the size of the difference.
 * Segments are made on demand, `soonest` only when a state asks for it, and dropped together when they get
 * large. */
#include "history.h"

/* Of all segments of a timeline: some megabytes, and enough for a few writers of each update. What is dropped
 * too early is made again for every state, which costs as much as the trace is long. */
#define MOST_BYTES(h)   (((size_t)48 << 20) + (size_t)(h)->update_count * 16)
#define MOST_PER_UPDATE 16 /* writers for each update; beyond, the block is not worth it */

struct segments {
    size_t bytes; /* what it takes; 0: this block is left to the walk */
    int count;    /* segment i is from edge[i] to edge[i + 1] */
    bool
        shows_lost; /* the model shows garbage, and this block has data that was behind the end of its file */
    int32_t *edge;  /* count + 1 */
    int64_t *first; /* count + 1: the writers of segment i are from first[i] to first[i + 1] */
    int32_t *writer;  /* update numbers */
    int64_t *soonest; /* the earliest guarantee of this and all later writers of the segment; NULL: unknown */
    uint16_t at[BLOCK]; /* offset -> segment */
};

static void drop(struct segments *s) {
    if (s != NULL) {
        free(s->edge);
        free(s->first);
        free(s->writer);
        free(s->soonest);
        free(s);
    }
}

void pc_drop_segments(History *h) {
    for (Py_ssize_t i = 0; h->segments != NULL && i < h->block_count; i++) {
        drop(h->segments[i]);
        h->segments[i] = NULL;
    }
    h->segment_bytes = 0;
}

/* Which bytes of a block an update can ever change; false for none. */
static bool reach(const History *h, int32_t u, int64_t low, int *first, int *last) {
    int64_t start = pc_first_byte(h, u), end = h->kind[u] == CUT ? low + BLOCK : start + h->length[u];
    int64_t from = start > low ? start : low, to = end < low + BLOCK ? end : low + BLOCK;
    *first = (int)(from - low);
    *last = (int)(to - low);
    return from < to;
}

/* All updates of a block, in program order, one after the other. */
struct merge {
    const History *history;
    int64_t d, d_end, c, c_end;
};

static bool next(struct merge *m, int32_t *update) {
    const History *h = m->history;
    if (m->d == m->d_end && m->c == m->c_end) {
        return false;
    }
    bool is_data = m->c == m->c_end || (m->d < m->d_end && h->block_updates[m->d] < h->cut_updates[m->c]);
    *update = is_data ? h->block_updates[m->d++] : h->cut_updates[m->c++];
    return true;
}

/* Finds the edges; fills `at`, `edge`, `count` and `shows_lost`. */
static bool cut_up(struct segments *s, struct merge all, int64_t low) {
    const History *h = all.history;
    bool is_edge[BLOCK + 1] = {[0] = true, [BLOCK] = true};
    int32_t u;
    while (next(&all, &u)) {
        int first, last;
        if (!reach(h, u, low, &first, &last)) {
            continue;
        }
        is_edge[first] = is_edge[last] = true;
        s->shows_lost = s->shows_lost || pc_shows_lost(h, NULL, u);
    }
    for (int offset = 0; offset < BLOCK; offset++) {
        s->count += is_edge[offset];
        s->at[offset] = (uint16_t)(s->count - 1);
    }
    s->edge = malloc((size_t)(s->count + 1) * sizeof(*s->edge));
    if (s->edge == NULL) {
        return false;
    }
    for (int offset = 0, i = 0; offset <= BLOCK; offset++) {
        if (is_edge[offset]) {
            s->edge[i++] = offset;
        }
    }
    return true;
}

/* Lists the writers of all segments; leaves `bytes` at 0 when there are too many. */
static bool list_writers(struct segments *s, struct merge all, int64_t low, int64_t updates) {
    const History *h = all.history;
    s->first = calloc((size_t)s->count + 2, sizeof(*s->first));
    if (s->first == NULL) {
        return false;
    }
    int first, last;
    int32_t u;
    for (struct merge m = all; next(&m, &u);) {
        if (reach(h, u, low, &first, &last)) {
            for (int i = s->at[first]; i < s->count && s->edge[i] < last; i++) {
                s->first[i + 2]++;
            }
        }
    }
    for (int i = 0; i < s->count; i++) {
        s->first[i + 2] += s->first[i + 1];
    }
    int64_t total = s->first[s->count + 1];
    if (total > MOST_PER_UPDATE * updates) {
        return true;
    }
    s->writer = malloc((size_t)(total + 1) * sizeof(*s->writer));
    if (s->writer == NULL) {
        return false;
    }
    for (struct merge m = all; next(&m, &u);) {
        if (reach(h, u, low, &first, &last)) {
            for (int i = s->at[first]; i < s->count && s->edge[i] < last; i++) {
                s->writer[s->first[i + 1]++] = u; /* which leaves first[i + 1] where segment i ends */
            }
        }
    }
    s->bytes = sizeof(*s) + (size_t)s->count * 12 + (size_t)total * sizeof(*s->writer);
    return true;
}

/* Fills `soonest`; false without memory. */
static bool rank_writers(struct segments *s, History *h) {
    size_t bytes = (size_t)(s->first[s->count] + 1) * sizeof(*s->soonest);
    s->soonest = malloc(bytes);
    if (s->soonest == NULL) {
        return false;
    }
    h->segment_bytes += bytes;
    for (int i = 0; i < s->count; i++) {
        int64_t soonest = INT64_MAX;
        for (int64_t w = s->first[i + 1] - 1; w >= s->first[i]; w--) {
            int64_t time = h->guaranteed[s->writer[w]];
            soonest = time < soonest ? time : soonest;
            s->soonest[w] = soonest;
        }
    }
    return true;
}

static struct segments *make(const History *h, int32_t file, int64_t block, int64_t position) {
    struct segments *s = calloc(1, sizeof(*s));
    struct span cuts = h->cut_count ? pc_owned(h, h->cut_updates, h->cut_count, file) : (struct span){0, 0};
    struct merge all = {h, h->block_first[position], h->block_first[position + 1], cuts.first, cuts.last};
    int64_t updates = all.d_end - all.d + all.c_end - all.c, low = block * BLOCK;
    if (s == NULL || !cut_up(s, all, low) || !list_writers(s, all, low, updates)) {
        drop(s);
        return NULL;
    }
    return s;
}

/* The segments of a block, made now if need be; NULL with an exception without memory. */
static struct segments *segments_of(History *h, int32_t file, int64_t block, int64_t position) {
    if (h->segments == NULL) {
        h->segments = calloc((size_t)h->block_count + 1, sizeof(*h->segments));
    } else if (h->segment_bytes > MOST_BYTES(h)) {
        pc_drop_segments(h);
    }
    if (h->segments != NULL && h->segments[position] == NULL) {
        h->segments[position] = make(h, file, block, position);
        h->segment_bytes +=
            h->segments[position] ? h->segments[position]->bytes + sizeof(struct segments) : 0;
    }
    if (h->segments == NULL || h->segments[position] == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    return h->segments[position];
}

static int64_t bisect_soonest(const struct segments *s, int64_t low, int64_t high, int64_t point) {
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->soonest[middle] <= point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1; /* the last writer that is guaranteed, or the one before all */
}

/* Walks back over writers of a segment to one that shows; -1 for none. */
static int32_t walk(const Survivors *state, const struct segments *s, int64_t newest, int64_t oldest) {
    const History *h = state->history;
    for (int64_t w = newest; w >= oldest; w--) {
        int32_t u = s->writer[w];
        if (pc_survives(state, u) || (s->shows_lost && pc_shows_lost(h, state, u))) {
            return u;
        }
    }
    return -1;
}

/* Notes members of the delta, which all survived, as the last writers of their segments. */
static void note_delta(const Survivors *state, const struct segments *s, int32_t file, int64_t low,
                       int32_t *last_writer) {
    const History *h = state->history;
    for (size_t slot = 0; slot < state->delta.size; slot++) {
        int32_t u = pc_numbers_key(&state->delta.slots[slot]); /* -1: a free one */
        bool writes = u >= 0 && u < state->issued && h->obj[u] == file &&
                      (pc_is_written(h, u) || h->kind[u] == CUT || h->kind[u] == ZERO);
        int first, last;
        if (writes && reach(h, u, low, &first, &last)) {
            for (int i = s->at[first]; i < s->count && s->edge[i] < last; i++) {
                last_writer[i] = u > last_writer[i] ? u : last_writer[i];
            }
        }
    }
}

/* Finds for each segment the last writer that shows, -1 for none; false without memory. */
static bool find_writers(const Survivors *state, struct segments *s, int32_t file, int64_t low,
                         int32_t *last_writer) {
    int64_t newest[BLOCK], sure[BLOCK], waiting = 0;
    bool bisect = state->delta_kept && !s->shows_lost;
    if (bisect && s->soonest == NULL && !rank_writers(s, state->history)) {
        PyErr_NoMemory();
        return false;
    }
    for (int i = 0; i < s->count; i++) {
        struct span all = {s->first[i], s->first[i + 1]};
        newest[i] = pc_issued_end(s->writer, all, state->issued) - 1;
        sure[i] = bisect ? bisect_soonest(s, all.first, newest[i] + 1, state->point) : all.first;
        waiting += newest[i] - sure[i];
    }
    bool by_delta = bisect && waiting >= (int64_t)state->delta.size;
    for (int i = 0; i < s->count; i++) {
        if (by_delta) {
            last_writer[i] = sure[i] >= s->first[i] ? s->writer[sure[i]] : -1;
        } else {
            int64_t oldest = sure[i] > s->first[i] ? sure[i] : s->first[i];
            last_writer[i] = walk(state, s, newest[i], oldest);
        }
    }
    if (by_delta) {
        note_delta(state, s, file, low, last_writer);
    }
    return true;
}

int pc_block_by_segments(const Survivors *state, int32_t file, int64_t block, int64_t position,
                         struct span data, uint8_t *into) {
    if (data.first == data.last) {
        return 0; /* cuts alone: the first one that survived ends the walk */
    }
    struct segments *s = segments_of(state->history, file, block, position);
    if (s == NULL || s->bytes == 0) {
        return s == NULL ? -1 : 0;
    }
    int32_t last_writer[BLOCK];
    if (!find_writers(state, s, file, block * BLOCK, last_writer)) {
        return -1;
    }
    pc_base_block(state->history, file, block, into);
    for (int i = 0; i < s->count; i++) {
        int first, last, filler, from = s->edge[i];
        size_t length = (size_t)(s->edge[i + 1] - from);
        const uint8_t *source;
        if (last_writer[i] < 0 ||
            !pc_effect(state, last_writer[i], block * BLOCK, &first, &last, &source, &filler)) {
            continue;
        }
        if (source != NULL) {
            memcpy(into + from, source + (from - first), length);
        } else {
            memset(into + from, filler, length);
        }
    }
    return 1;
}
