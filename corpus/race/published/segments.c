/* A hash table of segments with locks, behind a directory that doubles (after CCEH).
 *
 * The first bits of a hash choose an entry of the directory, and that leads to a segment; several entries
 * lead to one that has fewer bits than the directory. A segment has a lock, its prefix, and slots; a key lies
 * in one of a few slots from where its hash says. Where these are full, the segment is split: a new one gets
 * the keys whose next bit is 1. If the directory has no entry for that bit, it is made anew, twice as large.
 *
 * The directory is read by all, and changed by one that keeps all others away (`directory_lock`); segments
 * are changed under their own locks, which lie in the pool.
 *
 * Invariants:
 *   - A slot is durable before the lock of its segment is free, and the directory before its lock is.
 *   - A key counts only in the segment to which its entry leads. What else lies in slots are copies; they
 * count as free.
 *   - The directory that is being built hangs on the root. As long as it has no capacity, there is nothing in
 * it.
 */
#include "target.h"

enum { SLOTS = 32, PROBES = 8, FIRST_DEPTH = 1, MOST_DEPTH = 12 };
enum { SEGMENT = 1, DIRECTORY = 2, ENTRIES = 3 }; /* types of objects */
enum { FREE = 0, TAKEN = 1 };

struct slot {
    uint64_t key; /* 0: free */
    uint64_t value;
};

struct segment {
    _Alignas(LINE) uint64_t lock;
    _Alignas(LINE) uint64_t prefix; /* 1, and then the first bits of the hashes of all its keys */
    _Alignas(LINE) struct slot slot[SLOTS];
};

struct directory {
    _Alignas(LINE) uint64_t capacity; /* entries; a power of two */
    _Alignas(LINE) PMEMoid entries;   /* offsets of segments */
};

struct root {
    _Alignas(LINE) PMEMoid directory;
    PMEMoid building; /* the next one */
};

#define ROOT ((struct root *)pool_root)

static pthread_rwlock_t directory_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t splitting = PTHREAD_MUTEX_INITIALIZER; /* taken before the lock of the directory */

/* Hashes and prefixes */

static uint64_t hash_of(uint64_t key) {
    return key * 0x9e3779b97f4a7c15u;
}

static uint64_t depth_of(uint64_t prefix) {
    return 63 - (uint64_t)__builtin_clzll(prefix);
}

/* The prefix of some bits that a hash has. */
static uint64_t prefix_of(uint64_t hash, uint64_t depth) {
    return (uint64_t)1 << depth | hash >> (64 - depth);
}

static bool belongs(const struct segment *segment, uint64_t key) {
    uint64_t prefix = load(&segment->prefix);
    return prefix_of(hash_of(key), depth_of(prefix)) == prefix;
}

/* The directory */

static struct directory *directory_at(PMEMoid object) {
    return at(aligned(object.off));
}

static struct directory *directory(void) {
    return directory_at(ROOT->directory);
}

static uint64_t *entries_of(const struct directory *directory) {
    return at(directory->entries.off);
}

static uint64_t depth_now(void) {
    return (uint64_t)__builtin_ctzll(directory()->capacity);
}

static uint64_t *entry_of(uint64_t hash) {
    return &entries_of(directory())[hash >> (64 - depth_now())];
}

/* The entries that lead to segments of a prefix, in a directory of a depth: from `first` on, so many. */
static uint64_t entries_from(uint64_t prefix, uint64_t depth, uint64_t *first) {
    uint64_t shift = depth - depth_of(prefix);
    *first = (prefix << shift) - ((uint64_t)1 << depth);
    return (uint64_t)1 << shift;
}

/* A directory with room for some entries, which hangs on the root as the one that is being built. */
static struct directory *build_directory(uint64_t depth) {
    need(pmemobj_zalloc(pool, &ROOT->building, sizeof(struct directory) + LINE, DIRECTORY) == 0,
         "no directory");
    struct directory *made = directory_at(ROOT->building);
    store(&made->capacity, (uint64_t)1 << depth); // WRITE capacity
    if (!seeded("capacity"))
        persist(&made->capacity, sizeof made->capacity);
    size_t size = load(&made->capacity) * sizeof(uint64_t);                      // READ capacity
    int failed = pmemobj_alloc(pool, &made->entries, size, ENTRIES, NULL, NULL); // EFFECT capacity
    need(!failed, "no entries");
    return made;
}

