/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of labels as tries that share their parts (Okasaki and Gill, "Fast mergeable integer maps").
 *
 * Every node is made once: equal sets are the same node. To add a label to a set of n makes about log n new
 * nodes, so that a checksum over all there is can be followed, and to add what is there makes none.
 * Nodes are never freed.
 */
#include "sets.h"

#include "taint.h"

#define FIRST_CAPACITY 1024u
#define MOST_NODES     (1u << 25) /* 512 MB */
#define MEMO           (1u << 15)
#define MOST_LOOKED_AT 64u /* labels, to see whether they are over */
#define GOLDEN         0x9e3779b97f4a7c15ull

static struct pc_label_node *nodes;
static UInt capacity;
static UInt own_count = 1; /* node 0 is no node */
static ULong own_lost;
static UInt *count = &own_count;
static ULong *lost = &own_lost;
static Bool given; /* the memory is another's */

static UInt *table; /* numbers of nodes by hash; 0: free */
static UInt table_size;

/* Results of unions. One place for each hash: what is not there is computed again. */
static struct {
    UInt a, b, result;
} memo[MEMO];

void pc_sets_live_in(struct pc_label_node *memory, uint32_t room, uint32_t *shared_count,
                     uint64_t *shared_lost) {
    nodes = memory;
    capacity = room;
    count = shared_count;
    lost = (ULong *)shared_lost;
    if (*count == 0)
        *count = 1;
    given = True;
}

void pc_sets_leave(void) {
    if (!given)
        return;
    own_count = *count;
    own_lost = *lost;
    capacity = own_count + FIRST_CAPACITY;
    struct pc_label_node *copy = VG_(malloc)("powercut.labels", capacity * sizeof(*copy));
    VG_(memcpy)(copy, nodes, own_count * sizeof(*copy));
    nodes = copy;
    count = &own_count;
    lost = &own_lost;
    given = False;
}

static UInt hash_of(ULong key, UInt left, UInt right) {
    ULong hash = (key ^ (ULong)left << 32 ^ right) * GOLDEN;
    return (UInt)((hash ^ hash >> 29) * GOLDEN >> 32);
}

static void grow_table(void) {
    UInt size = table_size == 0 ? 2 * FIRST_CAPACITY : 2 * table_size;
    VG_(free)(table);
    table = VG_(calloc)("powercut.labels", size, sizeof(*table));
    table_size = size;
    for (UInt number = 1; number < *count; number++) {
        const struct pc_label_node *node = &nodes[number];
        UInt at = hash_of(node->key, node->left, node->right) & (size - 1);
        while (table[at] != 0)
            at = (at + 1) & (size - 1);
        table[at] = number;
    }
}

static Bool grow_nodes(void) {
    if (given || capacity >= MOST_NODES)
        return False;
    capacity = capacity == 0 ? FIRST_CAPACITY : 2 * capacity;
    nodes = VG_(realloc)("powercut.labels", nodes, capacity * sizeof(*nodes));
    return True;
}

/* The node, made if there is none like it; 0: there is no room. */
static UInt node_of(ULong key, UInt left, UInt right) {
    if (2 * *count >= table_size)
        grow_table();
    UInt at = hash_of(key, left, right) & (table_size - 1);
    for (; table[at] != 0; at = (at + 1) & (table_size - 1)) {
        const struct pc_label_node *node = &nodes[table[at]];
        if (node->key == key && node->left == left && node->right == right)
            return table[at];
    }
    if (*count >= capacity && !grow_nodes()) {
        (*lost)++;
        return 0;
    }
    nodes[*count] = (struct pc_label_node){key, left, right};
    table[at] = *count;
    return (*count)++;
}

/* The bit in which the labels of a node first differ; 0: a leaf. */
static ULong branching_bit(const struct pc_label_node *node) {
    return node->left == 0 ? 0 : node->key & -node->key;
}

/* Whether all bits of `key` above `bit` are those of the other key. */
static Bool agree_above(ULong key, ULong other, ULong bit) {
    return ((key ^ other) & ~(bit | (bit - 1))) == 0;
}

