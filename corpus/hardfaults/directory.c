/* A hash table in the shape of CCEH's: a directory of segments, which is doubled when a segment has to be split and
 * there is one entry for it only. A copy of the directory in volatile memory answers; a restart reads the durable one.
 *
 *   set KEY VALUE   get KEY   double   deepen   split KEY
 *
 * Its mistakes:
 *   d1  double makes the new directory the one that counts when half of it is written
 *   d2  deepen writes a depth that the directory does not have
 *   d3  split writes the place of a segment's first slot for that of the segment
 */
#include "service.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DEPTH 4
#define MOST_DEPTH  12
#define SLOTS       48
#define MARK        0x5e65u

struct slot {
    uint32_t used, bytes;
    char key[40], value[48];
};
struct segment {
    uint64_t mark, depth;
    struct slot slots[SLOTS];
};
struct root {
    uint64_t depth, directory; /* of 1 << depth segments; an offset */
};

static struct root *root;
static uint64_t depth_now, segments[1 << MOST_DEPTH]; /* the copy */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *at(uint64_t offset) {
    return (char *)pool + offset;
}

static struct segment *segment_of(const char *key) {
    return at(segments[hash_of(key) >> (64 - depth_now)]);
}

static uint64_t make(size_t size) {
    PMEMoid made;
    return pmemobj_zalloc(pool, &made, size, 1) == 0 ? made.off : 0;
}

static void put(uint64_t *word, uint64_t value) {
    *word = value;
    persist(word, sizeof *word);
}

static uint64_t make_segment(uint64_t depth) {
    uint64_t made = make(sizeof(struct segment));
    if (made) {
        struct segment *segment = at(made);
        segment->mark = MARK;
        segment->depth = depth;
        persist(segment, offsetof(struct segment, slots));
    }
    return made;
}

static struct slot *slot_of(const char *key) {
    struct segment *segment = segment_of(key);
    for (uint64_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &segment->slots[(hash_of(key) + i) % SLOTS];
        if (!slot->used || strcmp(slot->key, key) == 0)
            return slot;
    }
    return NULL;
}

static bool grow(uint64_t written) {
    uint64_t made = depth_now < MOST_DEPTH ? make(16u << depth_now) : 0;
    if (!made)
        return false;
    uint64_t *new = at(made);
    for (uint64_t i = 2ull << depth_now; i-- > 0;)
        segments[i] = segments[i / 2];
    depth_now++;
    memcpy(new, segments, written * sizeof *new);
    persist(new, 8u << depth_now);
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(root, sizeof *root);
        root->directory = made;
        root->depth++;
    }
    TX_END
    return true;
}

static void move_slots(struct segment *from, struct segment *to, uint64_t depth) {
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &from->slots[i];
        if (slot->used != 1 || !(hash_of(slot->key) >> (64 - depth) & 1))
            continue;
        for (uint64_t j = hash_of(slot->key);; j++)
            if (!to->slots[j % SLOTS].used) {
                to->slots[j % SLOTS] = *slot;
                break;
            }
    }
    persist(to, sizeof *to);
}

/* The second half of a segment's entries get a new one; what is no longer looked for in the old one stays there until
 * it is written over. */
static bool split(const char *key, uint64_t shift) {
    struct segment *segment = segment_of(key);
    if (segment->depth == depth_now && !grow(2ull << depth_now))
        return false;
    uint64_t depth = segment->depth + 1, made = make_segment(depth);
    if (!made)
        return false;
    struct segment *half = at(made);
    move_slots(segment, half, depth);
    uint64_t *directory = at(root->directory), count = 1ull << (depth_now - depth);
    uint64_t first = (hash_of(key) >> (64 - depth) | 1) << (depth_now - depth);
    for (uint64_t i = first; i < first + count; i++) {
        segments[i] = made;
        put(&directory[i], made + shift);
    }
    for (int i = 0; i < SLOTS; i++)
        if (segment->slots[i].used == 1 && hash_of(segment->slots[i].key) >> (64 - depth) & 1) {
            segment->slots[i].used = 2; /* gone, but not the end of a search */
            segment->slots[i].key[0] = 0;
            persist(&segment->slots[i], offsetof(struct slot, value));
        }
    put(&segment->depth, depth);
    return true;
}

static const char *set(const char *key, const char *value) {
    struct slot *slot;
    while (!(slot = slot_of(key)))
        if (!split(key, 0))
            return "FULL";
    slot->bytes = (uint32_t)strnlen(value, sizeof slot->value);
    memcpy(slot->value, value, slot->bytes);
    snprintf(slot->key, sizeof slot->key, "%s", key);
    persist(&slot->bytes, sizeof *slot - offsetof(struct slot, bytes));
    slot->used = 1;
    persist(&slot->used, sizeof slot->used);
    return "OK";
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    pthread_mutex_lock(&lock);
    const char *said = "OK";
    if (strcmp(verb, "set") == 0) {
        said = set(key, value);
    } else if (strcmp(verb, "double") == 0) {
        grow(1ull << depth_now); /* d1 */
    } else if (strcmp(verb, "deepen") == 0) {
        put(&root->depth, root->depth + 24); /* d2 */
    } else if (strcmp(verb, "split") == 0) {
        split(key, offsetof(struct segment, slots)); /* d3 */
    } else if (strcmp(verb, "get") == 0) {
        struct slot *slot = slot_of(key);
        said = slot && slot->used ? answer : "NONE";
        if (said == answer)
            snprintf(answer, ANSWER, "%.*s", (int)slot->bytes, slot->value);
    }
    if (said != answer)
        snprintf(answer, ANSWER, "%s", said);
    pthread_mutex_unlock(&lock);
}

static void begin(void) {
    uint64_t directory = make(8u << FIRST_DEPTH);
    for (int i = 0; i < 1 << FIRST_DEPTH; i++)
        put((uint64_t *)at(directory) + i, make_segment(FIRST_DEPTH));
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(root, sizeof *root);
        root->directory = directory;
        root->depth = FIRST_DEPTH;
    }
    TX_END
}

static void recover(void *found) {
    root = found;
    if (!root->directory)
        begin();
    const uint64_t *directory = at(root->directory);
    for (uint64_t i = 0; i < 1ull << root->depth; i++) {
        const struct segment *segment = at(directory[i]);
        if (segment->mark != MARK || segment->depth > root->depth)
            abort();
        segments[i % (1 << MOST_DEPTH)] = directory[i];
    }
    depth_now = root->depth;
}

static const char *check(void) {
    return NULL;
}

int main(int argc, char **argv) {
    static const struct service table = {"directory", sizeof(struct root), recover, check, request, NULL};
    return run_service(argc, argv, &table);
}
