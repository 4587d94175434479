/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What led to a fault: labelled values that an instruction depends on which may fault, and branches by
 * labelled conditions, of which each thread's last ones are kept on the board. */
#ifndef POWERCUT_GRIND_TAINT_FAULTS_H
#define POWERCUT_GRIND_TAINT_FAULTS_H

#include "shades.h"

extern Bool pc_faults_wanted;

/* Before the program starts. */
void pc_faults_init(void);

/* Before a statement that may fault: the program counter is that of its instruction. Valgrind sees to that
 * for accesses to memory only. */
void pc_faults_place(IRSB *out, const IRStmt *statement, Addr pc);
/* Emission, as in taint.h. */
void pc_faults_before(struct pc_taint_pass *pass, const IRStmt *statement);
void pc_faults_end(struct pc_taint_pass *pass);

/* The process is about to end itself. */
void pc_faults_exit(ThreadId tid, Int code);

#endif