/* Two nodes whose labels first differ in a bit above those of both. */
static UInt join(UInt a, UInt b) {
    ULong bit = 1ull << (63 - __builtin_clzll(nodes[a].key ^ nodes[b].key));
    ULong key = (nodes[a].key & ~(bit | (bit - 1))) | bit;
    return (nodes[a].key & bit) == 0 ? node_of(key, a, b) : node_of(key, b, a);
}

static UInt unite(UInt a, UInt b);

/* What has lost a child for want of room is the other child: never more than there was. */
static UInt with_children(ULong key, UInt left, UInt right) {
    if (left == 0 || right == 0)
        return left | right;
    return node_of(key, left, right);
}

/* a's bit is above b's, or they are the same one. */
static UInt unite_ordered(UInt a, UInt b) {
    struct pc_label_node upper = nodes[a]; /* a copy: the array may move */
    ULong key = nodes[b].key, bit = branching_bit(&upper), lower_bit = branching_bit(&nodes[b]);
    if (bit == 0 || !agree_above(upper.key, key, bit))
        return join(a, b);
    if (bit == lower_bit) {
        UInt left = unite(upper.left, nodes[b].left);
        return with_children(upper.key, left, unite(upper.right, nodes[b].right));
    }
    if ((key & bit) == 0)
        return with_children(upper.key, unite(upper.left, b), upper.right);
    return with_children(upper.key, upper.left, unite(upper.right, b));
}

static UInt unite(UInt a, UInt b) {
    if (a == b)
        return a;
    if (a > b) {
        UInt other = a;
        a = b;
        b = other;
    }
    UInt at = (UInt)((((ULong)a << 32 | b) * GOLDEN) >> 49) & (MEMO - 1);
    if (memo[at].a == a && memo[at].b == b)
        return memo[at].result;
    Bool ordered = branching_bit(&nodes[a]) >= branching_bit(&nodes[b]);
    UInt result = ordered ? unite_ordered(a, b) : unite_ordered(b, a);
    memo[at].a = a;
    memo[at].b = b;
    memo[at].result = result != 0 ? result : a;
    return memo[at].result;
}

pc_labels pc_labels_one(ULong number) {
    UInt node = node_of(number, 0, 0);
    return node != 0 ? node | PC_LABELS_SOME : 0;
}

pc_labels pc_labels_union(pc_labels a, pc_labels b) {
    if ((a & b) == 0)
        return a | b;
    return unite(a & ~PC_LABELS_SOME, b & ~PC_LABELS_SOME) | PC_LABELS_SOME;
}

Bool pc_labels_has(pc_labels set, ULong number) {
    UInt at = set & ~PC_LABELS_SOME;
    while (at != 0 && nodes[at].left != 0)
        at = (number & branching_bit(&nodes[at])) == 0 ? nodes[at].left : nodes[at].right;
    return at != 0 && nodes[at].key == number;
}

static void each(UInt number, void (*visit)(ULong number, void *data), void *data) {
    struct pc_label_node node = nodes[number];
    if (node.left == 0) {
        visit(node.key, data);
        return;
    }
    each(node.left, visit, data);
    each(node.right, visit, data);
}

void pc_labels_each(pc_labels set, void (*visit)(ULong number, void *data), void *data) {
    if (set != 0)
        each(set & ~PC_LABELS_SOME, visit, data);
}

/* `left`: how many labels are still looked at; a large set is not over. */
static Bool are_over(UInt number, UInt *left) {
    const struct pc_label_node *node = &nodes[number];
    if (node->left != 0)
        return are_over(node->left, left) && are_over(node->right, left);
    return (*left)-- > 0 && pc_taint_is_over(node->key);
}

Bool pc_labels_are_over(pc_labels set) {
    UInt left = MOST_LOOKED_AT;
    return set == 0 || (pc_taint_is_over != NULL && are_over(set & ~PC_LABELS_SOME, &left));
}
