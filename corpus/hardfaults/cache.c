/* A cache in the shape of memcached: items of a fixed size in a table with chains, which grows by moving one
 * chain after the other into a larger table. The table is persistent; free items and locks are not.
 *
 *   set KEY VALUE   get KEY   delete KEY   append KEY VALUE   pin KEY: hold a reference   flush_all SECONDS
 *   flip: a bit
 *
 * Its mistakes, each as it was in memcached:
 *   f1  a reference count of 8 bits overflows: an item is freed while it is in the table, and used again
 *   f2  flush_all with a time to come drops what is set before that time comes
 *   f3  while the table grows, chains of the old table are locked by their place in the new one
 *   f4  the length after an append overflows: the value is written over the items behind
 *   f5  a bit flips: the table is believed to grow, and looked up in the old one
 */
#include "service.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS    8192
#define OLD      512
#define NEW      (2 * OLD)
#define FULL     1000 /* items at which the table begins to grow */
#define MOVES_AT 16   /* a chain is moved at every so many new items */
#define VALUE    80

struct item { /* 128 bytes */
    uint32_t next;
    uint8_t references;
    uint8_t linked;
    uint8_t length;
    uint8_t spare;
    int64_t time;
    char key[32];
    char value[VALUE];
};
struct root {
    int64_t oldest_live; /* what was set until then is dropped */
    char pad0[56];
    uint64_t rehashing; /* the table grows */
    char pad1[56];
    uint64_t moved; /* chains that are in the new table already */
    char pad2[56];
    uint64_t grown; /* the new table is in use */
    char pad3[56];
    uint32_t old[OLD];
    uint32_t new[NEW];
    struct item items[SLOTS + 1]; /* 0 means none */
};

static struct root *root;
static pthread_mutex_t locks[NEW];
static pthread_rwlock_t moving = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static char taken[SLOTS + 1];
static uint32_t taken_count, inserted;
static _Thread_local uint32_t freed_last; /* by this thread, which uses it first */

static uint32_t *chain_of(uint64_t hash) {
    if (root->rehashing)
        return hash % OLD < root->moved ? &root->new[hash % NEW] : &root->old[hash % OLD];
    return root->grown ? &root->new[hash % NEW] : &root->old[hash % OLD];
}

static pthread_mutex_t *lock_of(uint64_t hash) {
    return &locks[root->rehashing || root->grown ? hash % NEW : hash % OLD]; /* f3 */
}

static uint32_t find(const char *key) {
    uint32_t at = *chain_of(hash_of(key));
    while (at && strcmp(root->items[at].key, key) != 0)
        at = root->items[at].next;
    return at;
}

static uint32_t take_free(void) {
    uint32_t at = freed_last;
    freed_last = 0;
    if (at)
        return at;
    pthread_mutex_lock(&free_lock);
    for (at = 1; at <= SLOTS && taken[at];)
        at++;
    if (at <= SLOTS) {
        taken[at] = 1;
        taken_count++;
        inserted++;
    }
    pthread_mutex_unlock(&free_lock);
    return at <= SLOTS ? at : 0;
}

static int is_live(const struct item *item) {
    return item->time > root->oldest_live; /* f2: even if that time is yet to come */
}

static void fill(struct item *item, const char *key, const char *value) {
    item->length = (uint8_t)strnlen(value, VALUE);
    memcpy(item->value, value, item->length);
    item->time = time(NULL);
    if (item->key != key)
        strncpy(item->key, key, sizeof item->key - 1);
}

static void change(struct item *item, const char *value) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(item, sizeof *item);
        fill(item, item->key, value);
    }
    TX_END
}

static void link_item(uint32_t *chain, uint32_t first, uint32_t at, const char *key, const char *value) {
    TX_BEGIN(pool) {
        struct item *item = &root->items[at];
        pmemobj_tx_add_range_direct(item, sizeof *item);
        memset(item, 0, sizeof *item);
        fill(item, key, value);
        item->references = item->linked = 1;
        item->next = first;
        pmemobj_tx_add_range_direct(chain, sizeof *chain);
        *chain = at;
    }
    TX_END
}

static int insert(const char *key, const char *value) {
    uint32_t *chain = chain_of(hash_of(key)), first = *chain, at = take_free();
    if (at)
        link_item(chain, first, at, key, value);
    return at != 0;
}

static void set_number(uint64_t *number, uint64_t value) {
    *number = value;
    persist(number, sizeof *number);
}

static void move_chain(uint32_t *from) {
    TX_BEGIN(pool) {
        for (uint32_t at = *from, next; at; at = next) {
            struct item *item = &root->items[at];
            uint32_t *to = &root->new[hash_of(item->key) % NEW];
            next = item->next;
            pmemobj_tx_add_range_direct(&item->next, sizeof item->next);
            pmemobj_tx_add_range_direct(to, sizeof *to);
            item->next = *to;
            *to = at;
        }
        pmemobj_tx_add_range_direct(from, sizeof *from);
        *from = 0;
        pmemobj_tx_add_range_direct(&root->moved, sizeof root->moved);
        root->moved++;
    }
    TX_END
}

/* A step of growing, if it is time for one. */
static void grow(void) {
    pthread_rwlock_wrlock(&moving);
    if (!root->grown && !root->rehashing && !root->moved && taken_count > FULL)
        set_number(&root->rehashing, 1);
    else if (root->rehashing && !root->grown && inserted % MOVES_AT == 0)
        move_chain(&root->old[root->moved]);
    if (root->moved == OLD) {
        set_number(&root->grown, 1);
        set_number(&root->rehashing, 0);
        set_number(&root->moved, 0);
    }
    pthread_rwlock_unlock(&moving);
}