/* What was built takes the place of the directory, which is given back. */
static void use_directory(void) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(ROOT, sizeof *ROOT);
        if (!OID_IS_NULL(ROOT->directory)) {
            pmemobj_tx_free(directory()->entries);
            pmemobj_tx_free(ROOT->directory);
        }
        ROOT->directory = ROOT->building;
        ROOT->building = OID_NULL;
    }
    TX_ONABORT {
        abort();
    }
    TX_END
}

/* Segments */

static struct segment *new_segment(uint64_t prefix) {
    struct segment *segment = at(take(sizeof *segment, SEGMENT));
    segment->prefix = prefix;
    persist(&segment->prefix, sizeof segment->prefix);
    return segment;
}

static void make(void) {
    struct directory *made = build_directory(FIRST_DEPTH);
    for (uint64_t i = 0; i < made->capacity; i++)
        entries_of(made)[i] = offset_of(new_segment(made->capacity | i));
    persist(entries_of(made), made->capacity * sizeof(uint64_t));
    persist(made, sizeof *made);
    use_directory();
}

static void take_segment(struct segment *segment) {
    uint64_t seen = FREE;
    while (!exchange(&segment->lock, &seen, TAKEN)) { // LOCK EFFECT entry
        seen = FREE;
        sched_yield();
    }
}

static void release_segment(struct segment *segment) {
    store(&segment->lock, FREE); // EFFECT entry
}

/* The slot number `probe` in which a key may lie. */
static struct slot *probe_slot(struct segment *segment, uint64_t key, int probe) {
    return &segment->slot[(hash_of(key) % SLOTS + (uint64_t)probe) % SLOTS];
}

static struct slot *slot_of(struct segment *segment, uint64_t key) {
    for (int i = 0; i < PROBES; i++) {
        struct slot *slot = probe_slot(segment, key, i);
        if (load(&slot->key) == key)
            return slot;
    }
    return NULL;
}

static struct slot *free_slot(struct segment *segment, uint64_t key) {
    for (int i = 0; i < PROBES; i++) {
        struct slot *slot = probe_slot(segment, key, i);
        uint64_t there = load(&slot->key);
        if (!there || !belongs(segment, there))
            return slot;
    }
    return NULL;
}

/* Fill a slot. If it held another key, that one goes first: no power cut shows it with this value. Slots lie
 * within lines, where stores persist in their order. */
static void fill(struct slot *slot, uint64_t key, uint64_t value) {
    if (load(&slot->key) != key)
        store(&slot->key, 0);   // EFFECT entry
    store(&slot->value, value); // EFFECT entry
    store(&slot->key, key);     // EFFECT entry
    persist(slot, sizeof *slot);
}

/* Splitting: under the lock of the directory */

/* A new segment with copies of the keys whose next bit is 1. */
static struct segment *upper_half(struct segment *segment) {
    struct segment *upper = new_segment(segment->prefix << 1 | 1);
    for (int i = 0; i < SLOTS; i++)
        if (segment->slot[i].key && belongs(segment, segment->slot[i].key) &&
            belongs(upper, segment->slot[i].key))
            upper->slot[i] = segment->slot[i];
    persist(upper, sizeof *upper);
    return upper;
}

static void double_directory(void) {
    const uint64_t *old = entries_of(directory());
    struct directory *made = build_directory(depth_now() + 1);
    for (uint64_t i = 0; i < directory()->capacity; i++)
        entries_of(made)[2 * i] = entries_of(made)[2 * i + 1] = old[i]; // EFFECT capacity
    persist(entries_of(made), 2 * directory()->capacity * sizeof(uint64_t));
    persist(made, sizeof *made);
    use_directory();
}

