/* A B+ tree whose nodes are linked to their right siblings, with reader-writer locks (after FAST_FAIR).
 *
 * A node has a lock, which lies in the pool beside the data, the range of its keys, and slots in no order.
 * Who looks for a key reads one node after the other, each under its lock, and goes to the right where a
 * split has moved the key. A full node is split: a new one gets the upper half, is linked behind it, and then
 * the parent is led to it, which may be split in turn.
 *
 * Invariants:
 *   - What others can see of a node is durable before its lock is free.
 *   - A parent leads only where the chain of siblings leads as well; it may lack a node, and the chain is the
 *     way then. Slots beyond the end of a node are copies of what its sibling holds; they count as free.
 *   - A node to which nothing leads is about to be linked, and holds copies only.
 *   - Locks are taken upwards, and on one level from left to right.
 */
#include "target.h"

enum { SLOTS = 8, HIGHEST = 10, SCANNED = 3 /* nodes of a scan */ };
enum { NODE = 1 }; /* the type of objects */
enum { USUAL_KEYS = 200 };

struct slot {
    uint64_t key; /* 0: free */
    uint64_t value;
};

struct node {
    _Alignas(LINE) pthread_rwlock_t lock;
    _Alignas(LINE) uint64_t level; /* 0: a leaf */
    uint64_t low;                  /* keys begin with this one */
    uint64_t high;                 /* and end before this one; 0: with the last one */
    uint64_t sibling;              /* changes before `high` does */
    uint64_t first;                /* the child for keys below those of all slots */
    _Alignas(LINE) struct slot slot[SLOTS];
};

struct root {
    _Alignas(LINE) uint64_t top; /* a node of the highest level */
};

#define ROOT ((struct root *)pool_root)

static uint64_t top; /* the node to which threads are led */
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

/* Nodes */

static struct node *new_node(uint64_t level, uint64_t low) {
    struct node *node = at(take(sizeof *node, NODE));
    node->level = level;
    node->low = low;
    persist(&node->level, LINE);
    return node;
}

/* Lead the pool to a node, then the threads. */
static void publish(const struct node *node) {
    store(&ROOT->top, offset_of(node));
    persist(&ROOT->top, sizeof ROOT->top);
    store(&top, offset_of(node));
}

static void make(void) {
    publish(new_node(0, 0));
}

static void read_lock(struct node *node) {
    need(pthread_rwlock_rdlock(&node->lock) == 0, "pthread_rwlock_rdlock"); // LOCK EFFECT sibling
}

static void write_lock(struct node *node) {
    need(pthread_rwlock_wrlock(&node->lock) == 0, "pthread_rwlock_wrlock"); // LOCK EFFECT sibling
}

static void release(struct node *node) {
    need(pthread_rwlock_unlock(&node->lock) == 0, "pthread_rwlock_unlock"); // EFFECT sibling
}

/* Whether a slot holds a key of the node. */
static bool is_used(const struct node *node, const struct slot *slot) {
    return slot->key && (!node->high || slot->key < node->high);
}

static struct slot *slot_of(struct node *node, uint64_t key) {
    for (int i = 0; i < SLOTS; i++)
        if (is_used(node, &node->slot[i]) && node->slot[i].key == key)
            return &node->slot[i];
    return NULL;
}

static struct slot *free_slot(struct node *node) {
    for (int i = 0; i < SLOTS; i++)
        if (!is_used(node, &node->slot[i]))
            return &node->slot[i];
    return NULL;
}

/* Fill a slot. If it held another key, that one goes first: no power cut shows it with this value. Slots lie
 * within lines, where stores persist in their order. */
static void fill(struct slot *slot, uint64_t key, uint64_t value) {
    if (slot->key != key)
        store(&slot->key, 0);   // EFFECT sibling
    store(&slot->value, value); // EFFECT sibling separator
    store(&slot->key, key);     // EFFECT sibling separator
    persist(slot, sizeof *slot);
}

/* Finding the way */

/* The sibling if a key belongs there or behind it, else NULL. */
static struct node *right_of(struct node *node, uint64_t key) {
    uint64_t high = load(&node->high);                            // READ sibling
    return high && key >= high ? at(load(&node->sibling)) : NULL; // READ sibling
}

