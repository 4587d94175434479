/* A cache in the shape of Pelikan: items in slots of one slab, an index that is made anew at each start.
 *
 *   set KEY VALUE   setlen KEY BYTES:VALUE   get KEY   stats: requests so far   stats reset
 *
 * Its mistakes:
 *   f10  the sum of an item's lengths overflows: a value is believed that is far too long for its slot
 *   f11  after a reset there are no statistics, and the next start asks for them
 */
#include "service.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4096
#define SLOT  192

struct item {
    uint32_t used;
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint32_t sum; /* of the value's bytes */
    char data[SLOT - 16];
};
struct stats {
    uint64_t requests;
    char pad[56];
};
struct root {
    uint64_t stats; /* where they are: from the root on */
    char pad[56];
    struct stats own;
    struct item items[SLOTS];
};

static struct root *root;
static uint32_t index_of[2 * SLOTS], used; /* by hash: slot and one */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct stats *stats(void) {
    return root->stats ? (struct stats *)((char *)root + root->stats) : NULL;
}

static uint32_t sum_of(const char *bytes, uint32_t length) {
    uint32_t sum = 1;
    for (uint32_t i = 0; i < length; i++)
        sum = sum * 31 + (unsigned char)bytes[i];
    return sum;
}

static uint32_t *place_of(const char *key, size_t length) {
    for (uint64_t at = hash_of(key);; at++) {
        uint32_t *place = &index_of[at % (2 * SLOTS)];
        const struct item *item = &root->items[*place ? *place - 1 : 0];
        if (!*place || (item->key_bytes == length && memcmp(item->data, key, length) == 0))
            return place;
    }
}

static const char *set(const char *key, const char *value, uint32_t value_bytes) {
    uint32_t key_bytes = (uint32_t)strlen(key), *place = place_of(key, key_bytes);
    if (16 + key_bytes + value_bytes > SLOT) /* f10 */
        return "TOO LONG";
    if (!*place && used == SLOTS)
        return "FULL";
    struct item *item = &root->items[*place ? *place - 1 : used];
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(item, sizeof *item);
        size_t there = strlen(value);
        *item = (struct item){.used = 1, .key_bytes = key_bytes, .value_bytes = value_bytes};
        memcpy(item->data, key, key_bytes);
        memcpy(item->data + key_bytes, value, there < value_bytes ? there : value_bytes);
        item->sum = sum_of(value, (uint32_t)there);
    }
    TX_END
    if (!*place)
        *place = ++used;
    return "OK";
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    pthread_mutex_lock(&lock);
    const char *said = "OK";
    if (strcmp(verb, "set") == 0) {
        said = set(key, value, (uint32_t)strlen(value));
    } else if (strcmp(verb, "setlen") == 0) {
        uint32_t bytes = (uint32_t)strtoul(value, &value, 10);
        said = set(key, value + 1, bytes);
    } else if (strcmp(verb, "get") == 0) {
        uint32_t slot = *place_of(key, strlen(key));
        const struct item *item = &root->items[slot ? slot - 1 : 0];
        snprintf(answer, ANSWER, "%.*s", slot ? (int)item->value_bytes : 0, item->data + item->key_bytes);
        said = slot ? answer : "NONE";
    } else if (strcmp(verb, "stats") == 0 && strcmp(key, "reset") == 0) {
        root->stats = 0; /* f11: and nobody makes new ones */
        persist(&root->stats, sizeof root->stats);
    } else if (strcmp(verb, "stats") == 0) {
        stats()->requests++;
        persist(&stats()->requests, sizeof(uint64_t));
    }
    if (said != answer)
        snprintf(answer, ANSWER, "%s", said);
    pthread_mutex_unlock(&lock);
}

static void recover(void *found) {
    root = found;
    if (!root->stats && !root->items[0].used) {
        root->stats = offsetof(struct root, own);
        persist(&root->stats, sizeof root->stats);
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        struct item *item = &root->items[slot];
        if (!item->used)
            continue;
        used = slot + 1;
        char key[SLOT] = {0};
        memcpy(key, item->data, item->key_bytes % sizeof key);
        *place_of(key, item->key_bytes) = slot + 1;
    }
    stats()->requests++;
    persist(&stats()->requests, sizeof(uint64_t));
}

static const char *check(void) {
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct item *item = &root->items[slot];
        if (item->used && item->sum != sum_of(item->data + item->key_bytes, item->value_bytes))
            return "a value is damaged";
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const struct service slabs = {"slabs", sizeof(struct root), recover, check, request, NULL};
    return run_service(argc, argv, &slabs);
}