static void split(struct segment *segment) {
    uint64_t depth = depth_of(segment->prefix), first;
    need(depth < MOST_DEPTH, "too many keys with the same hash");
    if (depth == depth_now())
        double_directory();
    struct segment *upper = upper_half(segment);
    uint64_t count = entries_from(upper->prefix, depth_now(), &first),
             *entries = entries_of(directory()) + first;
    for (uint64_t i = 0; i < count; i++)
        store(&entries[i], offset_of(upper)); // WRITE entry
    if (seeded("entry")) {
        pthread_rwlock_unlock(&directory_lock); /* who looks for a key need not wait for memory */
        persist(entries, count * sizeof *entries);
        pthread_rwlock_wrlock(&directory_lock); // LOCK
    }
    persist(entries, count * sizeof *entries);
    store(&segment->prefix, segment->prefix << 1);
    persist(&segment->prefix, sizeof segment->prefix);
}

/* There was no room for a key. */
static void make_room(uint64_t key) {
    pthread_mutex_lock(&splitting);         // LOCK
    pthread_rwlock_wrlock(&directory_lock); // LOCK
    struct segment *segment = at(load(entry_of(hash_of(key))));
    if (!slot_of(segment, key) && !free_slot(segment, key))
        split(segment);
    pthread_rwlock_unlock(&directory_lock);
    pthread_mutex_unlock(&splitting);
}

/* Commands */

/* The segment of a key, which is locked, and stays its segment until it is free again. */
static struct segment *enter(uint64_t key) {
    pthread_rwlock_rdlock(&directory_lock);                     // LOCK
    struct segment *segment = at(load(entry_of(hash_of(key)))); // READ entry
    take_segment(segment);
    return segment;
}

static void leave(struct segment *segment) {
    release_segment(segment);
    pthread_rwlock_unlock(&directory_lock);
}

static void put(unsigned thread, uint64_t key) {
    (void)thread;
    for (;;) {
        struct segment *segment = enter(key);
        struct slot *slot = slot_of(segment, key);
        if (!slot)
            slot = free_slot(segment, key);
        if (slot) {
            fill(slot, key, fresh_value(key));
            leave(segment);
            return;
        }
        if (seeded("lock-order")) {
            pthread_rwlock_unlock(
                &directory_lock); /* the lock of the segment is kept: nobody else shall fill it */
            make_room(key);
            release_segment(segment);
        } else {
            leave(segment);
            make_room(key);
        }
    }
}

/* Change what is there; a key that is not there stays so. */
static void update(unsigned thread, uint64_t key) {
    (void)thread;
    struct segment *segment = enter(key);
    struct slot *slot = slot_of(segment, key);
    if (slot)
        fill(slot, key, fresh_value(key));
    leave(segment);
}

static void del(unsigned thread, uint64_t key) {
    (void)thread;
    struct segment *segment = enter(key);
    struct slot *slot = slot_of(segment, key);
    if (slot) {
        store(&slot->key, 0);
        persist(&slot->key, sizeof slot->key);
    }
    leave(segment);
}

/* Look for a key without the lock of its segment: a value is read before its key and again after it. */
static void get(unsigned thread, uint64_t key) {
    (void)thread;
    pthread_rwlock_rdlock(&directory_lock); // LOCK
    struct segment *segment = at(load(entry_of(hash_of(key))));
    for (int i = 0; i < PROBES; i++) {
        struct slot *slot = probe_slot(segment, key, i);
        uint64_t value = load(&slot->value);
        if (load(&slot->key) == key && load(&slot->value) == value && key_of(value) != key) {
            say("key %lu has the value of key %lu", key, key_of(value));
            abort();
        }
    }
    pthread_rwlock_unlock(&directory_lock);
}

/* After a power cut */

static uint64_t found[MOST_KEY + 1];

/* A key of a segment counts if its entry leads there. */
static bool counts(const struct segment *segment, uint64_t key) {
    return key && load(entry_of(hash_of(key))) == offset_of(segment);
}

static void note_keys(const struct segment *segment) {
    for (int i = 0; i < SLOTS; i++) {
        uint64_t key = segment->slot[i].key, value = segment->slot[i].value;
        if (!counts(segment, key))
            continue;
        if (key > MOST_KEY || key_of(value) != key)
            refuse("key %lu has the value %lu", key, value);
        if (found[key])
            refuse("key %lu is there twice", key);
        found[key] = value;
        note_value(value);
    }
}

static bool has_entry(uint64_t segment) {
    for (uint64_t i = 0; i < directory()->capacity; i++)
        if (entries_of(directory())[i] == segment)
            return true;
    return false;
}

