/* The labels board: which bytes of files come from where, and what they led to.
 *
 * A file in memory, inherited and named by --labels=N. Powercut writes the header and the ranges before the
 * program starts; the memory tracer gives every load of those bytes, wherever they are mapped, the label of
 * their range, follows the labels (taint.h), and writes here as things happen: a program that is killed
 * leaves all of it. `src/powercut/heal/taint.py` is the twin of this file.
 *
 * The board belongs to the first process that reads a labelled byte, and after its end to the next one.
 * Others run all the same, and are counted.
 *
 * With PC_LABELS_TOUCHES nothing is labelled: ranges only say whether somebody touched them, whichever
 * process it was.
 *
 *   0          header.threads    header.ranges       header.nodes
 *   +----------+-----------------+-------------------+--------------------------
 *   | header,  | struct pc_label | struct pc_label   | struct pc_label_node,
 *   | faults   |    _thread, ... |    _range, ...    |    ... (sets.h)
 *   +----------+-----------------+-------------------+--------------------------
 *
 * All integers are little-endian. Powercut believes nothing here: the program can write to it.
 */
#ifndef POWERCUT_GRIND_TAINT_BOARD_H
#define POWERCUT_GRIND_TAINT_BOARD_H

#include <stdint.h>

#define PC_LABELS_MAGIC   0x4c424c50u /* "PLBL" */
#define PC_LABELS_VERSION 3u
#define PC_LABEL_THREADS  500 /* as PC_CHANNEL_SLOTS */
#define PC_LABEL_BRANCHES 64
#define PC_LABEL_USES     4
#define PC_LABEL_FAULTS   8
#define PC_LABEL_EFFECTS  256   /* EFFECT records of one store or call; more are counted */
#define PC_LABELS_PAGE    65536 /* bytes kept for struct pc_labels_board */

enum pc_labels_flag {
    PC_LABELS_EFFECTS = 1, /* EFFECT records in the trace: what stores and outputs depend on */
    PC_LABELS_FAULTS = 2,  /* faults, and for them uses and branches */
    PC_LABELS_TOUCHES = 4, /* which ranges are touched, and nothing else */
};

/* When the program loaded from a range or stored into it, by code that is not PMDK's. */
enum pc_label_touch {
    PC_LABEL_TOUCH_ANYTIME = 1,
    PC_LABEL_TOUCH_RECOVERY = 2, /* between pc_recover_begin and pc_recover_end (powercut.h) */
};

enum pc_label_use_kind {
    PC_LABEL_USE_LOAD = 1,   /* the address of a load */
    PC_LABEL_USE_STORE = 2,  /* the address of a store */
    PC_LABEL_USE_DIVIDE = 3, /* what is divided, and by what */
    PC_LABEL_USE_JUMP = 4,   /* where a jump or call goes */
};

enum pc_label_fault_kind {
    PC_LABEL_FAULT_FATAL = 1,  /* a signal ended the process; which one, the trace says */
    PC_LABEL_FAULT_SIGNAL = 2, /* a signal of a fault went to the program's handler; number */
    PC_LABEL_FAULT_EXIT = 3,   /* the process ended itself; number: its code, not 0 */
};

/* Sorted by inode and offset; without overlaps. */
struct pc_label_range {
    uint64_t inode, offset, length, number;
    uint32_t touched; /* enum pc_label_touch, several added; the tracer's */
    uint32_t reserved;
    uint64_t loaded; /* order of its last load by the board's owner; 0: none; the tracer's */
};

/* The use of a labelled value that may fault. */
struct pc_label_use {
    uint64_t order;       /* over all uses, branches and loads of ranges; 0: none */
    uint64_t pc, address; /* of the instruction; accessed, or jumped to */
    uint32_t labels;      /* a set (sets.h) */
    uint32_t kind;        /* enum pc_label_use_kind */
};

/* A branch whose condition had labels. One for each instruction: what it was the last time. */
struct pc_label_branch {
    uint64_t order; /* 0: none */
    uint64_t pc, count;
    uint32_t labels, stack; /* PC_TABLE_STACK id in the trace */
};

struct pc_label_thread {
    int32_t tid; /* the kernel's id; 0: never used */
    uint32_t next_use;
    struct pc_label_use uses[PC_LABEL_USES];
    struct pc_label_branch branches[PC_LABEL_BRANCHES];
};

struct pc_label_fault {
    uint64_t order, pc;
    uint32_t kind; /* enum pc_label_fault_kind; 0: none */
    int32_t number;
    uint32_t stack, reserved;
    struct pc_label_thread thread; /* as it was then */
};

struct pc_labels_board {
    /* Powercut's. */
    uint32_t magic, version;
    uint32_t flags; /* enum pc_labels_flag, several added */
    uint32_t range_count;
    uint64_t threads, ranges, nodes; /* offsets in the file */
    uint32_t node_capacity;
    /* The tracer's. */
    uint32_t node_count; /* with node 0, which is none */
    uint64_t lost;       /* unions that were not made, for want of nodes */
    uint64_t order;
    uint64_t effects_left_out;
    int32_t owner;    /* a process id; 0: nothing was read */
    uint32_t refused; /* processes that read labelled bytes while another owned the board, or forked */
    uint32_t fault_count;
    uint32_t recoveries; /* how often pc_recover_begin was called */
    struct pc_label_fault faults[PC_LABEL_FAULTS];
};

_Static_assert(sizeof(struct pc_labels_board) <= PC_LABELS_PAGE, "a page for the header");

#endif