static struct node *child_of(struct node *node, uint64_t key) {
    uint64_t best = 0, child = node->first;
    for (int i = 0; i < SLOTS; i++)
        if (is_used(node, &node->slot[i]) && node->slot[i].key <= key && node->slot[i].key > best) {
            best = node->slot[i].key;
            child = node->slot[i].value;
        }
    return at(child);
}

/* The node of a level to which a key belongs, locked; nodes above that are only read. `held` is a node to the
 * left of it that is locked already, or NULL. */
static struct node *lock_node(uint64_t key, uint64_t level, void (*get_lock)(struct node *node),
                              struct node *held) {
    struct node *node = at(load(&top));
    for (;;) {
        bool there = load(&node->level) == level;
        if (node == held)
            node = at(node->sibling); // READ sibling
        (there ? get_lock : read_lock)(node);
        struct node *right = right_of(node, key), *next = right ? right : there ? NULL : child_of(node, key);
        if (!next)
            return node;
        release(node);
        node = next;
    }
}

/* Splitting */

/* The smallest key of the upper half of a full node. */
static uint64_t middle_of(const struct node *node) {
    for (int i = 0; i < SLOTS; i++) {
        int below = 0;
        for (int j = 0; j < SLOTS; j++)
            below += node->slot[j].key < node->slot[i].key;
        if (below == SLOTS / 2)
            return node->slot[i].key;
    }
    abort();
}

/* A new node with a copy of the upper half. Of an inner node the middle slot's child is the first one there.
 */
static struct node *upper_half(const struct node *node, uint64_t middle) {
    struct node *right = new_node(node->level, middle);
    for (int i = 0, count = 0; i < SLOTS; i++) {
        const struct slot *slot = &node->slot[i];
        if (slot->key == middle && node->level)
            right->first = slot->value;
        else if (slot->key >= middle)
            right->slot[count++] = *slot;
    }
    right->high = node->high;
    right->sibling = node->sibling;
    persist(right, sizeof *right);
    return right;
}

static void lead_parent_to(uint64_t level, uint64_t key, uint64_t child);

/* Split a full node, which is locked, and free it. */
static void split(struct node *node) {
    uint64_t middle = middle_of(node);
    struct node *right = upper_half(node, middle);
    store(&node->sibling, offset_of(right)); // WRITE sibling separator
    store(&node->high, middle);              // WRITE sibling separator
    if (seeded("sibling"))
        release(node);
    if (seeded("separator")) {
        uint64_t high = load(&node->high);                           // READ separator
        lead_parent_to(node->level + 1, high, load(&node->sibling)); // READ separator
        persist(&node->level, LINE);
        release(node);
        return;
    }
    persist(&node->level, LINE);
    if (!seeded("sibling"))
        release(node);
    lead_parent_to(node->level + 1, middle, offset_of(right));
}

/* Whether the tree was too low for a level: it then has a new top, with this child on the right. */
static bool grow(uint64_t level, uint64_t key, uint64_t child) {
    pthread_mutex_lock(&growing);
    struct node *old = at(load(&top));
    bool low = old->level < level;
    if (low) {
        struct node *new = new_node(level, 0);
        new->first = offset_of(old);
        new->slot[0].key = key;     // EFFECT separator
        new->slot[0].value = child; // EFFECT separator
        persist(new, sizeof *new);
        publish(new);
    }
    pthread_mutex_unlock(&growing);
    return low;
}

/* Put a key into a node that is locked for writing, and free that. */
static void put_in(struct node *node, uint64_t key, uint64_t value, bool *done) {
    struct slot *slot = slot_of(node, key);
    if (!slot)
        slot = free_slot(node);
    *done = slot != NULL;
    if (!slot) {
        split(node);
        return;
    }
    fill(slot, key, value);
    release(node);
}

static void lead_parent_to(uint64_t level, uint64_t key, uint64_t child) {
    bool done = ((struct node *)at(load(&top)))->level < level && grow(level, key, child);
    while (!done)
        put_in(lock_node(key, level, write_lock, NULL), key, child, &done);
}

/* Commands */

