/* SPDX-License-Identifier: GPL-2.0-or-later */
/* powercut-loads: a tool for Valgrind that finds out which bytes of mapped data files a check reads.
 *
 * It is started by powercut-ptrace --looks, which sees all system calls of the program, and is told the rest
 * when the program ends, and before it cuts a file: what it reads behind the cut is then no more that of the
 * image. */
#include "core.h"
#include "instrument.h"
#include "loaded.h"
#include "program.h"
#include "ranges.h"

static ULong device;       /* of the data folder */
static ULong mapped_inode; /* by the mmap that is under way; Valgrind lets no other thread run meanwhile */

static Bool on_option(const HChar *argument) {
    return VG_BINT_CLO(argument, "--device", device, 0, ~0ULL >> 1) || pc_core_option(argument) ||
           pc_program_option(argument) || pc_loaded_option(argument);
}

static void usage(void) {
    VG_(printf)("    --device=N --secret=N --messages=N   given by powercut-ptrace\n");
}

static void debug_usage(void) {
}

static ULong data_file(Int descriptor) {
    struct vg_stat about;
    if (VG_(fstat)(descriptor, &about) != 0 || about.dev != device)
        return 0;
    return about.ino;
}

static void before_call(ThreadId tid, UInt number, UWord *args, UInt count) {
    if (number == __NR_mmap)
        mapped_inode = (args[3] & VKI_MAP_ANONYMOUS) == 0 ? data_file((Int)args[4]) : 0;
    if (number == __NR_ftruncate)
        pc_loaded_tell(False);
}

static void after_mmap(const UWord *args, Addr address) {
    pc_ranges_unmap(address, args[1], NULL);
    if (mapped_inode == 0)
        return;
    pc_ranges_map(address, args[1], mapped_inode, args[5], (args[3] & VKI_MAP_SHARED) != 0);
    if ((args[2] & VKI_PROT_EXEC) != 0)
        pc_on_load_of_all(address, args[1]);
}

static void after_mremap(const UWord *args, Addr address) {
    if (address != args[0])
        pc_ranges_unmap(address, args[2], NULL);
    pc_ranges_move(args[0], (args[3] & 4) != 0 ? 0 : args[1], address, args[2], NULL); /* MREMAP_DONTUNMAP */
}

static void after_call(ThreadId tid, UInt number, UWord *args, UInt count, SysRes result) {
    if (sr_isError(result))
        return;
    if (number == __NR_mmap)
        after_mmap(args, sr_Res(result));
    else if (number == __NR_munmap)
        pc_ranges_unmap(args[0], args[1], NULL);
    else if (number == __NR_mremap)
        after_mremap(args, sr_Res(result));
    else if (number == __NR_mprotect && (args[2] & VKI_PROT_EXEC) != 0)
        pc_on_load_of_all(args[0], args[1]);
}

static void on_kernel_read(CorePart part, ThreadId tid, const HChar *what, Addr address, SizeT length) {
    if (pc_range_count != 0)
        pc_on_load(address, length);
}

static void on_kernel_read_of_name(CorePart part, ThreadId tid, const HChar *what, Addr address) {
    while (pc_range_count != 0 && VG_(am_is_valid_for_client)(address, 1, VKI_PROT_READ)) {
        pc_on_load(address, 1);
        if (*(const HChar *)address++ == '\0')
            break;
    }
}

static void after_options(void) {
    pc_core_redirect_messages();
    pc_program_rename();
    pc_core_clean_environment();
}

static void at_end(Int status) {
    pc_loaded_tell(True);
}

static void before_options(void) {
    VG_(details_name)("powercut-loads");
    VG_(details_version)(NULL);
    VG_(details_description)("what a check reads of mapped files");
    VG_(details_copyright_author)("GPL-2.0-or-later");
    VG_(details_bug_reports_to)("powercut");
    VG_(basic_tool_funcs)(after_options, pc_instrument, at_end);
    VG_(needs_command_line_options)(on_option, usage, debug_usage);
    VG_(needs_syscall_wrapper)(before_call, after_call);
    VG_(track_pre_mem_read)(on_kernel_read);
    VG_(track_pre_mem_read_asciiz)(on_kernel_read_of_name);
    pc_loaded_init();
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
