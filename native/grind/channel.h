/* How the memory tracer (a Valgrind tool) and the system-call tracer (ptrace) work together on one trace.
 *
 * The program runs inside Valgrind, and Valgrind runs under ptrace. Valgrind performs the program's system
 * calls as they are, so ptrace sees and records every file call as always; the tool adds what ptrace cannot
 * see: stores, flushes and fences, and the registers the program itself has at a call. ptrace is the only
 * writer of the trace; the tool fills memory records in place, in room that ptrace reserved in the trace
 * file.
 *
 * Before: the tool was started with --channel=/proc/TRACER/fd/C --trace=/proc/TRACER/fd/T (files opened by
 * the tracer, so that they are reachable from any mount namespace). The tool asks with a call that means
 * nothing to the kernel, prctl(PC_ASK, question, argument): the filter stops it, ptrace answers with its
 * return value.
 *
 * After each system call of the program that ptrace records, all memory records committed before it stand
 * before it in the trace: ptrace closes the run (a PC_MEMORY event) at the stop. So stores and calls are in
 * one order.
 */
#ifndef POWERCUT_GRIND_CHANNEL_H
#define POWERCUT_GRIND_CHANNEL_H

#include <stdint.h>

#define PC_ASK          0x50435554 /* "PCUT": no option of prctl(2) */
#define PC_CHANNEL_PAGE 65536 /* bytes of struct pc_channel_page in the channel file, one for each process   \
                               */
#define PC_CHANNEL_SLOTS 500  /* threads Valgrind can run at once (VG_N_THREADS) */

enum pc_question {
    PC_ASK_HELLO = 1, /* a new process image (start, exec, fork child): returns the offset of its page */
    PC_ASK_ROOM = 2,  /* closes the run and reserves new room: returns 0, page->room_* are new; < 0: the trace
                         is  full, nothing more can be recorded and the program is ended */
    PC_ASK_STACK =
        3, /* unwinds the thread from page->threads[argument].registers: returns the PC_TABLE_STACK id */
    PC_ASK_NOTE = 4, /* page->text is something to tell the user */
};

/* The program's registers, as far as unwinding needs them. */
struct pc_guest_registers {
    uint64_t rip, rsp, rbp, rbx, r12, r13, r14, r15;
};

struct pc_channel_thread {
    int32_t tid; /* 0: free slot */
    int32_t
        in_call; /* 1: the system call being made is the program's own; 0: Valgrind's, not to be recorded */
    struct pc_guest_registers registers;
};

struct pc_channel_page {
    uint64_t
        room_offset; /* where in the trace file the records go; a multiple of the page size is not promised */
    uint64_t room_size; /* bytes */
    uint64_t used;      /* bytes committed by the tool since the room was given; ptrace never writes it but at
                           PC_ASK_ROOM and PC_ASK_HELLO, where it becomes 0 */
    uint64_t closed;    /* bytes that already stand in a PC_MEMORY event; written by ptrace */
    char text[256];
    struct pc_channel_thread threads[PC_CHANNEL_SLOTS]; /* by Valgrind's thread number */
};

_Static_assert(sizeof(struct pc_channel_page) <= PC_CHANNEL_PAGE, "a page for each process");

#endif
