/* The worked examples of the PMTest paper, with its own names, and what it publishes as their outcome. */
#include "scenario.h"

#define persist_barrier(address, size)                                                                           \
    do {                                                                                                         \
        PMTest_flush(address, size);                                                                             \
        PMTest_fence();                                                                                          \
    } while (0)

/* Figure 1a, with the checkers of Figure 5a: two barriers are missing. */
struct item {
    char value[64];
};
static struct {
    _Alignas(64) struct item val;
    _Alignas(64) int valid;
} backup;
static _Alignas(64) struct item array[4];

static void array_update(int index, int barriers) {
    backup.val = array[index];
    PMTest_assign(&backup.val, sizeof backup.val);
    if (barriers)
        persist_barrier(&backup.val, sizeof backup.val);
    backup.valid = 1;
    PMTest_assign(&backup.valid, sizeof backup.valid);
    if (barriers) {
        isOrderedBefore(&backup.val, sizeof backup.val, &backup.valid, sizeof backup.valid);
        persist_barrier(&backup.valid, sizeof backup.valid);
    }
    array[index].value[0]++;
    PMTest_assign(&array[index], sizeof array[index]);
    if (barriers) {
        isOrderedBefore(&backup.valid, sizeof backup.valid, &array[index], sizeof array[index]);
        persist_barrier(&array[index], sizeof array[index]);
    }
    backup.valid = 0;
    PMTest_assign(&backup.valid, sizeof backup.valid);
    if (barriers)
        isOrderedBefore(&array[index], sizeof array[index], &backup.valid, sizeof backup.valid);
    persist_barrier(&backup.valid, sizeof backup.valid);
    isPersist(&backup.valid, sizeof backup.valid);
}

SCENARIO(figure_1a_fixed) {
    array_update(1, 1);
}

SCENARIO(figure_1a) {
    backup.val = array[1];
    PMTest_assign(&backup.val, sizeof backup.val);
    backup.valid = 1;
    PMTest_assign(&backup.valid, sizeof backup.valid);
    isOrderedBefore(&backup.val, sizeof backup.val, &backup.valid, sizeof backup.valid); /* FAIL not-ordered */
    PMTest_flush(&backup.val, sizeof backup.val);
    PMTest_flush(&backup.valid, sizeof backup.valid);
    PMTest_fence();
    array[1].value[0]++;
    PMTest_assign(&array[1], sizeof array[1]);
    isOrderedBefore(&backup.valid, sizeof backup.valid, &array[1], sizeof array[1]);
    backup.valid = 0;
    PMTest_assign(&backup.valid, sizeof backup.valid);
    isOrderedBefore(&array[1], sizeof array[1], &backup.valid, sizeof backup.valid); /* FAIL not-ordered */
    PMTest_flush(&array[1], sizeof array[1]);
    PMTest_flush(&backup.valid, sizeof backup.valid);
    PMTest_fence();
    isPersist(&array[1], sizeof array[1]);
    isPersist(&backup.valid, sizeof backup.valid);
}

/* Figure 1b, with the checkers of Figure 5b: the length is not backed up. */
static struct {
    _Alignas(64) void *head;
    _Alignas(64) int length;
} list;
static _Alignas(64) char node[64];

static void append(int with_length) {
    TX_CHECKER_START;
    pc_tx_alloc(node, sizeof node);
    PMTest_assign(node, sizeof node);
    PMTest_transactionAdd(&list.head, sizeof list.head);
    list.head = node;
    PMTest_assign(&list.head, sizeof list.head);
    if (with_length)
        PMTest_transactionAdd(&list.length, sizeof list.length);
    list.length++;
}

SCENARIO(figure_1b) {
    append(0);
    PMTest_assign(&list.length, sizeof list.length); /* FAIL missing-backup */
    PMTest_flush(node, sizeof node);
    PMTest_flush(&list.head, sizeof list.head);
    PMTest_fence();
    TX_CHECKER_END; /* FAIL incomplete-transaction/not-flushed */
}