static void put(unsigned thread, uint64_t key) {
    (void)thread;
    for (bool done = false; !done;)
        put_in(lock_node(key, 0, write_lock, NULL), key, fresh_value(key), &done);
}

/* Change what is there; a key that is not there stays so. */
static void update(unsigned thread, uint64_t key) {
    (void)thread;
    struct node *node = lock_node(key, 0, write_lock, NULL);
    struct slot *slot = slot_of(node, key);
    if (slot)
        fill(slot, key, fresh_value(key));
    release(node);
}

static void del(unsigned thread, uint64_t key) {
    (void)thread;
    struct node *node = lock_node(key, 0, write_lock, NULL);
    struct slot *slot = slot_of(node, key);
    if (slot) {
        store(&slot->key, 0);
        persist(&slot->key, sizeof slot->key);
    }
    release(node);
}

static void expect(uint64_t key, uint64_t value) {
    if (key_of(value) == key)
        return;
    say("key %lu has the value of key %lu", key, key_of(value));
    abort();
}

static void get(unsigned thread, uint64_t key) {
    (void)thread;
    struct node *node = lock_node(key, 0, read_lock, NULL);
    struct slot *slot = slot_of(node, key);
    if (slot)
        expect(key, slot->value);
    release(node);
}

/* Look at the keys from one on. The next node is locked before this one is free: nothing moves between them.
 */
static void scan(unsigned thread, uint64_t key) {
    (void)thread;
    struct node *node = lock_node(key, 0, read_lock, NULL);
    for (int count = 1;; count++) {
        for (int i = 0; i < SLOTS; i++)
            if (is_used(node, &node->slot[i]))
                expect(node->slot[i].key, node->slot[i].value);
        struct node *next = count < SCANNED && node->sibling ? at(node->sibling) : NULL; // READ sibling
        if (next)
            read_lock(next);
        release(node);
        if (!next)
            return;
        node = next;
    }
}

/* The key whose place another one gets when it is moved. */
static uint64_t partner_of(uint64_t key) {
    return (key + USUAL_KEYS / 2 - 1) % USUAL_KEYS + 1;
}

static void change_places(struct slot *from, struct slot *to, uint64_t key) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(from, sizeof *from);
        pmemobj_tx_add_range_direct(to, sizeof *to);
        from->key = 0;
        to->value = fresh_value(key);
        to->key = key;
    }
    TX_ONABORT {
        abort();
    }
    TX_END
}

/* Move a key to its partner, if there is one and room for the other, in one step also for a power cut. */
static void move(unsigned thread, uint64_t key) {
    (void)thread;
    uint64_t other = partner_of(key), one = key;
    if (!seeded("lock-order") && one > other) {
        one = other;
        other = key;
    }
    struct node *node = lock_node(one, 0, write_lock, NULL), *next = node;
    bool same = other >= node->low && (!node->high || other < node->high);
    if (!same)
        next = lock_node(other, 0, write_lock, other > one ? node : NULL);
    struct node *here = key == one ? node : next, *there = key == one ? next : node;
    struct slot *from = slot_of(here, key), *to = slot_of(there, partner_of(key));
    if (!to)
        to = free_slot(there);
    if (from && to)
        change_places(from, to, partner_of(key));
    if (!same)
        release(next);
    release(node);
}

/* After a power cut */

enum { MOST_NODES = 4096 };

static uint64_t linked[MOST_NODES]; /* nodes to which the chains lead */
static int linked_count;
static uint64_t found[MOST_KEY + 1];

static bool is_linked(uint64_t offset) {
    for (int i = 0; i < linked_count; i++)
        if (linked[i] == offset)
            return true;
    return false;
}

static void must_be_node(uint64_t offset, uint64_t level) {
    if (!is_taken(offset, NODE) || ((struct node *)at(offset))->level != level)
        refuse("there is no node of level %lu at %lu", level, offset);
}

/* Where a node ends, also if the power was cut before that was stored. */
static uint64_t end_of(const struct node *node) {
    return node->sibling ? ((struct node *)at(node->sibling))->low : 0;
}

static void check_child(uint64_t child, uint64_t level) {
    must_be_node(child, level);
    if (!is_linked(child))
        refuse("a parent leads to the node at %lu, and its sibling does not", child);
}

