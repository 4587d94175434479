/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: an access to memory. After: calls of the helpers below, which are passed by if the filters say that
 * there are no labels at the address, and neither address nor data have any.
 */
#include "access.h"

#include "emit.h"
#include "flow.h"
#include "memory.h"

#define LANE 8u

/* What loads from a place give. */
static pc_labels labels_at(pc_site site, Addr address, UInt size, pc_labels where) {
    pc_labels found = pc_labels_union(pc_labelled_read(address, size), where);
    if (pc_taint_source == NULL || pc_filter[address >> PC_FILTER_SHIFT & PC_FILTER_MASK] == 0)
        return found;
    const struct pc_range *range = pc_range_from(address);
    if (range == NULL || range->start >= address + size)
        return found;
    return pc_labels_union(found, pc_taint_source(site, address, size));
}

/* Up to 8 bytes: their set. 16: one for each half. `where` is two sets. */
static ULong on_load(pc_site site, Addr address, ULong where) {
    UInt size = PC_SITE_SIZE(site);
    pc_labels through = pc_unpacked(where);
    if (size != 2 * LANE)
        return labels_at(site, address, size, through);
    site = PC_SITE(PC_SITE_PC(site), LANE, PC_MEMORY_LOAD, 0);
    return (ULong)labels_at(site, address + LANE, LANE, through) << 32 |
           labels_at(site, address, LANE, through);
}

/* Any number of bytes: the set of all. */
static ULong on_read(pc_site site, Addr address, ULong where) {
    return labels_at(site, address, PC_SITE_SIZE(site), pc_unpacked(where));
}

static void sink(pc_site site, Addr address, pc_labels value, pc_labels where) {
    UInt size = PC_SITE_SIZE(site);
    if (pc_taint_sink == NULL || (value | where) == 0)
        return;
    const struct pc_range *range = pc_range_from(address);
    if (range != NULL && range->start < address + size)
        pc_taint_sink(site, address, size, value, where);
}

/* 32 bytes: `low` and `high` are the sets of two lanes each. */
static void on_wide_store(pc_site site, Addr address, ULong low, ULong high, ULong where) {
    pc_labels lanes[] = {(pc_labels)low, (pc_labels)(low >> 32), (pc_labels)high, (pc_labels)(high >> 32)};
    for (UInt i = 0; i < PC_SITE_SIZE(site) / LANE; i++)
        pc_labelled_write(address + i * LANE, LANE, lanes[i]);
    sink(site, address, pc_labels_union(pc_unpacked(low), pc_unpacked(high)), pc_unpacked(where));
}

/* 16 bytes: `sets` are those of both lanes. Else both are of all. */
static void on_store(pc_site site, Addr address, ULong sets, ULong where) {
    pc_labels value = pc_unpacked(sets);
    if (PC_SITE_SIZE(site) == 2 * LANE) {
        on_wide_store(site, address, sets, 0, where);
        return;
    }
    pc_labelled_write(address, PC_SITE_SIZE(site), value);
    if ((value | where) != 0)
        sink(site, address, value, pc_unpacked(where));
}

/* Not 0 if the helper must be called. `sets`: a sum of what address and data have, NULL: nothing. */
static IRExpr *must_look(struct pc_taint_pass *pass, IRExpr *address, IRExpr *sets) {
    /* The index, times the size of an entry. */
    IRExpr *part = binary(pass->out, Iop_Shr64, address, IRExpr_Const(IRConst_U8(PC_LABELLED_SHIFT - 1)));
    IRExpr *offset = binary(pass->out, Iop_And64, part, word((ULong)PC_LABELLED_MASK << 1));
    IRExpr *at = binary(pass->out, Iop_Add64, offset, address_of(pc_labelled_filter));
    IRExpr *labelled = unary(pass->out, Iop_16Uto64, load(pass->out, Ity_I16, at));
    return pc_either(pass, labelled, sets);
}

static IRExpr *sum(struct pc_taint_pass *pass, IRExpr *so_far, const struct pc_lane *lane) {
    return pc_either(pass, pc_either(pass, so_far, lane->atoms[0]), lane->atoms[1]);
}

static IRExpr *plus(struct pc_taint_pass *pass, IRExpr *address, UInt offset) {
    return offset == 0 ? address : binary(pass->out, Iop_Add64, address, word(offset));
}