SCENARIO(figure_1b_fixed) {
    append(1);
    PMTest_assign(&list.length, sizeof list.length);
    PMTest_flush(node, sizeof node);
    PMTest_flush(&list.head, sizeof list.head);
    PMTest_flush(&list.length, sizeof list.length);
    PMTest_fence();
    TX_CHECKER_END;
}

#define A OBJECT(1)
#define B OBJECT(2)

SCENARIO(figure_3a) { /* x86 */
    PMTest_assign(A, 64);
    PMTest_flush(A, 64);
    PMTest_fence();
    PMTest_assign(B, 64);
    PMTest_flush(B, 64);
    PMTest_fence();
    isOrderedBefore(A, 64, B, 64);
    isPersist(A, 64);
    isPersist(B, 64);
}

SCENARIO(figure_3b) { /* HOPS; on x86 these fences are nothing */
    PMTest_assign(A, 64);
    pc_ofence(); /* x86: WARN wrong-use/foreign-operation */
    PMTest_assign(B, 64);
    pc_dfence();                   /* x86: WARN wrong-use/foreign-operation */
    isOrderedBefore(A, 64, B, 64); /* x86: FAIL not-ordered */
    isPersist(A, 64);              /* x86: FAIL not-persistent/not-flushed */
    isPersist(B, 64);              /* x86: FAIL not-persistent/not-flushed */
}

SCENARIO(figure_4) { /* under HOPS the fence is a dfence, so that B is persistent */
    PMTest_fence();
    PMTest_assign(A, 64);
    PMTest_flush(A, 64);
    PMTest_assign(B, 64);
    PMTest_fence();
    isOrderedBefore(A, 64, B, 64); /* FAIL not-ordered */
    isPersist(B, 64);              /* x86: FAIL not-persistent/not-flushed */
}

SCENARIO(figure_4_with_ofence) { /* the same as HOPS says it: order and durability are two things */
    PMTest_assign(A, 64);
    PMTest_assign(B, 64);
    pc_ofence();                   /* x86: WARN wrong-use/foreign-operation */
    isOrderedBefore(A, 64, B, 64); /* FAIL not-ordered */
    isPersist(B, 64);              /* x86: FAIL not-persistent/not-flushed; hops: FAIL not-persistent/not-fenced */
}

SCENARIO(figure_7) {
    PMTest_assign(memory + 0x10, 64);
    PMTest_flush(memory + 0x10, 64);
    PMTest_fence();
    PMTest_assign(memory + 0x50, 64);
    isPersist(memory + 0x50, 64); /* x86: FAIL not-persistent/not-flushed; hops: FAIL not-persistent/not-fenced */
    isOrderedBefore(memory + 0x10, 64, memory + 0x50, 64);
}

/* Figure 13a: the log entry is flushed with the whole transaction again. */
struct transaction {
    _Alignas(64) char entry[64];
    char others[192];
};
static struct transaction transaction;

SCENARIO(figure_13a) {
    PMTest_assign(transaction.others, sizeof transaction.others);
    PMTest_assign(transaction.entry, sizeof transaction.entry);
    PMTest_flush(transaction.entry, sizeof transaction.entry);
    PMTest_flush(&transaction, sizeof transaction); /* x86: WARN unnecessary-writeback/flushed-before */
    PMTest_fence();
}

/* Figures 13b and 13c: a node is changed without a log entry; a node is logged twice. */
SCENARIO(figure_13b) {
    pc_tx_begin();
    PMTest_assign(A, 8);      /* FAIL missing-backup */
    PMTest_assign(A + 16, 8); /* FAIL missing-backup */
    pc_tx_end();
}

static void insert_item(void) {
    PMTest_transactionAdd(A, 128);
    PMTest_assign(A, 8);
}

SCENARIO(figure_13c) {
    pc_tx_begin();
    insert_item();
    PMTest_transactionAdd(A, 128); /* WARN duplicate-log */
    PMTest_assign(A + 64, 8);
    pc_tx_end();
}
