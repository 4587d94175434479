/* A hash table of cache lines, with locks (after P-CLHT of RECIPE).
 *
 * A bucket is one line: a lock, three keys, their values, and the next bucket of the chain. Searches take no
 * lock. Changes take that of the first bucket of a chain. A thread that finds a chain full makes a table of
 * twice as many buckets: it marks the locks of all chains as moved, copies the keys, leads the pool to the
 * new table, and collects old tables once no thread is in them any more.
 *
 * Invariants:
 *   - A chain is durable before its lock is free.
 *   - Threads are led to a table only after the pool durably is.
 *   - Only the table of the pool is changed. A younger one, which is being built, holds nothing but copies.
 *   - The version that is announced to the collector of a restart is that of a table: of the pool's, or of
 * the one that is being built.
 */
#include "target.h"

enum { WAYS = 3, LONGEST = 2 /* buckets of a chain */, FIRST_BITS = 1, MOST_BITS = 10 };
enum { TABLE = 1, BUCKET = 2 }; /* types of objects */
enum { FREE = 0, TAKEN = 1, MOVED = 2 };
enum { NOWHERE = 0 };

struct bucket {
    _Alignas(LINE) uint64_t lock; /* of the chain, in its first bucket */
    uint64_t key[WAYS];           /* 0: free */
    uint64_t value[WAYS];
    uint64_t next;
};

struct table {
    _Alignas(LINE) uint64_t bits; /* there are 2^bits chains */
    _Alignas(LINE) uint64_t version;
    struct bucket bucket[];
};

struct root {
    _Alignas(LINE) uint64_t table;
    _Alignas(LINE) uint64_t announced; /* the newest version */
};

#define ROOT ((struct root *)pool_root)

static uint64_t current; /* the table to which threads are led */
static pthread_mutex_t resizing = PTHREAD_MUTEX_INITIALIZER;

/* Tables and chains */

static size_t table_size(uint64_t bits) {
    return sizeof(struct table) + ((size_t)1 << bits) * sizeof(struct bucket);
}

static uint64_t chains_of(const struct table *table) {
    return (uint64_t)1 << table->bits;
}

static struct bucket *chain_of(struct table *table, uint64_t key) {
    return &table->bucket[key * 0x9e3779b97f4a7c15u >> (64 - table->bits)];
}

static struct bucket *next_of(const struct bucket *bucket) {
    uint64_t next = load(&bucket->next);
    return next ? at(next) : NULL;
}

static struct table *new_table(uint64_t bits, uint64_t version) {
    struct table *table = at(take(table_size(bits), TABLE));
    table->bits = bits;
    persist(&table->bits, sizeof table->bits);
    store(&table->version, version); // WRITE announced
    if (!seeded("announced"))
        persist(&table->version, sizeof table->version);
    return table;
}

static void announce(const struct table *table) {
    ROOT->announced = load(&table->version); // READ announced EFFECT announced
    persist(&ROOT->announced, sizeof ROOT->announced);
}

/* Lead the pool to a table, then the threads. */
static void publish(const struct table *table) {
    store(&ROOT->table, offset_of(table)); // WRITE table-pointer
    persist(&ROOT->table, sizeof ROOT->table);
    store(&current, offset_of(table));
}

static uint64_t table_now(void) {
    return seeded("table-pointer") ? load(&ROOT->table) : load(&current); // READ table-pointer
}

static void make(void) {
    struct table *table = new_table(FIRST_BITS, 1);
    announce(table);
    persist(&table->version, sizeof table->version);
    publish(table);
}

/* Who is where: a table is kept while a thread is in it */

static struct {
    _Alignas(LINE) uint64_t table;
} inside[MOST_THREADS];

static struct table *enter(unsigned thread) {
    uint64_t now;
    do {
        now = table_now();
        __atomic_store_n(&inside[thread].table, now, __ATOMIC_SEQ_CST);
    } while (now != table_now());
    return at(now);
}

static void leave(unsigned thread) {
    store(&inside[thread].table, NOWHERE);
}

static bool is_empty_of_threads(uint64_t table) {
    for (int i = 0; i < MOST_THREADS; i++)
        if (__atomic_load_n(&inside[i].table, __ATOMIC_SEQ_CST) == table)
            return false;
    return true;
}

/* Locks */

/* Take the lock of a chain; false if the chain has moved to another table. */
static bool take_chain(struct bucket *first) {
    for (;;) {
        uint64_t seen = FREE;
        if (exchange(&first->lock, &seen, TAKEN)) // LOCK EFFECT table-pointer
            return true;
        if (seen == MOVED)
            return false;
        sched_yield();
    }
}

static void release_chain(struct bucket *first) {
    store(&first->lock, FREE); // EFFECT table-pointer
}

static void move_chain(struct bucket *first) {
    uint64_t seen = FREE;
    while (!exchange(&first->lock, &seen, MOVED)) { // LOCK
        seen = FREE;
        sched_yield();
    }
}