static void check_slot(const struct node *node, const struct slot *slot) {
    if (!slot->key || (end_of(node) && slot->key >= end_of(node)))
        return;
    if (slot->key < node->low)
        refuse("key %lu lies in a node that begins with %lu", slot->key, node->low);
    if (node->level) {
        check_child(slot->value, node->level - 1);
        return;
    }
    if (slot->key > MOST_KEY || key_of(slot->value) != slot->key)
        refuse("key %lu has the value %lu", slot->key, slot->value);
    if (found[slot->key])
        refuse("key %lu is there twice", slot->key);
    found[slot->key] = slot->value;
}

static void check_node(const struct node *node) {
    if (node->sibling && end_of(node) <= node->low)
        refuse("the node that begins with %lu leads to one that begins with %lu", node->low, end_of(node));
    if (node->level)
        check_child(node->first, node->level - 1);
    for (int i = 0; i < SLOTS; i++)
        check_slot(node, &node->slot[i]);
}

/* All nodes of a level, from its first one on; those of the level below are linked already. */
static void check_level(uint64_t leftmost, uint64_t level) {
    for (uint64_t offset = leftmost; offset; offset = ((struct node *)at(offset))->sibling) {
        must_be_node(offset, level);
        if (is_linked(offset) || linked_count == MOST_NODES)
            refuse("the nodes of level %lu go round in a circle", level);
        linked[linked_count++] = offset;
        uint64_t sibling = ((struct node *)at(offset))->sibling;
        if (sibling)
            must_be_node(sibling, level);
        check_node(at(offset));
    }
}

static void must_hold_copies(const struct node *node) {
    for (int i = 0; i < SLOTS; i++)
        if (node->slot[i].key && found[node->slot[i].key] != node->slot[i].value)
            refuse("key %lu lies in a node to which nothing leads", node->slot[i].key);
}

static void check(void) {
    uint64_t leftmost[HIGHEST], highest;
    if (!is_taken(ROOT->top, NODE) || (highest = ((struct node *)at(ROOT->top))->level) >= HIGHEST)
        refuse("there is no node at %lu", ROOT->top);
    linked_count = 0;
    leftmost[highest] = ROOT->top;
    for (uint64_t level = highest; level > 0; level--) {
        leftmost[level - 1] = ((struct node *)at(leftmost[level]))->first;
        must_be_node(leftmost[level - 1], level - 1);
    }
    for (uint64_t level = 0; level <= highest; level++)
        check_level(leftmost[level], level);
    for (uint64_t offset = next_object(0, NODE); offset; offset = next_object(offset, NODE))
        if (!is_linked(offset) && !((struct node *)at(offset))->level)
            must_hold_copies(at(offset));
}

/* End what was begun: splits, and nodes that were about to be linked. The check has found those that are. */
static void recover(void) {
    for (uint64_t offset = next_object(0, NODE), next; offset; offset = next) {
        next = next_object(offset, NODE);
        if (!is_linked(offset))
            give_back(offset, NODE);
    }
    for (int i = 0; i < linked_count; i++) {
        struct node *node = at(linked[i]);
        if (!seeded("locks-kept")) {
            memset(&node->lock, 0, sizeof node->lock);
            flush(&node->lock, sizeof node->lock);
        }
        store(&node->high, end_of(node));
        flush(&node->level, LINE);
        for (int j = 0; j < SLOTS; j++)
            if (node->slot[j].key && !node->level)
                note_value(node->slot[j].value);
    }
    fence();
    top = ROOT->top;
}

static void recovered(void) {
    for (int i = 0; i < linked_count; i++) {
        struct node *node = at(linked[i]);
        if (pthread_rwlock_trywrlock(&node->lock) != 0)
            refuse("the node at %lu is locked, and nobody is there to unlock it", linked[i]);
        release(node);
    }
}

int main(int argc, char **argv) {
    const struct target target = {
        .layout = "siblings",
        .root_size = sizeof(struct root),
        .make = make,
        .recover = recover,
        .check = check,
        .recovered = recovered,
        .command =
            {{"put", put}, {"update", update}, {"del", del}, {"get", get}, {"scan", scan}, {"move", move}},
    };
    return run_target(argc, argv, &target);
}
