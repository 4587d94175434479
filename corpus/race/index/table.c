/* A hash table after CLHT: buckets of one line, with a lock, three slots and an overflow chain. Searches take
 * no lock. When a chain is full, all buckets are locked, and the keys move to a table that is twice as large.
 *
 * Invariants: a chain is changed under the lock of its first bucket, and durable before that is free. Only
 * the table to which a durable root leads is changed. While `building` leads to a table, that holds nothing
 * but copies. */
#include "lock.h"
#include "slot.h"

enum { WAYS = 3, LONGEST = 3 /* buckets of a chain */, FIRST_BITS = 1, MOST_BITS = 12 };

struct bucket {
    _Alignas(LINE) uint64_t lock; /* of the chain, in its first bucket */
    uint64_t next;
    struct slot slot[WAYS];
};

struct table {
    _Alignas(LINE) uint64_t bits; /* the table has 2^bits buckets */
    struct bucket bucket[];
};

static pthread_mutex_t resizing = PTHREAD_MUTEX_INITIALIZER;

static size_t table_size(uint64_t bits) {
    return sizeof(struct table) + ((size_t)1 << bits) * sizeof(struct bucket);
}

static struct bucket *first_bucket(struct table *table, uint64_t key) {
    return &table->bucket[key * 0x9e3779b97f4a7c15u >> (64 - table->bits)];
}

static struct bucket *next_bucket(const struct bucket *bucket) {
    uint64_t next = __atomic_load_n(&bucket->next, __ATOMIC_ACQUIRE); // READ value
    return next ? at(next) : NULL;
}

static struct table *new_table(struct worker *self, uint64_t bits) {
    struct table *table = take(self, table_size(bits));
    __atomic_store_n(&table->bits, bits, __ATOMIC_RELAXED); // WRITE capacity
    if (!has_bug(BUG_CAPACITY))
        persist(&table->bits, sizeof table->bits);
    return table;
}

static void lead_to(uint64_t *link, uint64_t offset) {
    __atomic_store_n(link, offset, __ATOMIC_RELEASE); // WRITE table-pointer EFFECT
    persist(link, sizeof *link);
}

static uint64_t capacity_of(const struct table *table) {
    return (uint64_t)WAYS << __atomic_load_n(&table->bits, __ATOMIC_RELAXED); // READ capacity
}

/* Say what the newest table holds, of which the pool knows already. */
static void tell_capacity(const struct table *table) {
    pool->capacity = capacity_of(table); // EFFECT
    persist(&pool->capacity, sizeof pool->capacity);
    if (has_bug(BUG_CAPACITY))
        persist(&table->bits, sizeof table->bits);
}

static void table_make(struct worker *self) {
    struct table *table = new_table(self, FIRST_BITS);
    lead_to(&pool->building, offset_of(table));
    tell_capacity(table);
    lead_to(&pool->root, offset_of(table));
    lead_to(&pool->building, 0);
}

/* Writing: under the lock of the chain */

/* The slot of a key in a chain, of 0 for a free one; `last` is the last bucket that was looked at. */
static struct slot *chain_find(struct bucket *first, uint64_t key, struct bucket **last) {
    for (struct bucket *bucket = first; bucket; bucket = next_bucket(bucket)) {
        *last = bucket;
        struct slot *slot = slot_find(bucket->slot, WAYS, key);
        if (slot)
            return slot;
    }
    return NULL;
}

static int chain_length(const struct bucket *bucket) {
    int length = 0;
    for (; bucket; bucket = next_bucket(bucket))
        length++;
    return length;
}

/* Append a bucket that holds one key. It is durable before a link leads to it. */
static struct slot *chain_grow(struct worker *self, struct bucket *last, uint64_t key, uint64_t value) {
    struct bucket *bucket = take(self, sizeof *bucket);
    slot_fill(&bucket->slot[0], key, value);
    persist(bucket, sizeof *bucket);
    __atomic_store_n(&last->next, offset_of(bucket), __ATOMIC_RELEASE); // WRITE value EFFECT
    persist(last, sizeof *last);
    return &bucket->slot[0];
}

/* The slot in which the key is now, which the caller must persist; NULL if there was no room. */
static struct slot *chain_put(struct worker *self, struct bucket *first, uint64_t key, uint64_t value) {
    struct bucket *last = first;
    struct slot *slot = chain_find(first, key, &last);
    if (!slot)
        slot = chain_find(first, 0, &last);
    if (!slot && chain_length(first) == LONGEST)
        return NULL;
    if (value == FRESH)
        value = fresh_value(key);
    if (!slot)
        return chain_grow(self, last, key, value);
    slot_fill(slot, key, value);
    return slot;
}

/* Resizing */

static void copy_key(struct worker *self, struct table *to, uint64_t key, uint64_t value) {
    struct slot *slot = chain_put(self, first_bucket(to, key), key, value);
    need(slot != NULL, "too many keys with the same hash");
    persist(slot, sizeof *slot);
}

/* Copy all keys. The new table needs no locks yet: nobody else knows it. */
static void copy_table(struct worker *self, struct table *from, struct table *to) {
    for (uint64_t i = 0; i >> from->bits == 0; i++)
        for (struct bucket *bucket = &from->bucket[i]; bucket; bucket = next_bucket(bucket))
            for (int way = 0; way < WAYS; way++)
                if (bucket->slot[way].key)
                    copy_key(self, to, bucket->slot[way].key, bucket->slot[way].value);
}