static int set(const char *key, const char *value) {
    pthread_rwlock_rdlock(&moving);
    pthread_mutex_t *lock = lock_of(hash_of(key));
    pthread_mutex_lock(lock);
    uint32_t at = find(key);
    int done = 1;
    if (at)
        change(&root->items[at], value);
    else
        done = insert(key, value);
    pthread_mutex_unlock(lock);
    pthread_rwlock_unlock(&moving);
    if (!at)
        grow();
    return done;
}

static void unlink_item(uint32_t *link, struct item *item) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(link, sizeof *link);
        pmemobj_tx_add_range_direct(&item->linked, sizeof item->linked);
        *link = item->next;
        item->linked = 0;
    }
    TX_END
}

static void drop(const char *key) {
    pthread_rwlock_rdlock(&moving);
    pthread_mutex_t *lock = lock_of(hash_of(key));
    pthread_mutex_lock(lock);
    uint32_t at = find(key), *link = chain_of(hash_of(key));
    if (at) {
        while (*link != at)
            link = &root->items[*link].next;
        unlink_item(link, &root->items[at]);
        pthread_mutex_lock(&free_lock);
        taken[at] = 0;
        taken_count--;
        pthread_mutex_unlock(&free_lock);
    }
    pthread_mutex_unlock(lock);
    pthread_rwlock_unlock(&moving);
}

static void get(const char *key, char answer[ANSWER]) {
    pthread_rwlock_rdlock(&moving);
    pthread_mutex_t *lock = lock_of(hash_of(key));
    pthread_mutex_lock(lock);
    uint32_t at = find(key);
    struct item *item = &root->items[at];
    if (at && is_live(item))
        snprintf(answer, ANSWER, "%.*s", (int)item->length, item->value);
    else
        snprintf(answer, ANSWER, "NONE");
    pthread_mutex_unlock(lock);
    pthread_rwlock_unlock(&moving);
}

static void append(const char *key, const char *more) {
    pthread_mutex_t *lock = lock_of(hash_of(key));
    pthread_mutex_lock(lock);
    uint32_t at = find(key);
    struct item *item = &root->items[at];
    size_t bytes = strlen(more);
    uint8_t length = (uint8_t)(item->length + bytes); /* f4 */
    if (at && length <= VALUE) {
        pmemobj_memcpy_persist(pool, item->value + item->length, more, bytes);
        item->length = length;
        persist(&item->length, sizeof item->length);
    }
    pthread_mutex_unlock(lock);
}

static void pin(const char *key) {
    pthread_mutex_t *lock = lock_of(hash_of(key));
    pthread_mutex_lock(lock);
    uint32_t at = find(key);
    if (at) {
        struct item *item = &root->items[at];
        item->references++; /* f1 */
        persist(&item->references, sizeof item->references);
        if (item->references == 0)
            freed_last = at;
    }
    pthread_mutex_unlock(lock);
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    snprintf(answer, ANSWER, "OK");
    if (strcmp(verb, "get") == 0) {
        get(key, answer);
    } else if (strcmp(verb, "set") == 0) {
        if (!set(key, value))
            snprintf(answer, ANSWER, "FULL");
    } else if (strcmp(verb, "delete") == 0) {
        drop(key);
    } else if (strcmp(verb, "append") == 0) {
        append(key, value);
    } else if (strcmp(verb, "pin") == 0) {
        pin(key);
    } else if (strcmp(verb, "flush_all") == 0) {
        set_number((uint64_t *)&root->oldest_live, (uint64_t)(time(NULL) + atoi(key)));
    } else if (strcmp(verb, "flip") == 0) {
        root->rehashing ^= 1; /* f5: nobody wrote this */
    }
}

/* Nobody holds a reference, and what is not linked is free. */
static void recover(void *found) {
    root = found;
    for (size_t i = 0; i < NEW; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (uint32_t at = 1; at <= SLOTS; at++) {
        struct item *item = &root->items[at];
        taken[at] = item->linked != 0;
        taken_count += (uint32_t)taken[at];
        if (item->linked && item->references != 1) {
            item->references = 1;
            persist(&item->references, sizeof item->references);
        }
    }
}

static const char *check_chains(const uint32_t *chains, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t at = chains[i]; at; at = root->items[at].next)
            if (hash_of(root->items[at].key) % count != i)
                return "an item is in the wrong chain";
    return NULL;
}

static const char *lost(const char *key) {
    static char message[64];
    snprintf(message, sizeof message, "%.31s is lost", key);
    return message;
}

static const char *check(void) {
    const char *wrong = check_chains(root->old, OLD);
    if (!wrong)
        wrong = check_chains(root->new, NEW);
    for (uint32_t at = 1; at <= SLOTS && !wrong; at++) {
        const struct item *item = &root->items[at];
        if (!item->linked)
            continue;
        if (item->length > VALUE)
            return "an item is too long";
        if (!find(item->key))
            return lost(item->key);
    }
    return wrong;
}

int main(int argc, char **argv) {
    static const struct service cache = {"cache", sizeof(struct root), recover, check, request, NULL};
    return run_service(argc, argv, &cache);
}
