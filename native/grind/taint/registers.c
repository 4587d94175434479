/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the offset of a register. After: code that reads or writes its labels, none for registers that are
 * not followed. The stack pointer is not: sizes move it, and where a frame lies says nothing about what is in
 * it. Nor are modes and tags.
 */
#include "registers.h"

#include "emit.h"
#include "sets.h"

#define AT(field) ((Int)offsetof(VexGuestAMD64State, guest_##field))
#define WORD      8

static Bool is_wide(Int offset) {
    return offset >= AT(YMM0) && offset < AT(YMM16) + 32;
}

static Bool is_followed(Int offset) {
    Int start = offset & ~(WORD - 1);
    Bool general = start >= AT(RAX) && start <= AT(R15) && start != AT(RSP);
    Bool flags = start == AT(CC_DEP1);
    Bool x87 = (start >= AT(FPREG) && start < AT(FPTAG)) || start == AT(FC3210);
    return general || flags || is_wide(start) || x87;
}

static IRExpr *low_half(struct pc_taint_pass *pass, IRExpr *shadow) {
    return unary(pass->out, Iop_32Uto64, unary(pass->out, Iop_64to32, shadow));
}

static IRExpr *high_half(struct pc_taint_pass *pass, IRExpr *shadow) {
    return binary(pass->out, Iop_Shr64, shadow, IRExpr_Const(IRConst_U8(32)));
}

static struct pc_lane get_word(struct pc_taint_pass *pass, Int offset) {
    if (!is_followed(offset))
        return pc_lane_with(NULL);
    IRExpr *set = keep(pass->out, IRExpr_Get(pass->shadow + offset, Ity_I32));
    return pc_lane_with(unary(pass->out, Iop_32Uto64, set));
}

static void put_word(struct pc_taint_pass *pass, Int offset, const struct pc_lane *lane) {
    if (is_followed(offset))
        addStmtToIRSB(pass->out, IRStmt_Put(pass->shadow + offset, pc_lane_set(pass, lane)));
}

static Bool is_flags(Int offset) {
    return offset >= AT(CC_DEP1) && offset <= AT(CC_NDEP);
}

void pc_registers_flush(struct pc_taint_pass *pass) {
    struct pc_flags *flags = &pass->flags;
    if (!flags->written[0] && !flags->written[1] && !flags->written[2])
        return;
    IRExpr *before = NULL;
    if (!flags->written[0] || !flags->written[1])
        before = keep(pass->out, IRExpr_Get(pass->shadow + AT(CC_DEP1), Ity_I64));
    if (!flags->written[0])
        flags->operand[0] = pc_lane_with(low_half(pass, before));
    if (!flags->written[1])
        flags->operand[1] = pc_lane_with(high_half(pass, before));
    struct pc_lane low = pc_lane_union(pass, &flags->operand[0], &flags->operand[2]);
    addStmtToIRSB(pass->out,
                  IRStmt_Put(pass->shadow + AT(CC_DEP1), pc_lane_pair(pass, &low, &flags->operand[1])));
    *flags = (struct pc_flags){{False}};
}

/* The third operand never comes alone, and the first has its labels. */
static struct pc_shade get_flags(struct pc_taint_pass *pass, Int offset) {
    struct pc_shade shade = {.lanes = 1};
    pc_registers_flush(pass);
    if (offset == AT(CC_NDEP))
        return shade;
    IRExpr *both_operands = keep(pass->out, IRExpr_Get(pass->shadow + AT(CC_DEP1), Ity_I64));
    IRExpr *half = offset == AT(CC_DEP1) ? low_half(pass, both_operands) : high_half(pass, both_operands);
    shade.lane[0] = pc_lane_with(half);
    return shade;
}

/* Bytes of the lowest part of a register. */
static Int part_size(Int offset) {
    return is_wide(offset) ? 4 : 1;
}

struct pc_lane pc_registers_part(struct pc_taint_pass *pass, IRExpr *shadow) {
    IRExpr *part = high_half(pass, shadow);
    IRExpr *alone = unary(pass->out, Iop_CmpNEZ64, part);
    IRExpr *set = binary(pass->out, Iop_And64, part, word((UInt)~PC_LABELS_FREE));
    return pc_lane_with(keep(pass->out, IRExpr_ITE(alone, set, low_half(pass, shadow))));
}

/* What is not overwritten keeps its labels. */
static void put_part(struct pc_taint_pass *pass, Int offset, Int size, const struct pc_lane *lane) {
    Int start = offset & ~(WORD - 1);
    struct pc_lane before = get_word(pass, start);
    struct pc_lane after = pc_lane_union(pass, &before, lane);
    IRExpr *all = pc_lane_set(pass, &after), *part = NULL;
    if (offset == start && size >= part_size(start))
        part = binary(pass->out, Iop_Or64, pc_lane_set(pass, lane), word(PC_LABELS_FREE));
    addStmtToIRSB(pass->out, IRStmt_Put(pass->shadow + start, pc_packed(pass, all, part)));
}