static void resize(struct worker *self, struct table *old) {
    need(old->bits < MOST_BITS, "the table is too large to grow");
    for (uint64_t i = 0; i >> old->bits == 0; i++)
        acquire(&old->bucket[i].lock);
    struct table *new = new_table(self, old->bits + 1);
    lead_to(&pool->building, offset_of(new));
    tell_capacity(new);
    copy_table(self, old, new);
    lead_to(&pool->root, offset_of(new));
    lead_to(&pool->building, 0);
    for (uint64_t i = 0; i >> old->bits == 0; i++)
        release(&old->bucket[i].lock);
}

/* The map's functions */

/* Release a chain. Who came too late, to a table that is not the current one, tries again elsewhere. */
static void leave_late(struct bucket *first, bool current) {
    if (current || !has_bug(BUG_LOCK_HELD)) // HELD
        release(&first->lock);
}

static void table_put(struct worker *self, uint64_t key, uint64_t value) {
    for (;;) {
        uint64_t root = durable_root(self);
        struct table *table = at(root);
        struct bucket *first = first_bucket(table, key);
        acquire(&first->lock);
        bool current = __atomic_load_n(&pool->root, __ATOMIC_ACQUIRE) == root;
        struct slot *slot = current ? chain_put(self, first, key, value) : NULL;
        if (slot) {
            persist(slot, sizeof *slot);
            release(&first->lock);
            return;
        }
        leave_late(first, current);
        pthread_mutex_lock(&resizing);
        if (current && __atomic_load_n(&pool->root, __ATOMIC_ACQUIRE) == root)
            resize(self, table);
        pthread_mutex_unlock(&resizing);
    }
}

/* Make durable what was read of a chain up to a bucket. */
static void settle_chain(const struct bucket *first, const struct bucket *last) {
    if (has_bug(BUG_VALUE) || !may_be_lost(&first->lock))
        return;
    for (const struct bucket *bucket = first; bucket != last; bucket = next_bucket(bucket))
        flush(bucket, sizeof *bucket);
    persist(last, sizeof *last);
}

static uint64_t table_get(struct worker *self, uint64_t key) {
    struct table *table = at(durable_root(self));
    struct bucket *first = first_bucket(table, key);
    for (struct bucket *bucket = first; bucket; bucket = next_bucket(bucket))
        for (int way = 0; way < WAYS; way++) {
            struct slot seen = slot_read(&bucket->slot[way]);
            if (seen.key == key) {
                settle_chain(first, bucket);
                return is_there(seen.value) ? seen.value : 0;
            }
        }
    return 0;
}

static bool table_remove(struct worker *self, uint64_t key) {
    for (;;) {
        uint64_t root = durable_root(self);
        struct bucket *first = first_bucket(at(root), key), *last;
        acquire(&first->lock);
        bool current = __atomic_load_n(&pool->root, __ATOMIC_ACQUIRE) == root;
        bool removed = current && remove_from(chain_find(first, key, &last));
        leave_late(first, current);
        if (current)
            return removed;
    }
}

/* After a power cut */

static void check_table(const struct table *table) {
    if (!is_taken(offset_of(table), sizeof *table) || table->bits > MOST_BITS ||
        !is_taken(offset_of(table), table_size(table->bits)))
        refuse("the table at %lu is damaged", offset_of(table));
    for (uint64_t i = 0; i >> table->bits == 0; i++) {
        int length = 1;
        for (const struct bucket *bucket = &table->bucket[i]; bucket->next; bucket = at(bucket->next))
            if (!is_taken(bucket->next, sizeof *bucket) || ++length > LONGEST)
                refuse("bucket %lu leads to %lu, where no bucket is", i, bucket->next);
    }
}

static void each_key(const struct table *table, void (*visit)(uint64_t key, uint64_t value)) {
    for (uint64_t i = 0; i >> table->bits == 0; i++)
        for (const struct bucket *bucket = &table->bucket[i]; bucket; bucket = next_bucket(bucket))
            for (int way = 0; way < WAYS; way++)
                if (bucket->slot[way].key)
                    visit(bucket->slot[way].key, bucket->slot[way].value);
}

static void must_be_copy(uint64_t key, uint64_t value) {
    if (found_value(key) != value)
        refuse("key %lu lies in a table that nobody looks at", key);
}

static void table_check(void) {
    check_table(at(pool->root));
    each_key(at(pool->root), found);
    bool right = pool->capacity == capacity_of(at(pool->root));
    if (pool->building && pool->building != pool->root) {
        check_table(at(pool->building));
        each_key(at(pool->building), must_be_copy);
        right |= pool->capacity == capacity_of(at(pool->building));
    }
    if (!right)
        refuse("there is no table for %lu keys", pool->capacity);
}

static void table_recover(void) {
    struct table *table = at(pool->root);
    tell_capacity(table);
    lead_to(&pool->building, 0);
    for (uint64_t i = 0; !has_bug(BUG_LOCKS_KEPT) && i >> table->bits == 0; i++) {
        table->bucket[i].lock = 0;
        flush(&table->bucket[i], sizeof table->bucket[i]);
    }
    fence();
    for (uint64_t i = 0; i >> table->bits == 0; i++)
        if (table->bucket[i].lock)
            refuse("bucket %lu is locked, and nobody is there to unlock it", i);
}

const struct map table_map = {"table",      table_make,    table_put,  table_get,
                              table_remove, table_recover, table_check};
