/* What a block holds in a crash state.
 *
 * Each byte comes from the newest update that shows there: surviving data, a surviving cut or hole, or data
 * that was lost behind the old end of the file, where the model shows garbage. So the history of a block is
 * walked from the newest update back, until every byte is accounted for; what no update accounts for is as in
 * the snapshot. Which updates survived is asked of each one: nothing is assumed about their order.
 *
 * A walk that gets long is left to segments.c. */
#include "history.h"

#define LONG_WALK 64

/* A block being filled: what is still open, as gaps in order. Two gaps have a filled byte between them. */
struct canvas {
    uint8_t *bytes;
    int count;
    struct {
        int from, to;
    } gap[BLOCK / 2 + 1];
};

/* Fills what is still open between two offsets. */
static void paint(struct canvas *c, int from, int to, const uint8_t *source, int filler) {
    int at = 0, high = c->count;
    while (at < high) { /* the first gap that ends behind `from` */
        int middle = (at + high) / 2;
        if (c->gap[middle].to <= from) {
            at = middle + 1;
        } else {
            high = middle;
        }
    }
    while (at < c->count && c->gap[at].from < to) {
        int low = c->gap[at].from, end = c->gap[at].to;
        int first = low > from ? low : from, last = end < to ? end : to;
        if (source != NULL) {
            memcpy(c->bytes + first, source + (first - from), (size_t)(last - first));
        } else {
            memset(c->bytes + first, filler, (size_t)(last - first));
        }
        if (low < first && last < end) {
            memmove(&c->gap[at + 1], &c->gap[at], (size_t)(c->count++ - at) * sizeof(c->gap[0]));
            c->gap[at].to = first;
            c->gap[at + 1].from = last;
            return;
        }
        if (low < first) {
            c->gap[at++].to = first;
        } else if (last < end) {
            c->gap[at].from = last;
            return;
        } else {
            memmove(&c->gap[at], &c->gap[at + 1], (size_t)(--c->count - at) * sizeof(c->gap[0]));
        }
    }
}

/* Fills what is left with the snapshot's content, and the rest with zeros. */
static void paint_base(struct canvas *c, const History *h, int32_t file, int64_t low) {
    for (Py_ssize_t i = pc_first_extent(h, file, low); c->count > 0 && i < h->extent_count; i++) {
        const struct extent *e = &h->extents[i];
        if (h->extent_owners[i] != file || e->start >= low + BLOCK) {
            break;
        }
        int64_t from = e->start > low ? e->start : low;
        int64_t to = e->start + e->length < low + BLOCK ? e->start + e->length : low + BLOCK;
        if (from < to) {
            paint(c, (int)(from - low), (int)(to - low), h->trace + e->data + (from - e->start), 0);
        }
    }
    paint(c, 0, BLOCK, NULL, 0);
}

static void start_canvas(struct canvas *c, uint8_t *bytes) {
    c->bytes = bytes;
    c->count = 1;
    c->gap[0].from = 0;
    c->gap[0].to = BLOCK;
}

void pc_base_block(const History *h, int32_t file, int64_t block, uint8_t *into) {
    struct canvas canvas;
    start_canvas(&canvas, into);
    paint_base(&canvas, h, file, block * BLOCK);
}

const uint8_t *pc_block(const Survivors *s, int32_t file, int64_t block, uint8_t *buffer) {
    const History *h = s->history;
    int64_t position, low = block * BLOCK;
    struct span data = pc_data_of(h, file, block, &position);
    struct span cuts = h->cut_count ? pc_owned(h, h->cut_updates, h->cut_count, file) : (struct span){0, 0};
    data.last = pc_issued_end(h->block_updates, data, s->issued);
    cuts.last = pc_issued_end(h->cut_updates, cuts, s->issued);
    struct canvas canvas;
    start_canvas(&canvas, buffer);
    int64_t d = data.last - 1, c = cuts.last - 1;
    for (int steps = 0; canvas.count > 0 && (d >= data.first || c >= cuts.first); steps++) {
        if (steps == LONG_WALK) {
            int done = pc_block_by_segments(s, file, block, position, data, buffer);
            if (done != 0) {
                return done < 0 ? NULL : buffer;
            }
        }
        bool is_data = c < cuts.first || (d >= data.first && h->block_updates[d] > h->cut_updates[c]);
        int32_t update = is_data ? h->block_updates[d--] : h->cut_updates[c--];
        int first, last, filler;
        const uint8_t *source;
        if (pc_effect(s, update, low, &first, &last, &source, &filler)) {
            if (source != NULL && last - first == BLOCK && canvas.count == 1 && canvas.gap[0].from == 0 &&
                canvas.gap[0].to == BLOCK) {
                return source; /* the usual case: the block was written as a whole */
            }
            paint(&canvas, first, last, source, filler);
        }
    }
    if (canvas.count > 0) {
        paint_base(&canvas, h, file, low);
    }
    return buffer;
}

int64_t pc_size(const Survivors *s, int32_t file) {
    const History *h = s->history;
    struct span cuts = h->cut_count ? pc_owned(h, h->cut_updates, h->cut_count, file) : (struct span){0, 0};
    int64_t size = h->base_sizes[file];
    int32_t cut = -1;
    for (int64_t i = pc_issued_end(h->cut_updates, cuts, s->issued) - 1; i >= cuts.first && cut < 0; i--) {
        int32_t update = h->cut_updates[i];
        if (h->kind[update] == CUT && pc_survives(s, update)) {
            cut = update;
            size = h->start[update];
        }
    }
    struct span sizes = pc_owned(h, h->size_updates, h->size_count, file);
    bool only_grows =
        cuts.first == cuts.last && h->ascending[file]; /* then the last one that survived is the largest */
    for (int64_t i = pc_issued_end(h->size_updates, sizes, s->issued) - 1; i >= sizes.first; i--) {
        int32_t update = h->size_updates[i];
        if (update < cut) {
            break;
        }
        if (h->start[update] > size && pc_survives(s, update)) {
            size = h->start[update];
            if (only_grows) {
                break;
            }
        }
    }
    return size;
}
