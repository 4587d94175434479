/* How the memory tracer (a Valgrind tool) and the system-call tracer (ptrace) work together on one trace.
 *
 * The program runs inside Valgrind, and Valgrind runs under ptrace. Valgrind performs the program's system
 * calls as they are, so ptrace sees and records every file call as always; the tool adds what ptrace cannot
 * see: stores, flushes and fences, and the registers the program itself has at a call. ptrace is the only
 * writer of the trace; the tool puts memory records into memory that both share, from where ptrace takes them
 * when its turn comes: also those of a process that was killed.
 *
 * Before: the tool was started with --channel=N, the descriptor of a file in memory: it is inherited, so that
 * neither other mounts nor lost rights come in between. The tool asks with a call that means nothing to the
 * kernel, prctl(PC_REQUEST, question, argument): the filter stops it, ptrace answers with its return value.
 *
 * After each system call of the program that ptrace records, all memory records committed before it stand
 * before it in the trace: ptrace closes the run (a PC_MEMORY event) at the stop. So stores and calls are in
 * one order.
 *
 * The channel file, for each process:
 *
 *   0                      PC_CHANNEL_PAGE                PC_CHANNEL_SIZE
 *   +----------------------+------------------------------+
 *   | struct               | the buffer: struct pc_memory,|
 *   |    pc_channel_page   |    struct pc_memory, ...     |
 *   +----------------------+------------------------------+
 */
#ifndef POWERCUT_GRIND_CHANNEL_H
#define POWERCUT_GRIND_CHANNEL_H

#include <stdint.h>

#define PC_REQUEST        0x50435554 /* "PCUT": no option of prctl(2) */
#define PC_CHANNEL_PAGE   65536      /* bytes kept for struct pc_channel_page */
#define PC_CHANNEL_BUFFER 3932160    /* bytes: 163840 records; to empty it stops the program */
#define PC_CHANNEL_SIZE   (PC_CHANNEL_PAGE + PC_CHANNEL_BUFFER)
#define PC_CHANNEL_SLOTS  500  /* threads Valgrind can run at once (VG_N_THREADS) */
#define PC_CHANNEL_WORDS  1600 /* more than most stacks are made of, and as many as fit */

enum pc_request {
    /* A new process image (start, exec, fork child): returns the offset of its page. */
    PC_REQUEST_HELLO = 1,
    /* Closes the run, so that the buffer is empty again: returns 0; < 0: the trace is full, nothing more can
       be recorded and the program is ended. */
    PC_REQUEST_EMPTY = 2,
    /* Unwinds the thread from page->threads[argument].registers: returns the PC_TABLE_STACK id, and in
       page->words what it was made of. */
    PC_REQUEST_STACK = 3,
    /* page->text is something to tell the user. */
    PC_REQUEST_NOTE = 4,
    /* The inode of the process's descriptor `argument`, if that is a file of the data folder whose mappings
       count; else 0. */
    PC_REQUEST_FILE = 5,
};

/* The program's registers, as far as unwinding needs them. rip points behind the instruction, or at least
 * behind its first byte: rip - 1 lies in it. */
struct pc_guest_registers {
    uint64_t rip, rsp, rbp, rbx, r12, r13, r14, r15;
};

struct pc_channel_thread {
    int32_t tid; /* 0: free slot */
    int32_t
        in_call; /* 1: the system call being made is the program's own; 0: Valgrind's, not to be recorded */
    struct pc_guest_registers registers;
};

struct pc_channel_word {
    uint64_t address, value;
};

struct pc_channel_page {
    uint64_t used;   /* bytes of the buffer that hold records; ptrace only writes it at PC_REQUEST_EMPTY: 0 */
    uint64_t closed; /* bytes that already stand in a PC_MEMORY event; written by ptrace */
    char text[256];
    struct pc_channel_thread threads[PC_CHANNEL_SLOTS]; /* by Valgrind's thread number */

    /* The answer to PC_REQUEST_STACK: everything the stack was read from. While the thread is at the same rip
       and rsp (and rbp, if used) and all these words of memory hold these values, it has this very stack. */
    int32_t word_count; /* -1: it cannot be told; ask again each time */
    int32_t uses_rbp;
    struct pc_channel_word words[PC_CHANNEL_WORDS];
};

_Static_assert(sizeof(struct pc_channel_page) <= PC_CHANNEL_PAGE, "a page for each process");

#endif
