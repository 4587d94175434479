/* A red-black tree with parents and a sentinel, as in textbooks. */
#include "bugs.h"
#include "item.h"
#include "maps.h"
#include "pool.h"
#include "tx.h"

enum color { BLACK, RED };

struct node {
    struct node *parent, *child[2];
    struct item *item;
    enum color color;
};
struct tree {
    struct node *root; /* NULL: nothing was ever inserted */
    uint64_t count;
    _Alignas(64) struct node nil; /* the sentinel: where a child or a parent is none */
};

static void paint(struct node *node, enum color color) {
    TX_OWN(node);
    TX_STORE(node->color, color);
}

/* Put a node where another one is, as far as that one's parent is concerned. */
static void replace(struct tree *tree, const struct node *node, struct node *other) {
    struct node *parent = node->parent;
    if (parent == &tree->nil) {
        TX_OWN(&tree->root);
        TX_STORE(tree->root, other);
        return;
    }
    if (!BUG(rbtree_replace_unlogged))
        TX_OWN(parent);
    TX_STORE(parent->child[parent->child[1] == node], other); // HERE rbtree-replace-unlogged
}

/* Turn a node and its child, so that the node goes down to a side. */
static void rotate(struct tree *tree, struct node *node, unsigned side) {
    struct node *riser = node->child[!side], *inner = riser->child[side];
    TX_OWN(node);
    TX_OWN(riser);
    if (BUG(rbtree_rotation_logged_twice))
        TX_ADD(node, sizeof *node); // HERE rbtree-rotation-logged-twice
    TX_STORE(node->child[!side], inner);
    if (inner != &tree->nil) {
        if (!BUG(rbtree_rotation_child_unlogged))
            TX_OWN(inner);
        TX_STORE(inner->parent, node); // HERE rbtree-rotation-child-unlogged
    }
    TX_STORE(riser->parent, node->parent);
    replace(tree, node, riser);
    TX_STORE(riser->child[side], node);
    TX_STORE(node->parent, riser);
}

/* No red node below a red one; the root may be left red. */
static void balance_after_insert(struct tree *tree, struct node *node) {
    while (node->parent->color == RED) {
        struct node *parent = node->parent, *grandparent = parent->parent;
        unsigned side = parent == grandparent->child[1];
        struct node *uncle = grandparent->child[!side];
        if (uncle->color == RED) {
            if (!BUG(rbtree_uncle_unlogged))
                TX_OWN(uncle);
            TX_STORE(uncle->color, BLACK); // HERE rbtree-uncle-unlogged
            paint(parent, BLACK);
            paint(grandparent, RED);
            node = grandparent;
            continue;
        }
        if (node == parent->child[!side]) {
            rotate(tree, parent, side);
            parent = node;
            node = parent->child[side];
        }
        paint(parent, BLACK);
        paint(grandparent, RED);
        rotate(tree, grandparent, !side);
    }
}

static struct node *new_node(struct tree *tree, struct node *parent, struct item *item) {
    struct node *node = pool_alloc(sizeof *node);
    struct node content = {parent, {&tree->nil, &tree->nil}, item, RED};
    TX_NEW(node, sizeof *node);
    TX_FILL(node, &content, sizeof content);
    return node;
}

static void link_node(struct tree *tree, struct node *parent, unsigned side, struct node *node) {
    if (parent == &tree->nil) {
        TX_OWN(&tree->root);
        TX_STORE(tree->root, node);
        return;
    }
    if (!BUG(rbtree_parent_unlogged))
        TX_OWN(parent);
    if (BUG(rbtree_link_unflushed))
        STORE(parent->child[side], node); // HERE rbtree-link-unflushed
    else
        TX_STORE(parent->child[side], node); // HERE rbtree-parent-unlogged
}

static void change_count(struct tree *tree, uint64_t by) {
    if (!BUG(rbtree_logged_before_begin))
        TX_OWN(&tree->count);
    TX_STORE(tree->count, tree->count + by); // HERE rbtree-logged-before-begin
}