/* What is in a chain: all of it under its lock, but for searches */

struct place {
    struct bucket *bucket;
    int way;
};

static bool find(struct bucket *first, uint64_t key, struct place *place) {
    for (struct bucket *bucket = first; bucket; bucket = next_of(bucket))
        for (int way = 0; way < WAYS; way++)
            if (load(&bucket->key[way]) == key) {
                *place = (struct place){bucket, way};
                return true;
            }
    return false;
}

/* Fill a place. Both words are in one line, where stores persist in their order. */
static void fill(struct place place, uint64_t key, uint64_t value) {
    store(&place.bucket->value[place.way], value); // EFFECT table-pointer
    store(&place.bucket->key[place.way], key);     // EFFECT table-pointer
    persist(place.bucket, sizeof *place.bucket);
}

/* Append a bucket with one key; false if the chain is as long as it may be. */
static bool grow(struct bucket *first, uint64_t key, uint64_t value) {
    struct bucket *last = first;
    int length = 1;
    for (; next_of(last); last = next_of(last))
        length++;
    if (length == LONGEST)
        return false;
    struct bucket *added = at(take(sizeof *added, BUCKET));
    fill((struct place){added, 0}, key, value);
    store(&last->next, offset_of(added)); // EFFECT table-pointer
    persist(&last->next, sizeof last->next);
    return true;
}

/* Put a key into a chain; false if there is no room. */
static bool put_in(struct bucket *first, uint64_t key, uint64_t value) {
    struct place place;
    if (find(first, key, &place) || find(first, 0, &place)) {
        fill(place, key, value);
        return true;
    }
    return grow(first, key, value);
}

/* Collecting: old tables, in the order in which they were left */

static uint64_t retired[MOST_BITS];
static int retired_count;

static void free_table(struct table *table) {
    for (uint64_t i = 0; i < chains_of(table); i++)
        while (table->bucket[i].next) {
            uint64_t next = table->bucket[i].next;
            store(&table->bucket[i].next, load(&((struct bucket *)at(next))->next));
            persist(&table->bucket[i].next, sizeof table->bucket[i].next);
            give_back(next, BUCKET);
        }
    give_back(offset_of(table), TABLE);
}

static void retire(struct table *table) {
    retired[retired_count++] = offset_of(table);
    while (retired_count && is_empty_of_threads(retired[0])) {
        free_table(at(retired[0]));
        memmove(retired, retired + 1, (size_t)--retired_count * sizeof *retired);
    }
}

/* Resizing */

static void copy_chain(struct bucket *from, struct table *to) {
    for (struct bucket *bucket = from; bucket; bucket = next_of(bucket))
        for (int way = 0; way < WAYS; way++) {
            uint64_t key = bucket->key[way];
            if (key)
                need(put_in(chain_of(to, key), key, bucket->value[way]), "too many keys with the same hash");
        }
}

/* Move to a larger table. Nobody else knows it before it is published. */
static void move_to_larger(struct table *old) {
    need(old->bits < MOST_BITS, "the table is too large to grow");
    for (uint64_t i = 0; i < chains_of(old); i++)
        move_chain(&old->bucket[i]);
    struct table *new = new_table(old->bits + 1, old->version + 1);
    announce(new);
    persist(&new->version, sizeof new->version);
    for (uint64_t i = 0; i < chains_of(old); i++)
        copy_chain(&old->bucket[i], new);
    publish(new);
    retire(old);
}

/* A chain of a table was full. */
static void resize(const struct table *full) {
    pthread_mutex_lock(&resizing);
    if (load(&current) == offset_of(full))
        move_to_larger(at(load(&current)));
    pthread_mutex_unlock(&resizing);
}

/* Commands */

static void put(unsigned thread, uint64_t key) {
    for (bool done = false; !done;) {
        struct table *table = enter(thread);
        struct bucket *first = chain_of(table, key);
        if (take_chain(first)) {
            done = put_in(first, key, fresh_value(key));
            release_chain(first);
            leave(thread);
            if (!done)
                resize(table);
        } else {
            leave(thread);
            sched_yield();
        }
    }
}

/* Change what is there; a key that is not there stays so. */
static void update(unsigned thread, uint64_t key) {
    for (bool moved = true; moved;) {
        struct bucket *first = chain_of(enter(thread), key);
        struct place place;
        moved = !take_chain(first);
        if (!moved) {
            if (find(first, key, &place))
                fill(place, key, fresh_value(key));
            else if (seeded("lock-held")) {
                leave(thread);
                return;
            }
            release_chain(first);
        }
        leave(thread);
    }
}

static void del(unsigned thread, uint64_t key) {
    for (bool moved = true; moved;) {
        struct bucket *first = chain_of(enter(thread), key);
        struct place place;
        moved = !take_chain(first);
        if (!moved) {
            if (find(first, key, &place)) {
                store(&place.bucket->key[place.way], 0);
                persist(place.bucket, sizeof *place.bucket);
            }
            release_chain(first);
        }
        leave(thread);
    }
}

