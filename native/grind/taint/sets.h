/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where sets of labels are kept: what readers of them (board.h) must know. */
#ifndef POWERCUT_GRIND_SETS_H
#define POWERCUT_GRIND_SETS_H

#include <stdint.h>

/* A set is the number of a node, with PC_LABELS_SOME added. All sets but the empty one have that bit, so that
 * of two sets, a & b is 0 if one is empty, and then a | b is the other. */
#define PC_LABELS_SOME 0x80000000u
/* Never part of a set: for those who keep something else in the same word. */
#define PC_LABELS_FREE 0x40000000u

/* A node of a binary trie. A leaf has no children and is the set with the label `key`. Other nodes hold the
 * labels of both children; the labels agree in the bits of `key` above its lowest 1, which stands for the
 * first bit in which they do not: it is 0 in the labels of the left child. Node 0 is not used. */
struct pc_label_node {
    uint64_t key;
    uint32_t left, right; /* numbers of nodes; 0 in leaves */
};

/* Keeps the nodes in this memory instead of its own. To be called before there are any; if `count` is not 0,
 * there are some in it. It is kept up to date; when the memory is full, *lost counts what was not made. */
void pc_sets_live_in(struct pc_label_node *memory, uint32_t capacity, uint32_t *count, uint64_t *lost);
/* Goes on with a copy of its own, as what it had belongs to another process. */
void pc_sets_leave(void);

#endif
