/* A B-tree. Full nodes are split and poor ones filled up on the way down, so that one pass is enough. */
#include "bugs.h"
#include "item.h"
#include "maps.h"
#include "pool.h"
#include "tx.h"

enum { DEGREE = 4, MOST = 2 * DEGREE - 1, SLOT = sizeof(void *) };

struct node {
    uint64_t count;
    struct item *items[MOST];
    struct node *child[MOST + 1]; /* NULL: a leaf */
};
struct tree {
    struct node *root; /* NULL: empty */
    uint64_t count;
};

static bool is_leaf(const struct node *node) {
    return !node->child[0];
}

/* The first item whose key is not smaller. */
static uint64_t position(const struct node *node, uint64_t key) {
    uint64_t i = 0;
    while (i < node->count && node->items[i]->key < key)
        i++;
    return i;
}

static struct item *find(const struct tree *tree, uint64_t key) {
    for (const struct node *node = tree->root; node;) {
        uint64_t i = position(node, key);
        if (i < node->count && node->items[i]->key == key)
            return node->items[i];
        node = node->child[i];
    }
    return NULL;
}

/* Before a node gets an entry: the place behind its last one is changed, too. */
static void log_for_entry(struct node *node) {
    if (BUG(btree_entry_partly_logged) && is_leaf(node) && !tx_has(node, sizeof *node))
        TX_ADD(node, offsetof(struct node, items) + node->count * SLOT);
    else if (!BUG(btree_entry_unlogged))
        TX_OWN(node);
}

/* Put an item, and the child on its right if there is one, into a node that is not full. */
static void put_entry(struct node *node, uint64_t i, struct item *item, struct node *right) {
    uint64_t behind = node->count - i;
    log_for_entry(node);
    if (behind)
        // HERE btree-entry-unlogged btree-entry-partly-logged
        TX_MOVE(&node->items[i + 1], &node->items[i], behind * SLOT);
    if (behind && right)
        TX_MOVE(&node->child[i + 2], &node->child[i + 1], behind * SLOT); // HERE btree-entry-unlogged
    TX_STORE(node->items[i], item); // HERE btree-entry-unlogged btree-entry-partly-logged
    if (right)
        TX_STORE(node->child[i + 1], right); // HERE btree-entry-unlogged
    TX_STORE(node->count, node->count + 1);  // HERE btree-entry-unlogged
}

/* Take an item, and the child on its right, out of a node. */
static void take_entry(struct node *node, uint64_t i) {
    uint64_t behind = node->count - 1 - i;
    TX_OWN(node);
    if (behind)
        TX_MOVE(&node->items[i], &node->items[i + 1], behind * SLOT);
    if (behind && !is_leaf(node))
        TX_MOVE(&node->child[i + 1], &node->child[i + 2], behind * SLOT);
    TX_STORE(node->count, node->count - 1);
}

static void split(struct node *parent, uint64_t i) {
    struct node *left = parent->child[i], *right = pool_alloc(sizeof *right);
    if (!BUG(btree_split_right_not_new))
        TX_NEW(right, sizeof *right);
    TX_ZERO(right, sizeof *right);                                    // HERE btree-split-right-not-new
    TX_FILL(right->items, left->items + DEGREE, (DEGREE - 1) * SLOT); // HERE btree-split-right-not-new
    if (!is_leaf(left))
        TX_FILL(right->child, left->child + DEGREE, DEGREE * SLOT); // HERE btree-split-right-not-new
    TX_STORE(right->count, DEGREE - 1);                             // HERE btree-split-right-not-new
    if (!BUG(btree_split_left_unlogged))
        TX_OWN(left);
    if (BUG(btree_split_left_logged_twice))
        TX_ADD(left, sizeof *left);    // HERE btree-split-left-logged-twice
    TX_STORE(left->count, DEGREE - 1); // HERE btree-split-left-unlogged
    put_entry(parent, i, left->items[DEGREE - 1], right);
}

/* The root that an item can be put below: a new one if there is none, or if it is full. */
static struct node *roomy_root(const struct tree *tree) {
    if (tree->root && tree->root->count < MOST)
        return tree->root;
    struct node *root = pool_alloc(sizeof *root);
    TX_NEW(root, sizeof *root);
    TX_ZERO(root, sizeof *root);
    if (tree->root) {
        TX_STORE(root->child[0], tree->root);
        split(root, 0);
    }
    return root;
}

static void put_below(struct node *node, struct item *item) {
    uint64_t i;
    while (i = position(node, item->key), !is_leaf(node)) {
        if (node->child[i]->count == MOST) {
            split(node, i);
            i += node->items[i]->key < item->key;
        }
        node = node->child[i];
    }
    put_entry(node, i, item, NULL);
}

static void change_count(struct tree *tree, uint64_t by) {
    TX_OWN(&tree->count);
    TX_STORE(tree->count, tree->count + by);
}

static void insert(void *root, uint64_t key, const void *value) {
    struct tree *tree = root;
    struct item *item = find(tree, key);
    struct node *top = tree->root;
    pc_tx_checker_start();
    TX_BEGIN();
    if (item) {
        item_update(item, value);
    } else {
        top = roomy_root(tree);
        put_below(top, item_new(key, value));
        change_count(tree, 1);
    }
    if (top != tree->root && !BUG(btree_root_after_end)) {
        TX_OWN(&tree->root);
        TX_STORE(tree->root, top);
    }
    TX_END();
    if (top != tree->root)
        STORE(tree->root, top); // HERE btree-root-after-end
    pc_tx_checker_end();
}