/* A value is read before its key and again after it: what is found belongs together. */
static uint64_t search(struct table *table, uint64_t key) {
    for (struct bucket *bucket = chain_of(table, key); bucket; bucket = next_of(bucket))
        for (int way = 0; way < WAYS; way++) {
            uint64_t value = load(&bucket->value[way]);
            if (load(&bucket->key[way]) == key && load(&bucket->value[way]) == value)
                return value;
        }
    return 0;
}

static void get(unsigned thread, uint64_t key) {
    uint64_t value = search(enter(thread), key);
    leave(thread);
    if (value && key_of(value) != key) {
        say("key %lu has the value of key %lu", key, key_of(value));
        abort();
    }
}

/* After a power cut */

static void each_bucket(struct table *table, void (*visit)(struct bucket *bucket)) {
    for (uint64_t i = 0; i < chains_of(table); i++)
        for (struct bucket *bucket = &table->bucket[i]; bucket; bucket = next_of(bucket))
            visit(bucket);
}

static void check_shape(const struct table *table) {
    for (uint64_t i = 0; i < chains_of(table); i++) {
        int length = 1;
        for (const struct bucket *bucket = &table->bucket[i]; bucket->next; bucket = at(bucket->next))
            if (!is_taken(bucket->next, BUCKET) || ++length > LONGEST)
                refuse("chain %lu leads to %lu, where no bucket is", i, bucket->next);
    }
}

static uint64_t found[MOST_KEY + 1];

static void note_keys(struct bucket *bucket) {
    for (int way = 0; way < WAYS; way++) {
        uint64_t key = bucket->key[way], value = bucket->value[way];
        if (!key)
            continue;
        if (key > MOST_KEY || key_of(value) != key)
            refuse("key %lu has the value %lu", key, value);
        if (found[key])
            refuse("key %lu is there twice", key);
        found[key] = value;
    }
}

static void must_be_copies(struct bucket *bucket) {
    for (int way = 0; way < WAYS; way++)
        if (bucket->key[way] && found[bucket->key[way]] != bucket->value[way])
            refuse("key %lu lies in a table to which nothing leads", bucket->key[way]);
}

static void check(void) {
    uint64_t now = ROOT->table;
    if (!is_taken(now, TABLE))
        refuse("there is no table at %lu", now);
    struct table *table = at(now);
    check_shape(table);
    each_bucket(table, note_keys);
    bool known = ROOT->announced == table->version;
    for (uint64_t other = next_object(0, TABLE); other; other = next_object(other, TABLE)) {
        struct table *young = at(other);
        if (young->version <= table->version)
            continue;
        check_shape(young);
        each_bucket(young, must_be_copies);
        known |= ROOT->announced == young->version;
    }
    if (!known)
        refuse("the collector knows of version %lu, and there is no such table", ROOT->announced);
}

static bool in_chains(struct table *table, uint64_t bucket) {
    for (uint64_t i = 0; i < chains_of(table); i++)
        for (uint64_t next = table->bucket[i].next; next; next = ((struct bucket *)at(next))->next)
            if (next == bucket)
                return true;
    return false;
}

/* Free all objects to which the table does not lead. */
static void collect(struct table *table) {
    for (uint64_t other = next_object(0, TABLE), next; other; other = next) {
        next = next_object(other, TABLE);
        if (other != offset_of(table))
            give_back(other, TABLE);
    }
    for (uint64_t bucket = next_object(0, BUCKET), next; bucket; bucket = next) {
        next = next_object(bucket, BUCKET);
        if (!in_chains(table, bucket))
            give_back(bucket, BUCKET);
    }
}

static void note_values(struct bucket *bucket) {
    for (int way = 0; way < WAYS; way++)
        if (bucket->key[way])
            note_value(bucket->value[way]);
}

static void recover(void) {
    struct table *table = at(ROOT->table);
    announce(table);
    collect(table);
    for (uint64_t i = 0; i < chains_of(table) && !seeded("locks-kept"); i++) {
        store(&table->bucket[i].lock, FREE);
        flush(&table->bucket[i].lock, sizeof table->bucket[i].lock);
    }
    fence();
    each_bucket(table, note_values);
    current = ROOT->table;
}

static void recovered(void) {
    struct table *table = at(ROOT->table);
    for (uint64_t i = 0; i < chains_of(table); i++)
        if (table->bucket[i].lock != FREE)
            refuse("chain %lu is locked, and nobody is there to unlock it", i);
}

int main(int argc, char **argv) {
    const struct target target = {
        .layout = "chains",
        .root_size = sizeof(struct root),
        .make = make,
        .recover = recover,
        .check = check,
        .recovered = recovered,
        .command = {{"put", put}, {"update", update}, {"del", del}, {"get", get}},
    };
    return run_target(argc, argv, &target);
}
