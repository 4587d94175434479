/* A crit-bit tree: inner nodes say in which bit the keys below them first differ. A slot holds an item, or a
 * node, marked by its lowest bit. */
#include "bugs.h"
#include "item.h"
#include "maps.h"
#include "pool.h"
#include "tx.h"

typedef uintptr_t slot;

struct node {
    uint64_t bit;
    slot child[2];
};
struct tree {
    slot root; /* 0: empty */
    uint64_t count;
};

static struct node *node_in(slot slot) {
    return slot & 1 ? (struct node *)(slot & ~(uintptr_t)1) : NULL;
}

static slot *child_of(struct node *node, uint64_t key) {
    return &node->child[key >> node->bit & 1];
}

/* The slot of the item that a key can only be in; the slot of its node, if any, in `above`. */
static slot *find(struct tree *tree, uint64_t key, slot **above) {
    slot *at = &tree->root;
    *above = NULL;
    for (struct node *node; (node = node_in(*at));) {
        *above = at;
        at = child_of(node, key);
    }
    return at;
}

static void change_count(struct tree *tree, uint64_t by) {
    if (!BUG(ctree_count_unlogged))
        TX_ADD(&tree->count, sizeof tree->count);
    TX_STORE(tree->count, tree->count + by); // HERE ctree-count-unlogged
}

/* The place of a new node: above all whose bits are lower. */
static slot *place_for(struct tree *tree, uint64_t key, uint64_t bit) {
    slot *at = &tree->root;
    for (struct node *node; (node = node_in(*at)) && node->bit > bit;)
        at = child_of(node, key);
    return at;
}

static void set_slot(slot *at, slot value) {
    if (!BUG(ctree_slot_unlogged) && !BUG(ctree_slot_logged_late))
        TX_ADD(at, sizeof *at);
    if (BUG(ctree_slot_logged_twice))
        TX_ADD(at, sizeof *at); // HERE ctree-slot-logged-twice
    TX_STORE(*at, value);       // HERE ctree-slot-unlogged ctree-slot-logged-late
    if (BUG(ctree_slot_logged_late))
        TX_ADD(at, sizeof *at);
}

static slot new_node(uint64_t bit, struct item *item, slot sibling) {
    struct node *node = pool_alloc(sizeof *node);
    unsigned side = item->key >> bit & 1;
    if (!BUG(ctree_node_not_new))
        TX_NEW(node, sizeof *node);
    if (BUG(ctree_node_unflushed)) {
        STORE(node->bit, bit);                // HERE ctree-node-unflushed
        STORE(node->child[side], (slot)item); // HERE ctree-node-unflushed
        STORE(node->child[!side], sibling);   // HERE ctree-node-unflushed
    } else {
        TX_STORE(node->bit, bit);                // HERE ctree-node-not-new
        TX_STORE(node->child[side], (slot)item); // HERE ctree-node-not-new
        TX_STORE(node->child[!side], sibling);   // HERE ctree-node-not-new
    }
    return (slot)node | 1;
}

static void insert_new(struct tree *tree, uint64_t key, const void *value, const struct item *nearest) {
    struct item *item = item_new(key, value);
    if (nearest) {
        uint64_t bit = 63 - (uint64_t)__builtin_clzll(nearest->key ^ key);
        slot *at = place_for(tree, key, bit);
        set_slot(at, new_node(bit, item, *at));
    } else {
        set_slot(&tree->root, (slot)item);
    }
    if (!BUG(ctree_count_after_end))
        change_count(tree, 1);
}

static void insert(void *root, uint64_t key, const void *value) {
    struct tree *tree = root;
    slot *above;
    pc_tx_checker_start();
    TX_BEGIN(); // HERE ctree-update-not-ended
    struct item *nearest = (struct item *)*find(tree, key, &above);
    bool is_there = nearest && nearest->key == key;
    if (is_there)
        item_update(nearest, value);
    else
        insert_new(tree, key, value, nearest);
    if (!is_there || !BUG(ctree_update_not_ended))
        TX_END();
    if (!is_there && BUG(ctree_count_after_end))
        STORE(tree->count, tree->count + 1); // HERE ctree-count-after-end
    pc_tx_checker_end();
}

static void take_out(struct tree *tree, slot *at, slot *above) {
    struct item *item = (struct item *)*at;
    struct node *node = above ? node_in(*above) : NULL;
    slot *hole = node ? above : at, rest = node ? node->child[at == &node->child[0]] : 0;
    if (!BUG(ctree_unlink_unlogged))
        TX_ADD(hole, sizeof *hole);
    TX_STORE(*hole, rest); // HERE ctree-unlink-unlogged
    change_count(tree, (uint64_t)-1);
    if (node)
        tx_free(node, sizeof *node);
    item_free(item);
}

static bool remove_key(void *root, uint64_t key) {
    struct tree *tree = root;
    slot *above, *at = find(tree, key, &above);
    if (!*at || ((struct item *)*at)->key != key)
        return false;
    pc_tx_checker_start();
    TX_BEGIN();
    take_out(tree, at, above);
    TX_END();
    pc_tx_checker_end();
    return true;
}

static const void *get(const void *root, uint64_t key) {
    slot *above;
    const struct item *item = (const struct item *)*find((struct tree *)root, key, &above);
    return item && item->key == key ? item->value : NULL;
}

static uint64_t count(const void *root) {
    return ((const struct tree *)root)->count;
}

const struct map_type ctree = {"ctree", insert, remove_key, get, count, false};