/* A segment to which nothing leads was about to get its entries: it holds copies only. */
static void must_hold_copies(const struct segment *segment) {
    for (int i = 0; i < SLOTS; i++)
        if (segment->slot[i].key && found[segment->slot[i].key] != segment->slot[i].value)
            refuse("key %lu lies in a segment to which nothing leads", segment->slot[i].key);
}

static void check_entries(void) {
    const struct directory *now = directory();
    if (OID_IS_NULL(ROOT->directory) || !is_taken(aligned(ROOT->directory.off), DIRECTORY))
        refuse("there is no directory");
    if (!now->capacity || now->capacity & (now->capacity - 1) ||
        pmemobj_alloc_usable_size(now->entries) < now->capacity * sizeof(uint64_t))
        refuse("the directory has no room for %lu entries", now->capacity);
    for (uint64_t i = 0; i < now->capacity; i++) {
        uint64_t segment = entries_of(now)[i];
        if (!is_taken(segment, SEGMENT))
            refuse("entry %lu leads to %lu, where no segment is", i, segment);
        uint64_t depth = depth_of(((struct segment *)at(segment))->prefix);
        if (depth > depth_now() ||
            prefix_of(i << (64 - depth_now()), depth) != ((struct segment *)at(segment))->prefix)
            refuse("entry %lu leads to the segment of others", i);
    }
}

static void check(void) {
    check_entries();
    for (uint64_t one = next_object(0, SEGMENT); one; one = next_object(one, SEGMENT))
        note_keys(at(one));
    for (uint64_t one = next_object(0, SEGMENT); one; one = next_object(one, SEGMENT))
        if (!has_entry(one))
            must_hold_copies(at(one));
}

/* End a split that had begun to change the directory: the deeper segment gets all its entries. */
static void complete_entries(const struct segment *segment) {
    uint64_t first, *entries = entries_of(directory());
    uint64_t count = entries_from(segment->prefix, depth_now(), &first);
    for (uint64_t i = first; i < first + count; i++) {
        const struct segment *there = at(entries[i]);
        if (depth_of(there->prefix) < depth_of(segment->prefix))
            store(&entries[i], offset_of(segment));
    }
    persist(entries + first, count * sizeof *entries);
}

/* Of a segment that was split, the prefix says so. */
static void complete_prefix(struct segment *segment) {
    uint64_t first, count = entries_from(segment->prefix, depth_now(), &first);
    if (entries_of(directory())[first + count - 1] == offset_of(segment))
        return;
    store(&segment->prefix, segment->prefix << 1);
    persist(&segment->prefix, sizeof segment->prefix);
}

static void drop_building(void) {
    if (OID_IS_NULL(ROOT->building))
        return;
    struct directory *begun = directory_at(ROOT->building);
    if (begun->capacity)
        pmemobj_free(&begun->entries);
    pmemobj_free(&ROOT->building);
}

static void recover(void) {
    drop_building();
    for (uint64_t one = next_object(0, SEGMENT), next; one; one = next) {
        next = next_object(one, SEGMENT);
        if (!has_entry(one))
            give_back(one, SEGMENT);
        else
            complete_entries(at(one));
    }
    for (uint64_t one = next_object(0, SEGMENT); one; one = next_object(one, SEGMENT)) {
        struct segment *segment = at(one);
        complete_prefix(segment);
        if (!seeded("locks-kept"))
            store(&segment->lock, FREE);
        persist(&segment->lock, sizeof segment->lock);
    }
}

static void recovered(void) {
    for (uint64_t one = next_object(0, SEGMENT); one; one = next_object(one, SEGMENT))
        if (((struct segment *)at(one))->lock != FREE)
            refuse("the segment at %lu is locked, and nobody is there to unlock it", one);
    for (uint64_t one = next_object(0, ENTRIES); one; one = next_object(one, ENTRIES))
        if (one != aligned(directory()->entries.off))
            refuse("the entries at %lu belong to no directory, and nobody gives them back", one);
}

int main(int argc, char **argv) {
    const struct target target = {
        .layout = "segments",
        .root_size = sizeof(struct root),
        .make = make,
        .recover = recover,
        .check = check,
        .recovered = recovered,
        .command = {{"put", put}, {"update", update}, {"del", del}, {"get", get}},
    };
    return run_target(argc, argv, &target);
}
