/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of registers, in the shadow of the guest state: 8 bytes for 8.
 *
 *   bits 0 to 31    the set of all bytes
 *   bits 32 to 63   0, or if the lowest part of the register (a byte of a general one, 4 bytes of a wide one)
 *                   was written alone: its set, with PC_LABELS_FREE added
 */
#ifndef POWERCUT_GRIND_TAINT_REGISTERS_H
#define POWERCUT_GRIND_TAINT_REGISTERS_H

#include "shades.h"

/* Flags are made of three operands (CC_DEP1, CC_DEP2, CC_NDEP), which most instructions write. Their labels
 * are written together, when someone may look: in the word of the first, those of the first and the third in
 * the lower half, those of the second in the upper one. */
void pc_registers_flush(struct pc_taint_pass *pass);

struct pc_shade pc_registers_get(struct pc_taint_pass *pass, Int offset, IRType type);
void pc_registers_put(struct pc_taint_pass *pass, Int offset, IRType type, const struct pc_shade *shade);

/* In a helper: whether no register of a thread has a label; those that are over (taint.h) are dropped. */
Bool pc_registers_are_clear(ULong *shadow);

/* The labels of the lowest part of a register whose shadow this is. */
struct pc_lane pc_registers_part(struct pc_taint_pass *pass, IRExpr *shadow);

/* Registers chosen at run time: those of the x87. */
struct pc_shade pc_registers_get_indexed(struct pc_taint_pass *pass, const IRExpr *expression);
void pc_registers_put_indexed(struct pc_taint_pass *pass, const IRPutI *put, const struct pc_shade *shade);

/* Parts of the state that one of Valgrind's helpers reads or writes. `all`: all that is there is written. */
void pc_registers_read(struct pc_atoms *atoms, Int offset, Int size);
void pc_registers_write(struct pc_taint_pass *pass, Int offset, Int size, const struct pc_lane *lane,
                        Bool all);

#endif