/* Join two children with the item between them. */
static void merge(struct node *parent, uint64_t i) {
    struct node *left = parent->child[i], *right = parent->child[i + 1];
    if (!BUG(btree_merge_left_unlogged))
        TX_OWN(left);
    TX_STORE(left->items[DEGREE - 1], parent->items[i]);              // HERE btree-merge-left-unlogged
    TX_FILL(left->items + DEGREE, right->items, (DEGREE - 1) * SLOT); // HERE btree-merge-left-unlogged
    if (!is_leaf(left))
        TX_FILL(left->child + DEGREE, right->child, DEGREE * SLOT); // HERE btree-merge-left-unlogged
    TX_STORE(left->count, MOST);                                    // HERE btree-merge-left-unlogged
    take_entry(parent, i);
    tx_free(right, sizeof *right);
}

static void set_separator(struct node *parent, uint64_t i, struct item *item) {
    if (!BUG(btree_rotation_parent_unlogged))
        TX_OWN(parent);
    TX_STORE(parent->items[i], item); // HERE btree-rotation-parent-unlogged
}

static void take_from_left(struct node *parent, uint64_t i) {
    struct node *left = parent->child[i - 1], *child = parent->child[i];
    TX_OWN(child);
    TX_MOVE(&child->items[1], &child->items[0], child->count * SLOT);
    if (!is_leaf(child)) {
        TX_MOVE(&child->child[1], &child->child[0], (child->count + 1) * SLOT);
        TX_STORE(child->child[0], left->child[left->count]);
    }
    TX_STORE(child->items[0], parent->items[i - 1]);
    TX_STORE(child->count, child->count + 1);
    set_separator(parent, i - 1, left->items[left->count - 1]);
    TX_OWN(left);
    TX_STORE(left->count, left->count - 1);
}

static void take_from_right(struct node *parent, uint64_t i) {
    struct node *child = parent->child[i], *right = parent->child[i + 1];
    TX_OWN(child);
    TX_STORE(child->items[child->count], parent->items[i]);
    if (!is_leaf(child))
        TX_STORE(child->child[child->count + 1], right->child[0]);
    TX_STORE(child->count, child->count + 1);
    set_separator(parent, i, right->items[0]);
    TX_OWN(right);
    TX_MOVE(&right->items[0], &right->items[1], (right->count - 1) * SLOT);
    if (!is_leaf(right))
        TX_MOVE(&right->child[0], &right->child[1], right->count * SLOT);
    TX_STORE(right->count, right->count - 1);
}

/* The child at a place, with one item more than it must have. */
static struct node *rich_child(struct node *parent, uint64_t i) {
    struct node *child = parent->child[i];
    if (child->count >= DEGREE)
        return child;
    if (i > 0 && parent->child[i - 1]->count >= DEGREE) {
        take_from_left(parent, i);
    } else if (i < parent->count && parent->child[i + 1]->count >= DEGREE) {
        take_from_right(parent, i);
    } else {
        i -= i == parent->count;
        merge(parent, i);
    }
    return parent->child[i] == child ? child : parent->child[i];
}

static struct item *take_outermost(struct node *node, bool last) {
    while (!is_leaf(node))
        node = rich_child(node, last ? node->count : 0);
    struct item *item = node->items[last ? node->count - 1 : 0];
    take_entry(node, last ? node->count - 1 : 0);
    return item;
}

/* Take a key that is there out of the tree below a node. */
static void take_below(struct node *node, uint64_t key) {
    for (;;) {
        uint64_t i = position(node, key);
        if (i == node->count || node->items[i]->key != key) {
            node = rich_child(node, i);
        } else if (is_leaf(node)) {
            take_entry(node, i);
            return;
        } else if (node->child[i]->count >= DEGREE || node->child[i + 1]->count >= DEGREE) {
            bool left = node->child[i]->count >= DEGREE;
            set_separator(node, i, take_outermost(node->child[left ? i : i + 1], left));
            return;
        } else {
            merge(node, i);
            node = node->child[i];
        }
    }
}

static void take(struct tree *tree, struct item *item) {
    struct node *top = tree->root;
    take_below(top, item->key);
    if (top->count == 0) {
        TX_OWN(&tree->root);
        TX_STORE(tree->root, top->child[0]);
        tx_free(top, sizeof *top);
    }
    change_count(tree, (uint64_t)-1);
    item_free(item);
}

static bool remove_key(void *root, uint64_t key) {
    struct tree *tree = root;
    pc_tx_checker_start();
    TX_BEGIN(); // HERE btree-remove-not-ended
    struct item *item = find(tree, key);
    if (item)
        take(tree, item);
    if (item || !BUG(btree_remove_not_ended))
        TX_END();
    if (BUG(btree_ended_twice))
        TX_END(); // HERE btree-ended-twice
    pc_tx_checker_end();
    return item != NULL;
}

static const void *get(const void *root, uint64_t key) {
    const struct item *item = find(root, key);
    return item ? item->value : NULL;
}

static uint64_t count(const void *root) {
    return ((const struct tree *)root)->count;
}

const struct map_type btree = {"btree", insert, remove_key, get, count, false};
