/* A store in the shape of persistent lists on transactions: each new key becomes the first entry of one list, an index
 * in volatile memory finds it again, and a restart walks the whole list.
 *
 *   set KEY VALUE   get KEY   append KEY VALUE   first KEY   blob KEY VALUE
 *
 * Its mistakes:
 *   c1  append counts more bytes than an entry has
 *   c2  an entry that is made the first one is linked before the first one: if it was that, before itself
 *   c3  a blob's link to the next entry is computed from its own size: it leads into the middle of another one
 */
#include "service.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAINS 256 /* of the index */
#define ROOM   64  /* bytes of a value */
#define MARK   0x656e7472u

struct entry {
    PMEMoid next;
    uint32_t mark, bytes;
    char key[48], value[ROOM];
};
struct root {
    PMEMoid head;
};
struct known { /* the index */
    struct known *next;
    struct entry *entry;
};

static struct root *root;
static struct known *chains[CHAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct known **chain_of(const char *key) {
    return &chains[hash_of(key) % CHAINS];
}

static struct entry *find(const char *key) {
    for (struct known *known = *chain_of(key); known; known = known->next)
        if (strcmp(known->entry->key, key) == 0)
            return known->entry;
    return NULL;
}

static void know(struct entry *entry) {
    if (find(entry->key))
        return;
    struct known **chain = chain_of(entry->key), *known = malloc(sizeof *known);
    *known = (struct known){*chain, entry};
    *chain = known;
}

static void write_value(struct entry *entry, const char *value) {
    pmemobj_tx_add_range_direct(&entry->bytes, sizeof entry->bytes);
    pmemobj_tx_add_range_direct(entry->value, ROOM);
    entry->bytes = (uint32_t)strnlen(value, ROOM);
    memcpy(entry->value, value, entry->bytes);
}

static const char *push(const char *key, const char *value, uint64_t shift) {
    struct entry *volatile made = NULL;
    TX_BEGIN(pool) {
        PMEMoid object = pmemobj_tx_zalloc(sizeof(struct entry), 1);
        struct entry *entry = pmemobj_direct(object);
        entry->mark = MARK;
        snprintf(entry->key, sizeof entry->key, "%s", key);
        entry->bytes = (uint32_t)strnlen(value, ROOM);
        memcpy(entry->value, value, entry->bytes);
        entry->next = root->head;
        entry->next.off += shift;
        pmemobj_tx_add_range_direct(&root->head, sizeof root->head);
        root->head = object;
        made = entry;
    }
    TX_END
    if (!made)
        return "OUT OF MEMORY";
    know(made);
    return "OK";
}

static const char *set(const char *key, const char *value) {
    struct entry *entry = find(key);
    if (!entry)
        return push(key, value, 0);
    TX_BEGIN(pool) {
        write_value(entry, value);
    }
    TX_END
    return "OK";
}

static void append(struct entry *entry, const char *value) {
    uint32_t all = entry->bytes + (uint32_t)strlen(value);
    if (all <= ROOM)
        memcpy(entry->value + entry->bytes, value, strlen(value));
    entry->bytes = all; /* c1 */
    persist(&entry->bytes, sizeof entry->bytes + sizeof entry->key + sizeof entry->value);
}

static void make_first(struct entry *entry) {
    PMEMoid own = pmemobj_oid(entry);
    TX_BEGIN(pool) {
        for (struct entry *before = pmemobj_direct(root->head); before; before = pmemobj_direct(before->next))
            if (before->next.off == own.off) {
                pmemobj_tx_add_range_direct(&before->next, sizeof before->next);
                before->next = entry->next;
                break;
            }
        pmemobj_tx_add_range_direct(&entry->next, sizeof entry->next);
        entry->next = root->head; /* c2 */
        pmemobj_tx_add_range_direct(&root->head, sizeof root->head);
        root->head = own;
    }
    TX_END
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    pthread_mutex_lock(&lock);
    struct entry *entry = find(key);
    const char *said = entry ? "OK" : "NONE";
    if (strcmp(verb, "set") == 0) {
        said = set(key, value);
    } else if (strcmp(verb, "blob") == 0) {
        said = push(key, value, sizeof(struct entry) / 2); /* c3 */
    } else if (strcmp(verb, "append") == 0 && entry) {
        append(entry, value);
    } else if (strcmp(verb, "first") == 0 && entry) {
        make_first(entry);
    } else if (strcmp(verb, "get") == 0 && entry) {
        snprintf(answer, ANSWER, "%.*s", (int)entry->bytes, entry->value);
        said = answer;
    }
    if (said != answer)
        snprintf(answer, ANSWER, "%s", said);
    pthread_mutex_unlock(&lock);
}

static void recover(void *found) {
    root = found;
    if (!root->head.off)
        push("anchor", "value", 0);
    for (PMEMoid at = root->head; at.off; at = ((struct entry *)pmemobj_direct(at))->next) {
        struct entry *entry = pmemobj_direct(at);
        char copy[ROOM];
        if (entry->mark != MARK || entry->bytes > ROOM)
            abort();
        memcpy(copy, entry->value, entry->bytes);
        know(entry);
    }
}

static const char *check(void) {
    return !find("anchor") ? "the oldest entry is lost" : NULL;
}

int main(int argc, char **argv) {
    static const struct service chain = {"chain", sizeof(struct root), recover, check, request, NULL};
    return run_service(argc, argv, &chain);
}