static IRExpr *load_call(struct pc_taint_pass *pass, IRExpr *address, UInt size, const struct pc_lane *where,
                         IRExpr *condition) {
    IRExpr *look = must_look(pass, address, sum(pass, NULL, where));
    pc_site site = PC_SITE(pass->pc, size, PC_MEMORY_LOAD, 0);
    IRExpr *through = pc_packed(pass, where->atoms[0], where->atoms[1]);
    return pc_answer(pass, "on_load", on_load, mkIRExprVec_3(word(site), address, through), look, condition);
}

struct pc_shade pc_access_load(struct pc_taint_pass *pass, IRExpr *address, IRType type, IRExpr *condition) {
    struct pc_shade shade = {.lanes = pc_lanes_of(type)};
    struct pc_lane where = pc_flow_atom(pass, address).lane[0];
    if (shade.lanes == 1) {
        UInt size = (UInt)sizeofIRType(type);
        shade.lane[0] = pc_lane_with(load_call(pass, address, size, &where, condition));
        return shade;
    }
    for (UInt i = 0; i < shade.lanes; i += 2) {
        IRExpr *sets = load_call(pass, plus(pass, address, i * LANE), 2 * LANE, &where, condition);
        IRExpr *low = unary(pass->out, Iop_32Uto64, unary(pass->out, Iop_64to32, sets));
        shade.lane[i] = pc_lane_with(low);
        shade.lane[i + 1] = pc_lane_with(binary(pass->out, Iop_Shr64, sets, IRExpr_Const(IRConst_U8(32))));
    }
    return shade;
}

/* Two lanes in one word. */
static IRExpr *lane_pair(struct pc_taint_pass *pass, const struct pc_lane *low, const struct pc_lane *high) {
    IRExpr *sets[2] = {NULL, NULL};
    if (!pc_lane_is_empty(low))
        sets[0] = pc_lane_set(pass, low);
    if (!pc_lane_is_empty(high))
        sets[1] = pc_lane_set(pass, high);
    return pc_packed(pass, sets[0], sets[1]);
}

void pc_access_store(struct pc_taint_pass *pass, IRExpr *address, UInt size, const struct pc_shade *value,
                     IRExpr *condition) {
    struct pc_lane where = pc_flow_atom(pass, address).lane[0];
    const struct pc_lane *lane = value->lane;
    IRExpr *all = sum(pass, NULL, &where);
    for (UInt i = 0; i < value->lanes; i++)
        all = sum(pass, all, &lane[i]);
    IRExpr *look = unary(pass->out, Iop_CmpNEZ64, must_look(pass, address, all));
    IRExpr *guard = both(pass->out, look, condition);
    IRExpr *low = value->lanes == 1 ? pc_packed(pass, lane[0].atoms[0], lane[0].atoms[1])
                                    : lane_pair(pass, &lane[0], &lane[1]);
    IRExpr *site = word(PC_SITE(pass->pc, size, PC_MEMORY_STORE, 0));
    IRExpr *through = pc_packed(pass, where.atoms[0], where.atoms[1]);
    if (value->lanes < 4)
        call(pass->out, "on_store", on_store, mkIRExprVec_4(site, address, low, through), guard);
    else
        call(pass->out, "on_wide_store", on_wide_store,
             mkIRExprVec_5(site, address, low, lane_pair(pass, &lane[2], &lane[3]), through), guard);
}

struct pc_lane pc_access_read(struct pc_taint_pass *pass, IRExpr *address, UInt size, IRExpr *condition) {
    struct pc_lane where = pc_flow_atom(pass, address).lane[0];
    pc_site site = PC_SITE(pass->pc, size, PC_MEMORY_LOAD, 0);
    IRExpr *through = pc_packed(pass, where.atoms[0], where.atoms[1]);
    return pc_lane_with(
        pc_answer(pass, "on_read", on_read, mkIRExprVec_3(word(site), address, through), NULL, condition));
}

void pc_access_write(struct pc_taint_pass *pass, IRExpr *address, UInt size, const struct pc_lane *value,
                     IRExpr *condition) {
    struct pc_lane where = pc_flow_atom(pass, address).lane[0];
    pc_site site = PC_SITE(pass->pc, size, PC_MEMORY_STORE, 0);
    IRExpr *through = pc_packed(pass, where.atoms[0], where.atoms[1]);
    IRExpr *set = pc_lane_set(pass, value);
    call(pass->out, "on_store", on_store,
         mkIRExprVec_4(word(site), address, pc_packed(pass, set, set), through), condition);
}
