/* A tree of numbers that calls back, itself and others. */
#ifndef TREE_H
#define TREE_H
#include "ring.h"
#include <stdio.h>

struct node {
    struct node *left, *right;
    int key;
};

static inline struct node *node_new(int key) {
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL)
        abort();
    node->key = key;
    return node;
}

static inline struct node **slot_of(struct node **root, int key) {
    while (*root != NULL && (*root)->key != key)
        root = key < (*root)->key ? &(*root)->left : &(*root)->right;
    return root;
}

static inline int tree_add(struct node **root, int key) {
    struct node **slot = slot_of(root, key);
    if (*slot != NULL)
        return 0;
    *slot = node_new(key);
    return 1;
}

static inline void tree_walk(struct node *root, void (*visit)(struct node *, void *), void *with) {
    if (root == NULL)
        return;
    tree_walk(root->left, visit, with);
    visit(root, with);
    tree_walk(root->right, visit, with);
}

static inline void put_node(struct node *node, void *with) {
    char text[24];
    int length = snprintf(text, sizeof text, "%d\n", node->key);
    while (ring_put(with, text, (size_t)length) == 0)
        ring_flush(with, 1);
}
#endif
