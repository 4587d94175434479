/* Items and chains: what clients want.
 *
 * Invariants:
 *   - An item is whole, durably, before a chain leads to it, and linked after the chain durably does.
 *   - An item that is replaced or goes is leaving before the chain leads elsewhere, and free after it durably
 * does.
 *   - What others can see of an item is durable before the lock of its chain is free. So a copy is never
 * newer than the item it was made from, if that is there.
 *   - Chains are locked one at a time. Who has one locked may lock a slab; who has a slab locked waits for no
 * chain.
 */
#include "cache.h"

enum { CHAIN_LOCKS = 8, NOBODY = -1, MOST_TEXT = 384 };

static pthread_mutex_t chain_locks[CHAIN_LOCKS] = {[0 ... CHAIN_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local int held = NOBODY; /* the lock of this thread */
static uint64_t newest_version;

/* What an item is to hold. */
struct content {
    const char *key; /* in a buffer of NAME bytes, the rest of which is zero */
    uint64_t number, bytes;
    char source[NAME]; /* empty: it is no copy */
    uint64_t made_from;
};

/* Chains */

static uint64_t chain_of(const char *key) {
    uint64_t hash = 14695981039346656037u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 1099511628211u;
    return hash >> 32 & (CHAINS - 1);
}

static void lock_chain(const char *key) {
    int lock = (int)(chain_of(key) % CHAIN_LOCKS);
    pthread_mutex_lock(&chain_locks[lock]); // LOCK
    held = lock;
}

static void unlock_chain(void) {
    int lock = held;
    held = NOBODY;
    pthread_mutex_unlock(&chain_locks[lock]);
}

/* Find the item of a key, and the word that leads to it, or that would lead to a new one. */
static struct item *find(const char *key, uint64_t **place) {
    *place = &pool->chain[chain_of(key)];
    for (uint64_t next; (next = load(*place)); *place = &((struct item *)at(next))->chain) // READ link
        if (strcmp(((struct item *)at(next))->key, key) == 0)
            return at(next);
    return NULL;
}

/* Others see the item from now on; `old` is the one in whose place it comes, or NULL. */
static void lead_to(uint64_t *place, struct item *item, struct item *old) {
    if (old)
        set_state(old, LEAVING);
    store(place, offset_of(item)); // WRITE link EFFECT link page
    if (seeded("link")) {
        char key[NAME];
        memcpy(key, item->key, sizeof key);
        unlock_chain(); /* others need not wait for memory */
        persist(place, sizeof *place);
        lock_chain(key);
        if (find(key, &place) != item)
            return; /* somebody was faster, and has replaced it */
    }
    persist(place, sizeof *place);
    set_state(item, LINKED);
}

/* Nothing leads to the item any more. */
static void lead_past(uint64_t *place, struct item *item) {
    set_state(item, LEAVING);
    store(place, load(&item->chain)); // READ link EFFECT link page
    persist(place, sizeof *place);
}

/* Items */

static uint64_t fresh_version(void) {
    return __atomic_add_fetch(&newest_version, 1, __ATOMIC_RELAXED);
}

static void note_version(uint64_t version) {
    if (version > newest_version)
        newest_version = version;
}

/* All of a text: its key, again and again. */
static void write_text(char *text, const char *key, uint64_t bytes) {
    const char *from = key;
    for (uint64_t i = 0; i < bytes; i++) {
        text[i] = *from; // EFFECT page
        from = from[1] ? from + 1 : key;
    }
}

static void fill(struct item *item, const struct content *content, uint64_t chain) {
    set_state(item, TAKEN);
    store(&item->chain, chain);                  // EFFECT link page
    item->number = content->number;              // EFFECT value page
    item->version = fresh_version();             // EFFECT page
    item->made_from = content->made_from;        // EFFECT value page
    item->bytes = content->bytes;                // EFFECT page
    memcpy(item->key, content->key, NAME);       // EFFECT page
    memcpy(item->source, content->source, NAME); // EFFECT page
    write_text(item->text, content->key, content->bytes);
    persist(item, sizeof *item + content->bytes);
}

/* The chain is locked. False: there is no room. */
static bool put(const struct content *content) {
    uint64_t slab = slab_for(content->bytes), *place;
    struct item *item = slab < SLABS ? take_piece(slab) : NULL, *old = find(content->key, &place);
    if (!item)
        return false;
    fill(item, content, old ? load(&old->chain) : 0); // READ link
    used_last(slab, item, true);
    lead_to(place, item, old);
    if (old)
        give_piece(slab_for(old->bytes), old);
    return true;
}

bool give_up_item(struct item *item) {
    char key[NAME];
    memcpy(key, item->key, sizeof key);
    int lock = (int)(chain_of(key) % CHAIN_LOCKS), mine = held;
    uint64_t *place;
    if (lock == mine)
        return false; /* it may be the one that is being replaced, or lead to it */
    if (seeded("lock-order"))
        pthread_mutex_lock(&chain_locks[lock]); // LOCK
    else if (pthread_mutex_trylock(&chain_locks[lock]) != 0)
        return false;
    bool is_linked = find(key, &place) == item;
    if (is_linked)
        lead_past(place, item);
    pthread_mutex_unlock(&chain_locks[lock]);
    return is_linked;
}

/* Commands: the answer is for the client */

static void set(const char *key, uint64_t bytes, char *answer, size_t size) {
    struct content content = {.key = key, .bytes = bytes};
    lock_chain(key);
    snprintf(answer, size, put(&content) ? "OK" : "FULL");
    unlock_chain();
}

static void get(const char *key, char *answer, size_t size) {
    uint64_t *place;
    lock_chain(key);
    struct item *item = find(key, &place);
    if (item) {
        snprintf(answer, size, "VALUE %lu %lu", load(&item->number), item->bytes); // READ value EFFECT value
        used_last(slab_for(item->bytes), item, false);
    }
    unlock_chain();
}

/* Count up, in place: number and version lie in one line, where stores persist in their order. */
static void incr(const char *key, char *answer, size_t size) {
    uint64_t *place;
    lock_chain(key);
    struct item *item = find(key, &place);
    if (item) {
        store(&item->number, load(&item->number) + 1); // WRITE value READ value EFFECT value link page
        store(&item->version, fresh_version());        // WRITE value EFFECT link page
        if (!seeded("value"))
            persist(&item->number, LINE);
        snprintf(answer, size, "OK");
    }
    unlock_chain();
    if (item && seeded("value"))
        persist(&item->number, LINE);
}

/* Make one item from another: they have the same number. */
static void copy(const char *from, const char *to, char *answer, size_t size) {
    struct content content = {.key = to};
    uint64_t *place;
    lock_chain(from);
    const struct item *source = find(from, &place);
    if (source) {
        memcpy(content.source, source->key, NAME);
        content.number = load(&source->number);     // READ value
        content.made_from = load(&source->version); // READ value
        content.bytes = source->bytes;
    }
    unlock_chain();
    if (!source)
        return;
    lock_chain(to);
    snprintf(answer, size, put(&content) ? "OK" : "FULL");
    unlock_chain();
}

static void del(const char *key, char *answer, size_t size) {
    uint64_t *place;
    lock_chain(key);
    struct item *item = find(key, &place);
    if (item) {
        lead_past(place, item);
        give_piece(slab_for(item->bytes), item);
        snprintf(answer, size, "OK");
    }
    unlock_chain();
}

void carry_out(char *command, char *answer, size_t size) {
    char name[NAME] = "", key[NAME] = "", other[NAME] = "";
    uint64_t bytes;
    snprintf(answer, size, "NONE");
    if (sscanf(command, "set %15s %lu", key, &bytes) == 2 && bytes <= MOST_TEXT)
        set(key, bytes, answer, size);
    else if (sscanf(command, "copy %15s %15s", key, other) == 2)
        copy(key, other, answer, size);
    else if (sscanf(command, "%15s %15s", name, key) != 2)
        snprintf(answer, size, "refused: %s", command);
    else if (strcmp(name, "get") == 0)
        get(key, answer, size);
    else if (strcmp(name, "incr") == 0)
        incr(key, answer, size);
    else if (strcmp(name, "del") == 0)
        del(key, answer, size);
    else
        snprintf(answer, size, "refused: %s", command);
}

/* After a power cut */

static bool is_linked(const struct item *item) {
    for (uint64_t next = pool->chain[chain_of(item->key)]; next; next = ((struct item *)at(next))->chain)
        if (at(next) == item)
            return true;
    return false;
}

/* The keys of an item end within their room: what follows trusts that. */
static void check_item(const struct item *item, uint64_t chain) {
    if (!memchr(item->key, 0, NAME) || !memchr(item->source, 0, NAME) || chain_of(item->key) != chain)
        refuse("chain %lu leads to an item whose key does not belong there", chain);
    if (item->bytes > MOST_TEXT || slab_for(item->bytes) >= SLABS)
        refuse("the item of %s has a text of %lu bytes", item->key, item->bytes);
    for (uint64_t i = 0; i < item->bytes; i++)
        if (item->text[i] != item->key[i % strlen(item->key)])
            refuse("the item of %s has the text of another", item->key);
}

static void check_chain(uint64_t chain) {
    uint64_t *place, length = 0;
    for (uint64_t next = pool->chain[chain]; next; next = ((struct item *)at(next))->chain) {
        struct item *item = at(next);
        if (!is_piece(next) || item->state == FREE)
            refuse("chain %lu leads to %lu, where no item is", chain, next);
        if (++length > PAGES * PAGE / sizeof(struct item))
            refuse("chain %lu goes round in a circle", chain);
        check_item(item, chain);
        if (find(item->key, &place) != item)
            refuse("there are two items of %s", item->key);
    }
}

static void check_piece(uint64_t slab, struct item *item) {
    uint64_t *place;
    if (item->state != LINKED)
        return;
    if (!memchr(item->key, 0, NAME) || !is_linked(item))
        refuse("the item of %.15s is linked, and no chain leads to it", item->key);
    if (slab_for(item->bytes) != slab)
        refuse("the item of %s is too large for its slab, or too small", item->key);
    const struct item *source = *item->source ? find(item->source, &place) : NULL;
    if (source && source->version < item->made_from)
        refuse("%s was made from version %lu of %s, of which there is version %lu", item->key,
               item->made_from, source->key, source->version);
}

void check_items(void) {
    for (uint64_t chain = 0; chain < CHAINS; chain++)
        check_chain(chain);
    each_piece(check_piece);
}

static void recover_item(uint64_t slab, struct item *item) {
    bool linked = item->state != FREE && is_linked(item);
    if (linked)
        note_version(item->version);
    recover_piece(slab, item, linked);
}

void recover_items(void) {
    each_piece(recover_item);
}
