/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tool's window on Valgrind: its public headers, and the few functions of its core that a tool may link
 * with but that have no public header. */
#ifndef POWERCUT_GRIND_CORE_H
#define POWERCUT_GRIND_CORE_H

/* This one first, the others need it. */
#include "pub_tool_basics.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "libvex_guest_amd64.h"

extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd, Off64T offset);
/* Moves a descriptor out of the program's reach and makes it close on exec. */
extern Int VG_(safe_fd)(Int oldfd);
/* The program's descriptors are less than this. */
extern Int VG_(fd_soft_limit), VG_(fd_hard_limit);
extern Int VG_(fcntl)(Int fd, Int command, Addr argument);
extern void *VG_(get_ThreadState)(ThreadId tid);
extern void VG_(set_IP)(ThreadId tid, Addr address);
/* No code of the program may run. */
extern void VG_(discard_translations)(Addr start, ULong length, const HChar *who);
extern HChar **VG_(client_envp);
extern UWord *VG_(client_auxv);
/* The program's file. */
extern Int VG_(cl_exec_fd);
/* Where Valgrind's messages go; only the first field is of interest. */
extern struct {
    Int fd;
    Bool is_socket;
} VG_(log_output_sink);

/* Moves an inherited descriptor out of the program's reach, to be inherited by what the program executes. The
 * option is what tells its number. */
Int pc_core_keep(Int descriptor, const HChar *option);

/* Takes --messages=N, the descriptor for what Valgrind itself says; False: another option. */
Bool pc_core_option(const HChar *argument);
/* From now on, Valgrind's messages go there. */
void pc_core_redirect_messages(void);

/* The program sees its environment as if Valgrind were not there. Called once, before it starts. */
void pc_core_clean_environment(void);

#endif
