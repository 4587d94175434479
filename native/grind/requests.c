/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before pc_hello: the tracer has left us the channel file and named it in the options. After: pc_page is
 * this process's page, and pc_records its buffer.
 *
 * The descriptor is kept, out of the program's reach: it may lose its rights or its /proc.
 */
#include "requests.h"

#include "threads.h"

struct pc_channel_page *pc_page;
struct pc_memory *pc_records;

enum { MOST_ERRORS = 4095 }; /* what a system call returns below 0 is an error down to here */

static Int inherited = -1; /* the channel as we got it */
static Int channel = -1;

Bool pc_request_option(const HChar *argument) {
    return VG_INT_CLO(argument, "--channel", inherited);
}

static Long ask(enum pc_request question, ULong argument) {
    Long result;
    /* A call of ours, even in the midst of one of the program's. */
    Int in_call = pc_in_call(0);
    register ULong r10 __asm__("r10") = 0;
    register ULong r8 __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(__NR_prctl), "D"(PC_REQUEST), "S"((ULong)question), "d"(argument), "r"(r10),
                       "r"(r8)
                     : "rcx", "r11", "memory");
    pc_in_call(in_call);
    return result;
}

static void __attribute__((noreturn)) give_up(const HChar *what) {
    VG_(printf)("powercut-grind: %s. This program is started by powercut only.\n", what);
    VG_(exit)(1);
}

void pc_hello(void) {
    if (channel < 0)
        channel = inherited < 0 ? -1 : pc_core_keep(inherited, "--channel=");
    if (channel < 0)
        give_up("there is no channel to a tracer");
    if (pc_page != NULL)
        VG_(am_munmap_valgrind)((Addr)pc_page, PC_CHANNEL_SIZE); /* of the parent */
    pc_page = NULL;
    Long offset = ask(PC_REQUEST_HELLO, 0);
    if (offset < 0)
        give_up("there is no tracer");
    SysRes mapped = VG_(am_shared_mmap_file_float_valgrind)(PC_CHANNEL_SIZE, VKI_PROT_READ | VKI_PROT_WRITE,
                                                            channel, offset);
    if (sr_isError(mapped))
        give_up("the channel to the tracer cannot be mapped");
    pc_page = (struct pc_channel_page *)sr_Res(mapped);
    pc_records = (struct pc_memory *)(sr_Res(mapped) + PC_CHANNEL_PAGE);
}

void pc_request_empty(void) {
    if (ask(PC_REQUEST_EMPTY, 0) < 0)
        give_up("the trace is full"); /* the tracer ends us before this is said */
}

UInt pc_request_stack(ThreadId tid) {
    Long id = ask(PC_REQUEST_STACK, tid);
    return id < 0 ? 0 : (UInt)id;
}

ULong pc_request_file(Int descriptor) {
    Long inode = ask(PC_REQUEST_FILE, (ULong)descriptor);
    return inode < 0 && inode >= -MOST_ERRORS ? 0
                                              : (ULong)inode; /* an overlay numbers files from 2^63 on, too */
}

void pc_note(const HChar *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    VG_(vsnprintf)(pc_page->text, sizeof(pc_page->text), format, arguments);
    va_end(arguments);
    ask(PC_REQUEST_NOTE, 0);
}
