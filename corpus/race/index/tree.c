/* A B+ tree after FAST_FAIR and the B-link tree: nodes with slots in no order, each linked to its right
 * sibling. Searches take no lock; a key that has moved to the right is found through the sibling.
 *
 * Invariants: a node is changed under its lock, and durable before that is free. The keys of a node are from
 * `low` to below `high`; what lies beyond are copies of what the sibling holds. A parent leads to nodes only
 * that the chain of siblings leads to as well: it may lack one, and the sibling is the way then. Locks are
 * taken upwards only. */
#include "lock.h"
#include "slot.h"

enum { SLOTS = 12, HIGHEST = 12 };

struct node {
    _Alignas(LINE) uint64_t lock;
    uint64_t level; /* 0: a leaf */
    uint64_t low;
    uint64_t high;    /* 0: there is no key that is too large */
    uint64_t sibling; /* changes before `high` does */
    uint64_t first;   /* the child for keys below those of all slots */
    _Alignas(LINE) struct slot slot[SLOTS];
};

static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

/* A new node. Its level is durable before anything else of it is: keys of an inner node are not taken for a
 * leaf's. */
static struct node *new_node(struct worker *self, uint64_t level) {
    struct node *node = take(self, sizeof *node);
    if (level) {
        node->level = level;
        persist(node, LINE);
    }
    return node;
}

static void tree_make(struct worker *self) {
    pool->root = offset_of(new_node(self, 0));
    persist(&pool->root, sizeof pool->root);
}

/* Searching: without locks */

/* The sibling if a key belongs there or behind it, else NULL. The upper end is read first: the sibling is
 * then the one that came with it, or a nearer one. The link is durable when this returns. */
static struct node *right_of(const struct node *node, uint64_t key) {
    uint64_t high = __atomic_load_n(&node->high, __ATOMIC_ACQUIRE);       // READ sibling
    uint64_t sibling = __atomic_load_n(&node->sibling, __ATOMIC_ACQUIRE); // READ sibling
    if (!high || key < high)
        return NULL;
    if (!has_bug(BUG_SIBLING) && may_be_lost(&node->lock))
        persist(node, LINE);
    return at(sibling);
}

/* The child of an inner node for a key. The way to it is durable when this returns. */
static struct node *child_of(const struct node *node, uint64_t key) {
    uint64_t best = 0, child = node->first;
    for (int i = 0; i < SLOTS; i++) {
        struct slot seen = slot_read(&node->slot[i]);
        if (seen.key && seen.key <= key && seen.key > best) {
            best = seen.key;
            child = seen.value;
        }
    }
    if (may_be_lost(&node->lock))
        persist(node->slot, sizeof node->slot);
    return at(child);
}

/* The node of a level that a key belongs to, or one to the left of it. */
static struct node *descend(struct worker *self, uint64_t key, uint64_t level) {
    struct node *node = at(durable_root(self)), *right;
    for (;;) {
        while ((right = right_of(node, key)))
            node = right;
        if (node->level == level)
            return node;
        node = child_of(node, key);
    }
}

static uint64_t tree_get(struct worker *self, uint64_t key) {
    struct node *node = descend(self, key, 0), *right;
    for (;;) {
        for (int i = 0; i < SLOTS; i++) {
            struct slot seen = slot_read(&node->slot[i]);
            if (seen.key == key) {
                if (!has_bug(BUG_VALUE) && may_be_lost(&node->lock))
                    persist(&node->slot[i], sizeof node->slot[i]);
                return is_there(seen.value) ? seen.value : 0;
            }
        }
        if (!(right = right_of(node, key)))
            return 0;
        node = right;
    }
}

/* Writing: under the lock of the node */

