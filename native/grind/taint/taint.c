/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface alone, for now: no set has labels. */
#include "taint.h"

Bool pc_taint_wanted;
pc_labels (*pc_taint_source)(pc_site site, Addr address, UInt size);
void (*pc_taint_sink)(pc_site site, Addr address, UInt size, pc_labels value, pc_labels where);
void (*pc_taint_sink_call)(pc_labels labels);

pc_labels pc_labels_one(ULong number) {
    return 0;
}

pc_labels pc_labels_union(pc_labels a, pc_labels b) {
    return a | b;
}

void pc_labels_each(pc_labels set, void (*visit)(ULong number, void *data), void *data) {
}

struct pc_taint_pass *pc_taint_begin(const IRSB *in, IRSB *out, const VexGuestLayout *layout) {
    return NULL;
}

void pc_taint_before(struct pc_taint_pass *pass, const IRStmt *statement, Addr pc) {
}

void pc_taint_after(struct pc_taint_pass *pass, const IRStmt *statement, Addr pc) {
}

void pc_taint_before_call(ThreadId tid, UInt number, const UWord *args) {
}

void pc_taint_after_call(ThreadId tid, UInt number, const UWord *args, SysRes result) {
}

void pc_taint_kernel_wrote(Addr address, SizeT length) {
}

void pc_taint_thread_started(ThreadId tid) {
}
