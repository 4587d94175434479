/* An extendible hash in the shape of CCEH: a directory of segments, chosen by the first bits of a hash. A
 * segment that is full is split in two; the directory is doubled if it has too few bits for that.
 *
 *   set KEY VALUE   get KEY
 *
 * Its mistake:
 *   f9  a segment is marked as split before it is known whether the directory can be doubled: if it cannot,
 *       no hash fits the segment any more, and whoever comes there tries again for ever
 */
#include "service.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define BITS   8 /* of the directory, at most */
#define SEGS   (1 << BITS)
#define PLACES 48

struct place {
    uint64_t hash; /* 0: free */
    char value[56];
};
struct segment {
    uint64_t bits;
    uint64_t prefix;
    char pad[48];
    struct place places[PLACES];
};
struct root {
    uint64_t bits; /* of the directory; 0: it is to be made */
    uint64_t used; /* segments */
    char pad[48];
    uint32_t directory[BITS + 1][SEGS]; /* one for each number of bits */
    struct segment segments[SEGS];
};

static struct root *root;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct segment *segment_of(uint64_t hash) {
    for (;;) {
        uint32_t number = root->directory[root->bits][hash >> (64 - root->bits)];
        volatile struct segment *segment = &root->segments[number];
        if (hash >> (64 - segment->bits) == segment->prefix)
            return (struct segment *)segment;
        /* it is being split: again */
    }
}

static void double_directory(void) {
    const uint32_t *now = root->directory[root->bits];
    uint32_t *next = root->directory[root->bits + 1];
    for (uint32_t i = 0; i < 2u << root->bits; i++)
        next[i] = now[i / 2];
    persist(next, sizeof root->directory[0]);
    root->bits++;
    persist(&root->bits, sizeof root->bits);
}

static int split(struct segment *segment) {
    segment->bits++; /* f9 */
    segment->prefix *= 2;
    persist(segment, 2 * sizeof(uint64_t));
    if (segment->bits > root->bits && root->bits == BITS)
        return 0;
    if (segment->bits > root->bits)
        double_directory();
    TX_BEGIN(pool) {
        uint32_t number = (uint32_t)root->used;
        struct segment *other = &root->segments[number];
        pmemobj_tx_add_range_direct(&root->used, sizeof root->used);
        pmemobj_tx_add_range_direct(other, sizeof *other);
        pmemobj_tx_add_range_direct(segment, sizeof *segment);
        root->used++;
        other->bits = segment->bits;
        other->prefix = segment->prefix + 1;
        for (int i = 0; i < PLACES; i++)
            if (segment->places[i].hash >> (64 - other->bits) == other->prefix) {
                other->places[i] = segment->places[i];
                segment->places[i].hash = 0;
            }
        uint32_t *directory = root->directory[root->bits];
        uint64_t shift = root->bits - other->bits, first = other->prefix << shift;
        pmemobj_tx_add_range_direct(directory + first, sizeof *directory << shift);
        for (uint64_t i = first; i < first + (1u << shift); i++)
            directory[i] = number;
    }
    TX_END
    return 1;
}

/* The place of a hash, or one that is free (`make`); NULL: there is none. */
static struct place *find(uint64_t hash, int make) {
    for (;;) {
        struct segment *segment = segment_of(hash);
        struct place *room = NULL;
        for (int i = PLACES - 1; i >= 0; i--) {
            struct place *place = &segment->places[i];
            if (place->hash == hash)
                return place;
            if (place->hash == 0)
                room = place;
        }
        if (!make || room)
            return room && make ? room : NULL;
        if (!split(segment))
            return NULL;
    }
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    pthread_mutex_lock(&lock);
    uint64_t hash = hash_of(key) | 1;
    struct place *place = find(hash, strcmp(verb, "set") == 0);
    if (!place) {
        snprintf(answer, ANSWER, "NONE");
    } else if (strcmp(verb, "set") == 0) {
        TX_BEGIN(pool) {
            pmemobj_tx_add_range_direct(place, sizeof *place);
            place->hash = hash;
            strncpy(place->value, value, sizeof place->value - 1);
        }
        TX_END
        snprintf(answer, ANSWER, "OK");
    } else {
        snprintf(answer, ANSWER, "%s", place->value);
    }
    pthread_mutex_unlock(&lock);
}

static void recover(void *found) {
    root = found;
    if (root->bits)
        return;
    root->segments[0].bits = root->segments[1].bits = 1;
    root->segments[1].prefix = root->directory[1][1] = 1;
    root->used = 2;
    persist(root, sizeof *root);
    root->bits = 1;
    persist(&root->bits, sizeof root->bits);
}

static const char *check(void) {
    for (uint64_t number = 0; number < root->used; number++)
        for (int i = 0; i < PLACES; i++) {
            struct place *place = &root->segments[number].places[i];
            if (place->hash && find(place->hash, 0) != place)
                return "a key is lost";
        }
    return NULL;
}

int main(int argc, char **argv) {
    static const struct service hash = {"extendible", sizeof(struct root), recover, check, request, NULL};
    return run_service(argc, argv, &hash);
}
