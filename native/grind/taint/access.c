/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: an access to memory. After: calls of the helpers below, which are passed by if the filters say that
 * there are no labels at the address, and neither address nor data have any.
 */
#include "access.h"

#include "access_filter.h"
#include "emit.h"
#include "flow.h"
#include "memory.h"
#include "threads.h"
#include "versions.h"

#define LANE 8u

/* The instruction at hand: Valgrind keeps the program counter up to date for accesses to memory. */
static pc_site site_of(UInt size, UInt kind) {
    return PC_SITE(pc_guest->guest_RIP, size, kind, 0);
}

pc_labels pc_access_source(Addr address, UInt size) {
    if (pc_taint_source == NULL || pc_filter[address >> PC_FILTER_SHIFT & PC_FILTER_MASK] == 0)
        return 0;
    const struct pc_range *range = pc_range_from(address);
    if (range == NULL || range->start >= address + size)
        return 0;
    return pc_taint_source(site_of(size, PC_MEMORY_LOAD), address, size);
}

/* What loads from a place give. `where`: two sets. */
static pc_labels labels_at(Addr address, UInt size, ULong where) {
    pc_labels found = pc_labelled_now(address, size);
    if (where != 0)
        found = pc_labels_union(found, pc_unpacked(where));
    return pc_labels_union(found, pc_access_source(address, size));
}

/* Where generated code finds the answer of a helper that it may have passed by: in the shadow of a register
 * that is not followed. It costs less than a result, which must be chosen again. */
#define ANSWER ((Int)offsetof(VexGuestAMD64State, guest_RIP))

static void answer(ULong sets) {
    if (sets != 0)
        pc_follow();
    *(ULong *)((Addr)pc_guest + sizeof(*pc_guest) + ANSWER) = sets;
}

static void sink(UInt size, Addr address, pc_labels value, pc_labels where) {
    if (pc_taint_sink == NULL || (value | where) == 0)
        return;
    const struct pc_range *range = pc_range_from(address);
    if (range != NULL && range->start < address + size)
        pc_taint_sink(site_of(size, PC_MEMORY_STORE), address, size, value, where);
}

/* A load or store of up to 8 bytes, or of more that are not kept apart. */
static inline void load_some(Addr address, UInt size, ULong where) {
    answer(labels_at(address, size, where));
}

static inline void store_some(Addr address, UInt size, ULong sets, ULong where) {
    pc_labels value = pc_unpacked(sets);
    pc_labelled_write(address, size, value);
    if ((value | where) != 0)
        sink(size, address, value, pc_unpacked(where));
}

#define HELPERS(size)                                                                                        \
    static void load_##size(Addr address, ULong where) {                                                     \
        load_some(address, size, where);                                                                     \
    }                                                                                                        \
    static void store_##size(Addr address, ULong sets, ULong where) {                                        \
        store_some(address, size, sets, where);                                                              \
    }
HELPERS(1)
HELPERS(2)
HELPERS(4)
HELPERS(8)

static void load_any(Addr address, ULong where, ULong size) {
    load_some(address, (UInt)size, where);
}

static void store_any(Addr address, ULong sets, ULong where, ULong size) {
    store_some(address, (UInt)size, sets, where);
}

/* Two lanes: the answer has both. */
static void load_16(Addr address, ULong where) {
    ULong high = labels_at(address + LANE, LANE, where);
    answer(high << 32 | labels_at(address, LANE, where));
}

static void store_lanes(Addr address, UInt count, const ULong *pairs, ULong where) {
    pc_labels all = 0;
    for (UInt i = 0; i < count; i++) {
        pc_labels lane = (pc_labels)(pairs[i / 2] >> (i % 2 == 0 ? 0 : 32));
        pc_labelled_write(address + i * LANE, LANE, lane);
        all = pc_labels_union(all, lane);
    }
    sink(count * LANE, address, all, pc_unpacked(where));
}

static void store_16(Addr address, ULong sets, ULong where) {
    store_lanes(address, 2, &sets, where);
}

static void store_32(Addr address, ULong low, ULong where, ULong high) {
    ULong pairs[] = {low, high};
    store_lanes(address, 4, pairs, where);
}

static void *load_helper(UInt size) {
    return size == 1 ? load_1 : size == 2 ? load_2 : size == 4 ? load_4 : size == 8 ? load_8 : load_16;
}

static void *store_helper(UInt size) {
    return size == 1 ? store_1 : size == 2 ? store_2 : size == 4 ? store_4 : size == 8 ? store_8 : store_16;
}

/* Not 0 if the helper must be called. `sets`: a sum of what address and data have, NULL: nothing. */
static IRExpr *must_look(struct pc_taint_pass *pass, IRExpr *address, IRExpr *sets) {
    return pc_either(pass, pc_labelled_entry(pass->out, address), sets);
}

static IRExpr *sum(struct pc_taint_pass *pass, IRExpr *so_far, const struct pc_lane *lane) {
    return pc_either(pass, pc_either(pass, so_far, lane->atoms[0]), lane->atoms[1]);
}

static IRExpr *plus(struct pc_taint_pass *pass, IRExpr *address, UInt offset) {
    return offset == 0 ? address : binary(pass->out, Iop_Add64, address, word(offset));
}

/* What the helper answers, 0 if it is not called. */
static IRExpr *asked(struct pc_taint_pass *pass, const HChar *name, void *helper, IRExpr **arguments,
                     IRExpr *guard) {
    addStmtToIRSB(pass->out, IRStmt_Put(pass->shadow + ANSWER, word(0)));
    call(pass->out, name, helper, arguments, guard);
    return keep(pass->out, IRExpr_Get(pass->shadow + ANSWER, Ity_I64));
}

static IRExpr *through(struct pc_taint_pass *pass, const struct pc_lane *where) {
    return pc_packed(pass, where->atoms[0], where->atoms[1]);
}

static IRExpr *load_call(struct pc_taint_pass *pass, IRExpr *address, UInt size, const struct pc_lane *where,
                         IRExpr *condition) {
    IRExpr *look = must_look(pass, address, sum(pass, NULL, where));
    IRExpr *guard = both(pass->out, unary(pass->out, Iop_CmpNEZ64, look), condition);
    return asked(pass, "load", load_helper(size), mkIRExprVec_2(address, through(pass, where)), guard);
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
                                    : pc_lane_pair(pass, &lane[0], &lane[1]);
    if (size == 4 * LANE)
        call(pass->out, "store_32", store_32,
             mkIRExprVec_4(address, low, through(pass, &where), pc_lane_pair(pass, &lane[2], &lane[3])),
             guard);
    else
        call(pass->out, "store", store_helper(size), mkIRExprVec_3(address, low, through(pass, &where)),
             guard);
}

struct pc_lane pc_access_read(struct pc_taint_pass *pass, IRExpr *address, UInt size, IRExpr *condition) {
    struct pc_lane where = pc_flow_atom(pass, address).lane[0];
    return pc_lane_with(asked(pass, "load_any", load_any,
                              mkIRExprVec_3(address, through(pass, &where), word(size)), condition));
}

void pc_access_write(struct pc_taint_pass *pass, IRExpr *address, UInt size, const struct pc_lane *value,
                     IRExpr *condition) {
    struct pc_lane where = pc_flow_atom(pass, address).lane[0];
    call(pass->out, "store_any", store_any,
         mkIRExprVec_4(address, pc_lane_set(pass, value), through(pass, &where), word(size)), condition);
}