static struct node *lock_node(struct worker *self, uint64_t key, uint64_t level) {
    struct node *node = descend(self, key, level), *right;
    acquire(&node->lock);
    while ((right = right_of(node, key))) {
        if (!has_bug(BUG_LOCK_HELD)) // HELD
            release(&node->lock);
        node = right;
        acquire(&node->lock);
    }
    return node;
}

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
static struct node *upper_half(struct worker *self, const struct node *node, uint64_t middle) {
    struct node *right = new_node(self, node->level);
    for (int i = 0, count = 0; i < SLOTS; i++) {
        const struct slot *slot = &node->slot[i];
        if (slot->key == middle && node->level)
            right->first = slot->value;
        else if (slot->key >= middle)
            slot_fill(&right->slot[count++], slot->key, slot->value);
    }
    right->low = middle;
    right->high = node->high;
    right->sibling = node->sibling;
    persist(right, sizeof *right);
    return right;
}

static void drop_upper_half(struct node *node) {
    uint64_t high = node->high;
    for (int i = 0; high && i < SLOTS; i++)
        if (node->slot[i].key >= high)
            slot_clear(&node->slot[i]);
    persist(node->slot, sizeof node->slot);
}

static void lead_parent_to(struct worker *self, uint64_t level, uint64_t key, uint64_t child);

/* Split a full node, and release it. */
static void split(struct worker *self, struct node *node) {
    uint64_t middle = middle_of(node);
    struct node *right = upper_half(self, node, middle);
    __atomic_store_n(&node->sibling, offset_of(right), __ATOMIC_RELEASE); // WRITE sibling separator EFFECT
    __atomic_store_n(&node->high, middle, __ATOMIC_RELEASE);              // WRITE sibling separator EFFECT
    if (!has_bug(BUG_SEPARATOR))
        persist(node, LINE);
    uint64_t high = __atomic_load_n(&node->high, __ATOMIC_RELAXED);       // READ separator
    uint64_t sibling = __atomic_load_n(&node->sibling, __ATOMIC_RELAXED); // READ separator
    lead_parent_to(self, node->level + 1, high, sibling);
    if (has_bug(BUG_SEPARATOR))
        persist(node, LINE);
    drop_upper_half(node);
    release(&node->lock);
}

/* Whether the tree was too low for a level: it then has a new root there, with this child on the right. */
static bool grow(struct worker *self, uint64_t level, uint64_t key, uint64_t child) {
    pthread_mutex_lock(&growing);
    uint64_t old = pool->root;
    bool low = ((struct node *)at(old))->level < level;
    if (low) {
        struct node *root = new_node(self, level);
        root->first = old;
        slot_fill(&root->slot[0], key, child);
        persist(root, sizeof *root);
        __atomic_store_n(&pool->root, offset_of(root), __ATOMIC_RELEASE); // EFFECT
        persist(&pool->root, sizeof pool->root);
    }
    pthread_mutex_unlock(&growing);
    return low;
}

static void lead_parent_to(struct worker *self, uint64_t level, uint64_t key, uint64_t child) {
    for (;;) {
        if (((struct node *)at(durable_root(self)))->level < level) {
            if (grow(self, level, key, child))
                return;
            continue;
        }
        struct node *node = lock_node(self, key, level);
        struct slot *slot = slot_find(node->slot, SLOTS, 0);
        if (slot) {
            slot_fill(slot, key, child);
            persist(slot, sizeof *slot);
            release(&node->lock);
            return;
        }
        split(self, node);
    }
}

static void tree_put(struct worker *self, uint64_t key, uint64_t value) {
    for (;;) {
        struct node *node = lock_node(self, key, 0);
        struct slot *slot = slot_find(node->slot, SLOTS, key);
        if (!slot)
            slot = slot_find(node->slot, SLOTS, 0);
        if (slot) {
            slot_fill(slot, key, value == FRESH ? fresh_value(key) : value);
            persist(slot, sizeof *slot);
            release(&node->lock);
            return;
        }
        split(self, node);
    }
}

static bool tree_remove(struct worker *self, uint64_t key) {
    struct node *node = lock_node(self, key, 0);
    bool removed = remove_from(slot_find(node->slot, SLOTS, key));
    release(&node->lock);
    return removed;
}

/* After a power cut */

static bool in_chain[ARENAS * ARENA_LINES]; /* by number of the node's first line */

static bool *mark_of(uint64_t offset) {
    return &in_chain[(offset - offset_of(pool->space)) / LINE];
}

