/* A store in the shape of Redis: keys, each with a list that is packed into one buffer, and a log of slow
 * requests.
 *
 *   set KEY VALUE   get KEY   push KEY VALUE   getset KEY VALUE   slow KEY
 *
 * Its mistakes:
 *   f6  the room for an entry is computed with 8 bits: a long one is written over the list behind
 *   f7  getset gives up the old value twice: its count of references says that it is gone
 *   f8  the log of slow requests is cut, and what falls out of it is never freed
 */
#include "service.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS       1024
#define PACK       240
#define SLOW       8 /* requests in the log */
#define SLOW_BYTES 16384

struct pack { /* entries: length, text, length */
    uint32_t bytes;
    uint32_t count;
    unsigned char data[PACK];
};
struct entry {
    uint32_t used;
    int32_t references;
    char key[56];
};
struct root {
    struct entry entries[KEYS];
    struct pack packs[KEYS];
    PMEMoid slow[SLOW];
};

static struct root *root;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry *find(const char *key) {
    for (uint64_t at = hash_of(key);; at++) {
        struct entry *entry = &root->entries[at % KEYS];
        if (!entry->used || strcmp(entry->key, key) == 0)
            return entry;
    }
}

static struct pack *pack_of(const struct entry *entry) {
    return &root->packs[entry - root->entries];
}

static void count_references(struct entry *entry, int by) {
    entry->references += by;
    persist(&entry->references, sizeof entry->references);
}

static void alive(const struct entry *entry) {
    if (entry->references <= 0)
        abort(); /* Redis panics */
}

static void clear(struct pack *pack) {
    pack->bytes = pack->count = 0;
    persist(pack, offsetof(struct pack, data));
}

static void push(struct pack *pack, const char *text) {
    size_t length = strlen(text);
    uint8_t needed = (uint8_t)(length + 2); /* f6 */
    if (pack->bytes + needed > PACK)
        clear(pack);
    unsigned char *at = pack->data + pack->bytes;
    pmemobj_memcpy_persist(pool, at + 1, text, length);
    at[0] = at[needed - 1] = (unsigned char)(needed - 2);
    persist(at, needed);
    pack->bytes += needed;
    pack->count++;
    persist(pack, offsetof(struct pack, data));
}

static struct entry *make(const char *key) {
    struct entry *entry = find(key);
    if (!entry->used) {
        TX_BEGIN(pool) {
            pmemobj_tx_add_range_direct(entry, sizeof *entry);
            entry->used = 1;
            entry->references = 1;
            strncpy(entry->key, key, sizeof entry->key - 1);
        }
        TX_END
    }
    alive(entry);
    return entry;
}

static void last(const struct pack *pack, char answer[ANSWER]) {
    const unsigned char *end = pack->data + pack->bytes;
    snprintf(answer, ANSWER, "%.*s", pack->bytes ? end[-1] : 0,
             pack->bytes ? (const char *)end - 1 - end[-1] : "");
}

static const char *slow(void) {
    PMEMoid note;
    if (pmemobj_zalloc(pool, &note, SLOW_BYTES, 1) != 0)
        return "OUT OF MEMORY";
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(root->slow, sizeof root->slow);
        memmove(root->slow + 1, root->slow, sizeof root->slow - sizeof *root->slow); /* f8 */
        root->slow[0] = note;
    }
    TX_END
    return "OK";
}

static void set(const char *key, const char *value) {
    struct pack *pack = pack_of(make(key));
    clear(pack);
    push(pack, value);
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    pthread_mutex_lock(&lock);
    const char *said = "OK";
    if (strcmp(verb, "set") == 0) {
        set(key, value);
    } else if (strcmp(verb, "push") == 0) {
        push(pack_of(make(key)), value);
    } else if (strcmp(verb, "getset") == 0) {
        struct entry *entry = make(key);
        last(pack_of(entry), answer);
        count_references(entry, -1);
        count_references(entry, -1); /* f7 */
        push(pack_of(entry), value);
        count_references(entry, 1);
        said = answer;
    } else if (strcmp(verb, "slow") == 0) {
        said = slow();
    } else if (strcmp(verb, "get") == 0 && find(key)->used) {
        alive(find(key));
        last(pack_of(find(key)), answer);
        said = answer;
    }
    if (said != answer)
        snprintf(answer, ANSWER, "%s", said);
    pthread_mutex_unlock(&lock);
}

static void recover(void *found) {
    root = found;
    for (struct entry *entry = root->entries; entry < root->entries + KEYS; entry++) {
        if (!entry->used)
            continue;
        alive(entry);
        const struct pack *pack = pack_of(entry);
        uint32_t count = 0;
        for (uint32_t at = 0; at < pack->bytes; at += pack->data[at] + 2u)
            count++;
        if (count != pack->count)
            abort();
    }
    for (int i = 0; i < SLOW; i++)
        if (!OID_IS_NULL(root->slow[i]))
            (void)*(volatile char *)pmemobj_direct(root->slow[i]);
}

static const char *check(void) {
    for (const struct entry *entry = root->entries; entry < root->entries + KEYS; entry++) {
        const struct pack *pack = pack_of(entry);
        for (uint32_t at = 0; entry->used && at < pack->bytes; at += pack->data[at] + 2u)
            if (pack->data[at + 1 + pack->data[at]] != pack->data[at])
                return "a list is damaged";
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const struct service lists = {"lists", sizeof(struct root), recover, check, request, "slow probe"};
    return run_service(argc, argv, &lists);
}
