/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before each system call of the program: the tracer can see that the call is the program's own, and its
 * registers. After: ranges.c knows all mappings that count, and what the kernel stored is recorded.
 */
#include "calls.h"

#include "file_limits.h"
#include "race/race.h"
#include "race/sites.h"
#include "ranges.h"
#include "record_buffer.h"
#include "records.h"
#include "requests.h"
#include "taint/taint.h"
#include "threads.h"
#include "versions.h"

#define MAP_FIXED_NOREPLACE_BIT 0x100000u
#define MREMAP_DONTUNMAP_BIT    4u

/* What the mmap that is under way maps. Valgrind lets no other thread run meanwhile. */
static ULong mapped_inode;

static Bool is_shared_file(UWord flags) {
    UWord type = flags & 3; /* MAP_SHARED is 1, MAP_SHARED_VALIDATE 3 */
    return (flags & VKI_MAP_ANONYMOUS) == 0 && (type & VKI_MAP_SHARED) != 0;
}

static void before_mmap(const UWord *args) {
    UWord flags = args[3];
    mapped_inode = is_shared_file(flags) ? pc_request_file((Int)args[4]) : 0;
    /* Said before, since the tracer records the new mapping at the end of the call. */
    if ((flags & VKI_MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE_BIT) == 0)
        pc_ranges_each(args[0], args[1], pc_on_unmap);
}

static void after_mmap(const UWord *args, Addr address) {
    pc_ranges_unmap(address, args[1], NULL);
    if (mapped_inode == 0)
        return;
    pc_ranges_map(address, args[1], mapped_inode, args[5], (args[2] & VKI_PROT_WRITE) != 0);
    pc_versions_mapped();
    pc_race_mapped(mapped_inode);
}

static void after_mremap(const UWord *args, Addr address) {
    Addr from = args[0];
    SizeT length = args[1], new_length = args[2];
    if (address != from)
        pc_ranges_unmap(address, new_length, pc_on_unmap); /* MREMAP_FIXED over another one */
    if ((args[3] & MREMAP_DONTUNMAP_BIT) != 0)
        length = 0;
    pc_ranges_move(from, length, address, new_length, pc_on_unmap);
}

static void before_call(ThreadId tid, UInt number, UWord *args, UInt count) {
    pc_thread_runs(tid);
    if (number == __NR_mmap)
        before_mmap(args);
    pc_taint_before_call(tid, number, args);
    pc_race_before_call(tid, number, args);
    pc_file_limits_before_call(number, args);
    pc_thread_tell(VG_(get_IP)(tid));
    pc_in_call(1);
}

static void after_call(ThreadId tid, UInt number, UWord *args, UInt count, SysRes result) {
    pc_thread_runs(tid);
    pc_in_call(0);
    pc_taint_after_call(tid, number, args, result);
    pc_race_after_call(tid, number, args, result);
    pc_file_limits_after_call(number, args);
    if (sr_isError(result))
        return;
    if (number == __NR_mmap || number == __NR_munmap || number == __NR_mremap)
        pc_sites_mapped();
    switch (number) {
    case __NR_mmap:
        after_mmap(args, sr_Res(result));
        break;
    case __NR_munmap:
        pc_ranges_unmap(args[0], args[1], pc_on_unmap);
        break;
    case __NR_mremap:
        after_mremap(args, sr_Res(result));
        break;
    case __NR_mprotect:
        pc_ranges_protect(args[0], args[1], (args[2] & VKI_PROT_WRITE) != 0);
        break;
    default:
        break;
    }
}

static void on_kernel_write(CorePart part, ThreadId tid, Addr address, SizeT length) {
    pc_taint_kernel_wrote(address, length);
    if (pc_range_count == 0 || tid == VG_INVALID_THREADID)
        return;
    pc_thread_runs(tid);
    pc_on_kernel_store(address, length);
}

static void on_kernel_read(CorePart part, ThreadId tid, const HChar *what, Addr address, SizeT length) {
    if (part == Vg_CoreSysCall)
        pc_race_kernel_reads(tid, address, length);
}

static void on_fork_child(ThreadId tid) {
    pc_hello();
    pc_thread_forked(tid);
    pc_record_buffer_forked();
    pc_taint_forked();
    pc_race_forked(tid);
}

void pc_calls_init(void) {
    VG_(needs_syscall_wrapper)(before_call, after_call);
    VG_(track_post_mem_write)(on_kernel_write);
    VG_(track_pre_mem_read)(on_kernel_read);
    VG_(atfork)(NULL, NULL, on_fork_child);
}