static void must_be_node(uint64_t offset, uint64_t level) {
    const struct node *node = at(offset);
    if (!is_taken(offset, sizeof *node) || node->level != level)
        refuse("there is no node of level %lu at %lu", level, offset);
}

static const struct node *next_node(const struct node *node) {
    return node->sibling ? at(node->sibling) : NULL;
}

/* Where a node ends, even if the power was cut when that was about to be stored. */
static uint64_t end_of(const struct node *node) {
    return node->sibling ? next_node(node)->low : 0;
}

/* A parent leads only where the chain leads as well. */
static void check_child(uint64_t child, uint64_t level) {
    must_be_node(child, level);
    if (!*mark_of(child))
        refuse("a parent leads to the node at %lu, and its sibling does not", child);
}

static void check_node(const struct node *node) {
    if (node->level)
        check_child(node->first, node->level - 1);
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &node->slot[i];
        if (!slot->key || (end_of(node) && slot->key >= end_of(node)))
            continue;
        if (slot->key < node->low)
            refuse("key %lu lies in a node that begins with %lu", slot->key, node->low);
        if (node->level)
            check_child(slot->value, node->level - 1);
        else
            found(slot->key, slot->value);
    }
}

/* All nodes of a level, from its first one on. */
static void check_level(uint64_t leftmost, uint64_t level) {
    for (uint64_t offset = leftmost; offset; offset = ((struct node *)at(offset))->sibling) {
        must_be_node(offset, level);
        if (*mark_of(offset))
            refuse("the nodes of level %lu go round in a circle", level);
        *mark_of(offset) = true;
        const struct node *node = at(offset);
        if (node->sibling)
            must_be_node(node->sibling, level);
        if (node->sibling && next_node(node)->low <= node->low)
            refuse("the node at %lu does not belong behind the one at %lu", node->sibling, offset);
        check_node(node);
    }
}

/* Visit every node that nothing leads to: one that was about to be linked, which holds copies. */
static void each_orphan(void (*visit)(struct node *node)) {
    for (int arena = 0; arena < ARENAS; arena++)
        for (uint64_t line = 0; line < pool->arena[arena].used; line += sizeof(struct node) / LINE) {
            struct node *node = (struct node *)(pool->space[arena] + line * LINE);
            if (!*mark_of(offset_of(node)) && !node->level)
                visit(node);
        }
}

static void must_hold_copies(struct node *node) {
    for (int i = 0; i < SLOTS; i++)
        if (node->slot[i].key && found_value(node->slot[i].key) != node->slot[i].value)
            refuse("key %lu lies in a node that nothing leads to", node->slot[i].key);
}

static void wipe(struct node *node) {
    memset(node->slot, 0, sizeof node->slot);
    persist(node->slot, sizeof node->slot);
}

static void tree_check(void) {
    uint64_t leftmost[HIGHEST], top = ((struct node *)at(pool->root))->level;
    if (top >= HIGHEST)
        refuse("the root is damaged");
    must_be_node(pool->root, top);
    memset(in_chain, 0, sizeof in_chain);
    leftmost[top] = pool->root;
    for (uint64_t level = top; level > 0; level--) {
        leftmost[level - 1] = ((struct node *)at(leftmost[level]))->first;
        must_be_node(leftmost[level - 1], level - 1);
    }
    for (uint64_t level = 0; level <= top; level++)
        check_level(leftmost[level], level);
    each_orphan(must_hold_copies);
}

/* End what was begun: splits, and what was about to be linked. The check has marked the nodes. */
static void tree_recover(void) {
    for (uint64_t offset = offset_of(pool->space); offset < sizeof *pool; offset += LINE) {
        struct node *node = at(offset);
        if (!*mark_of(offset))
            continue;
        if (!has_bug(BUG_LOCKS_KEPT))
            node->lock = 0;
        if (node->lock)
            refuse("the node at %lu is locked, and nobody is there to unlock it", offset);
        node->high = end_of(node);
        persist(node, LINE);
        drop_upper_half(node);
    }
    each_orphan(wipe);
}

const struct map tree_map = {"tree", tree_make, tree_put, tree_get, tree_remove, tree_recover, tree_check};
