/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to labels outside of translated code. Before: a system call, or a new thread. After: bytes
 * that the kernel stored, memory that is new, results of calls and the registers of a new thread have no
 * labels, and a mode knows what labels are about to leave the process.
 */
#include "faults.h"
#include "memory.h"
#include "ranges.h"

#define MOST_BUFFERS  1024u /* UIO_MAXIOV */
#define MADV_DONTNEED 4u

static const UChar zeros[sizeof(VexGuestAMD64State)];

static void clear_registers(ThreadId tid, PtrdiffT offset, SizeT size) {
    VG_(set_shadow_regs_area)(tid, 1, offset, size, zeros);
}

/* What a call reads from memory: its labels, and those that a mode gives to loads of it. */
static pc_labels given_out(ThreadId tid, Addr address, SizeT length) {
    pc_labels found = pc_labelled_read(address, length);
    pc_site site = PC_SITE(VG_(get_IP)(tid) - 1, 0, PC_MEMORY_LOAD, 0);
    for (Addr at = address, end = address + length; pc_taint_source != NULL && at < end;) {
        const struct pc_range *range = pc_range_from(at);
        if (range == NULL || range->start >= end)
            break;
        Addr from = at > range->start ? at : range->start;
        at = end < range->end ? end : range->end;
        found = pc_labels_union(found, pc_taint_source(site, from, (UInt)(at - from)));
    }
    return found;
}

static Bool can_be_read(Addr address, SizeT length) {
    return length > 0 && VG_(am_is_valid_for_client)(address, length, VKI_PROT_READ);
}

static pc_labels of_buffers(ThreadId tid, Addr address, UWord count) {
    const struct vki_iovec *buffers = (const struct vki_iovec *)address;
    pc_labels found = 0;
    if (count > MOST_BUFFERS || !can_be_read(address, count * sizeof(*buffers)))
        return 0;
    for (UWord i = 0; i < count; i++)
        if (can_be_read((Addr)buffers[i].iov_base, buffers[i].iov_len))
            found = pc_labels_union(found, given_out(tid, (Addr)buffers[i].iov_base, buffers[i].iov_len));
    return found;
}

static pc_labels of_message(ThreadId tid, const struct vki_msghdr *message) {
    if (!can_be_read((Addr)message, sizeof(*message)))
        return 0;
    return of_buffers(tid, (Addr)message->msg_iov, message->msg_iovlen);
}

static pc_labels of_messages(ThreadId tid, const struct vki_mmsghdr *messages, UWord count) {
    pc_labels found = 0;
    for (UWord i = 0; i < count && i < MOST_BUFFERS; i++)
        found = pc_labels_union(found, of_message(tid, &messages[i].msg_hdr));
    return found;
}

void pc_taint_before_call(ThreadId tid, UInt number, const UWord *args) {
    pc_labels leaving = 0;
    if (number == __NR_exit_group)
        pc_faults_exit(tid, (Int)args[0]);
    if (!pc_taint_wanted || (pc_taint_sink_call == NULL && pc_taint_source == NULL))
        return;
    switch (number) {
    case __NR_write:
    case __NR_pwrite64:
    case __NR_sendto:
        if (can_be_read(args[1], args[2]))
            leaving = given_out(tid, args[1], args[2]);
        break;
    case __NR_writev:
    case __NR_pwritev:
    case __NR_pwritev2:
        leaving = of_buffers(tid, args[1], args[2]);
        break;
    case __NR_sendmsg:
        leaving = of_message(tid, (const struct vki_msghdr *)args[1]);
        break;
    case __NR_sendmmsg:
        leaving = of_messages(tid, (const struct vki_mmsghdr *)args[1], args[2]);
        break;
    default:
        break;
    }
    if (leaving != 0 && pc_taint_sink_call != NULL)
        pc_taint_sink_call(leaving);
}

/* The end of the heap moves; what comes back is new. */
static void on_break(Addr now) {
    static Addr before;
    if (now < before)
        pc_labelled_forget(VG_PGROUNDUP(now), before - now);
    before = now;
}

void pc_taint_after_call(ThreadId tid, UInt number, const UWord *args, SysRes result) {
    if (!pc_taint_wanted)
        return;
    clear_registers(tid, offsetof(VexGuestAMD64State, guest_RAX), sizeof(ULong));
    if (sr_isError(result))
        return;
    switch (number) {
    case __NR_mmap:
        pc_labelled_forget(sr_Res(result), args[1]);
        break;
    case __NR_munmap:
        pc_labelled_forget(args[0], args[1]);
        break;
    case __NR_madvise:
        if (args[2] == MADV_DONTNEED)
            pc_labelled_forget(args[0], args[1]);
        break;
    case __NR_mremap:
        pc_labelled_move(args[0], sr_Res(result), args[1] < args[2] ? args[1] : args[2]);
        break;
    case __NR_brk:
        on_break(sr_Res(result));
        break;
    default:
        break;
    }
}

void pc_taint_kernel_wrote(Addr address, SizeT length) {
    if (pc_taint_wanted)
        pc_labelled_write(address, length, 0);
}

void pc_taint_thread_started(ThreadId tid) {
    if (pc_taint_wanted)
        clear_registers(tid, 0, sizeof(zeros));
}