static void insert_new(struct tree *tree, uint64_t key, const void *value) {
    struct node *parent = &tree->nil;
    unsigned side = 0;
    for (struct node *node = tree->root; node && node != &tree->nil; node = node->child[side]) {
        parent = node;
        side = node->item->key < key;
    }
    struct node *node = new_node(tree, parent, item_new(key, value));
    link_node(tree, parent, side, node);
    balance_after_insert(tree, node);
    if (tree->root->color == RED && !BUG(rbtree_root_color_after_end))
        paint(tree->root, BLACK);
    change_count(tree, 1);
}

static struct node *find(const struct tree *tree, uint64_t key) {
    struct node *node = tree->root;
    while (node && node != &tree->nil && node->item->key != key)
        node = node->child[node->item->key < key];
    return node == &tree->nil ? NULL : node;
}

static void insert(void *root, uint64_t key, const void *value) {
    struct tree *tree = root;
    struct node *node = find(tree, key);
    pc_tx_checker_start();
    if (BUG(rbtree_logged_before_begin))
        TX_ADD(&tree->count, sizeof tree->count); // HERE rbtree-logged-before-begin
    TX_BEGIN();                                   // HERE rbtree-insert-not-ended
    if (node)
        item_update(node->item, value);
    else
        insert_new(tree, key, value);
    if (!node || !BUG(rbtree_insert_not_ended))
        TX_END();
    if (BUG(rbtree_root_color_after_end) && tree->root->color == RED)
        STORE(tree->root->color, BLACK); // HERE rbtree-root-color-after-end
    pc_tx_checker_end();
}

/* The way to `node` has one black node less than the others: put that right. */
static void balance_after_remove(struct tree *tree, struct node *node) {
    while (node != tree->root && node->color == BLACK) {
        struct node *parent = node->parent;
        unsigned side = node == parent->child[1];
        struct node *sibling = parent->child[!side];
        if (sibling->color == RED) {
            paint(sibling, BLACK);
            paint(parent, RED);
            rotate(tree, parent, side);
            sibling = parent->child[!side];
        }
        if (sibling->child[0]->color == BLACK && sibling->child[1]->color == BLACK) {
            if (!BUG(rbtree_sibling_logged_late))
                TX_OWN(sibling);
            TX_STORE(sibling->color, RED); // HERE rbtree-sibling-logged-late
            TX_OWN(sibling);
            node = parent;
            continue;
        }
        if (sibling->child[!side]->color == BLACK) {
            paint(sibling->child[side], BLACK);
            paint(sibling, RED);
            rotate(tree, sibling, !side);
            sibling = parent->child[!side];
        }
        paint(sibling, parent->color);
        paint(parent, BLACK);
        paint(sibling->child[!side], BLACK);
        rotate(tree, parent, side);
        node = tree->root;
    }
    paint(node, BLACK);
}

/* The node itself goes, or the next one in order, whose item takes its place. */
static void take(struct tree *tree, struct node *node) {
    struct node *gone = node, *nil = &tree->nil;
    item_free(node->item);
    if (node->child[0] != nil && node->child[1] != nil) {
        for (gone = node->child[1]; gone->child[0] != nil;)
            gone = gone->child[0];
        TX_OWN(node);
        TX_STORE(node->item, gone->item);
    }
    struct node *child = gone->child[gone->child[0] == nil];
    if (child != nil || !BUG(rbtree_sentinel_unlogged))
        TX_OWN(child);
    TX_STORE(child->parent, gone->parent); // HERE rbtree-sentinel-unlogged
    replace(tree, gone, child);
    if (gone->color == BLACK)
        balance_after_remove(tree, child);
    change_count(tree, (uint64_t)-1);
    tx_free(gone, sizeof *gone);
}

static bool remove_key(void *root, uint64_t key) {
    struct tree *tree = root;
    struct node *node = find(tree, key);
    if (!node)
        return false;
    pc_tx_checker_start();
    TX_BEGIN();
    take(tree, node);
    TX_END();
    pc_tx_checker_end();
    return true;
}

static const void *get(const void *root, uint64_t key) {
    const struct node *node = find(root, key);
    return node ? node->item->value : NULL;
}

static uint64_t count(const void *root) {
    return ((const struct tree *)root)->count;
}

const struct map_type rbtree = {"rbtree", insert, remove_key, get, count, false};