struct pc_shade pc_registers_get(struct pc_taint_pass *pass, Int offset, IRType type) {
    struct pc_shade shade = {.lanes = pc_lanes_of(type)};
    Int size = sizeofIRType(type), start = offset & ~(WORD - 1);
    if (is_flags(offset))
        return get_flags(pass, offset);
    Bool part = size < WORD && offset == start && size <= part_size(offset);
    if (is_followed(start) && (part || (size == WORD && !is_wide(start)))) {
        shade.shadow = keep(pass->out, IRExpr_Get(pass->shadow + start, Ity_I64));
        shade.lane[0] =
            part ? pc_registers_part(pass, shade.shadow) : pc_lane_with(low_half(pass, shade.shadow));
        return shade;
    }
    for (UInt i = 0; i < shade.lanes; i++)
        shade.lane[i] = get_word(pass, start + (Int)i * WORD);
    return shade;
}

static void clear_two(struct pc_taint_pass *pass, Int offset) {
    addStmtToIRSB(pass->out, IRStmt_Put(pass->shadow + offset, IRExpr_Const(IRConst_V128(0))));
}

void pc_registers_put(struct pc_taint_pass *pass, Int offset, IRType type, const struct pc_shade *shade) {
    Int size = sizeofIRType(type);
    if (is_flags(offset)) {
        pass->flags.written[(offset - AT(CC_DEP1)) / WORD] = True;
        pass->flags.operand[(offset - AT(CC_DEP1)) / WORD] = shade->lane[0];
        return;
    }
    if (size < WORD && is_followed(offset)) {
        put_part(pass, offset, size, &shade->lane[0]);
        return;
    }
    for (UInt i = 0; i < shade->lanes; i++) {
        if (i + 1 < shade->lanes && pc_lane_is_empty(&shade->lane[i]) &&
            pc_lane_is_empty(&shade->lane[i + 1]))
            clear_two(pass, offset + (Int)i++ * WORD); /* vzeroupper clears 32 of them */
        else
            put_word(pass, offset + (Int)i * WORD, &shade->lane[i]);
    }
}

/* The same array in the shadow; NULL: not followed. */
static IRRegArray *shadow_array(const struct pc_taint_pass *pass, const IRRegArray *array) {
    if (sizeofIRType(array->elemTy) != WORD || !is_followed(array->base))
        return NULL;
    return mkIRRegArray(array->base + pass->shadow, Ity_I64, array->nElems);
}

struct pc_shade pc_registers_get_indexed(struct pc_taint_pass *pass, const IRExpr *expression) {
    struct pc_shade shade = {.lanes = pc_lanes_of(expression->Iex.GetI.descr->elemTy)};
    IRRegArray *array = shadow_array(pass, expression->Iex.GetI.descr);
    if (array != NULL)
        shade.lane[0] = pc_lane_with(
            keep(pass->out, IRExpr_GetI(array, expression->Iex.GetI.ix, expression->Iex.GetI.bias)));
    return shade;
}

void pc_registers_put_indexed(struct pc_taint_pass *pass, const IRPutI *put, const struct pc_shade *shade) {
    IRRegArray *array = shadow_array(pass, put->descr);
    if (array != NULL)
        addStmtToIRSB(pass->out,
                      IRStmt_PutI(mkIRPutI(array, put->ix, put->bias, pc_lane_set(pass, &shade->lane[0]))));
}

void pc_registers_read(struct pc_atoms *atoms, Int offset, Int size) {
    for (Int at = offset & ~(WORD - 1); at < offset + size; at += WORD) {
        struct pc_lane lane = get_word(atoms->pass, at);
        pc_atoms_add(atoms, &lane);
    }
}

void pc_registers_write(struct pc_taint_pass *pass, Int offset, Int size, const struct pc_lane *lane,
                        Bool all) {
    for (Int at = offset & ~(WORD - 1); at < offset + size; at += WORD) {
        struct pc_lane before = all ? pc_lane_with(NULL) : get_word(pass, at);
        struct pc_lane after = pc_lane_union(pass, &before, lane);
        put_word(pass, at, &after);
    }
}

/* Both halves of the word are over, or empty. */
static Bool is_clear(ULong *word) {
    pc_labels low = (pc_labels)*word & ~PC_LABELS_FREE, high = (pc_labels)(*word >> 32) & ~PC_LABELS_FREE;
    if (!pc_labels_are_over(low) || !pc_labels_are_over(high))
        return False;
    *word = 0;
    return True;
}

Bool pc_registers_are_clear(ULong *shadow) {
    static const struct {
        Int start, end;
    } parts[] = {{AT(RAX), AT(R15) + WORD},
                 {AT(CC_DEP1), AT(CC_DEP1) + WORD},
                 {AT(YMM0), AT(YMM16) + 32},
                 {AT(FPREG), AT(FPTAG)},
                 {AT(FC3210), AT(FC3210) + WORD}};
    for (UInt i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        for (Int at = parts[i].start; at < parts[i].end; at += WORD)
            if (shadow[at / WORD] != 0 && is_followed(at) && !is_clear(&shadow[at / WORD]))
                return False;
    return True;
}
