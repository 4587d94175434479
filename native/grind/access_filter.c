/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: addresses of a block, most of which are others plus or minus a constant. After: what a filter
 * (ranges.h, taint/memory.h) says of one stands for all that are near it: filters have room for that.
 */
#include "access_filter.h"

#include "emit.h"
#include "taint/memory.h"

#define KEPT 8u /* answers */

/* An address as another one and a distance. */
struct place {
    IRTemp root;
    Long offset;
};

struct answers {
    Long near; /* how far away an answer holds */
    UInt count;
    struct {
        struct place place;
        IRExpr *entry; /* of the filter */
    } list[KEPT];
};

static struct place *places; /* of each temporary of the block */
static UInt room;
static struct answers mapped = {.near = PC_NEAR}, labelled = {.near = PC_LABELLED_NEAR};

static struct place derived(const IRExpr *data, IRTemp temp) {
    if (data->tag == Iex_RdTmp)
        return places[data->Iex.RdTmp.tmp];
    if (data->tag != Iex_Binop || data->Iex.Binop.arg1->tag != Iex_RdTmp ||
        data->Iex.Binop.arg2->tag != Iex_Const)
        return (struct place){temp, 0};
    struct place place = places[data->Iex.Binop.arg1->Iex.RdTmp.tmp];
    const IRConst *constant = data->Iex.Binop.arg2->Iex.Const.con;
    if (data->Iex.Binop.op == Iop_Add64)
        return (struct place){place.root, place.offset + (Long)constant->Ico.U64};
    if (data->Iex.Binop.op == Iop_Sub64)
        return (struct place){place.root, place.offset - (Long)constant->Ico.U64};
    return (struct place){temp, 0};
}

void pc_access_filter_begin(const IRSB *in) {
    UInt temps = (UInt)in->tyenv->types_used;
    if (temps > room) {
        room = 2 * temps;
        places = VG_(realloc)("powercut.places", places, room * sizeof(*places));
    }
    for (UInt i = 0; i < temps; i++)
        places[i] = (struct place){i, 0};
    for (Int i = 0; i < in->stmts_used; i++) {
        const IRStmt *statement = in->stmts[i];
        if (statement->tag == Ist_WrTmp)
            places[statement->Ist.WrTmp.tmp] = derived(statement->Ist.WrTmp.data, statement->Ist.WrTmp.tmp);
    }
    pc_access_filter_forget();
}

void pc_access_filter_forget(void) {
    mapped.count = labelled.count = 0;
}

static IRExpr *known(const struct answers *answers, const struct place *place) {
    UInt kept = answers->count < KEPT ? answers->count : KEPT;
    for (UInt i = 0; i < kept; i++) {
        Long distance = place->offset - answers->list[i].place.offset;
        if (answers->list[i].place.root == place->root && distance >= -answers->near &&
            distance <= answers->near)
            return answers->list[i].entry;
    }
    return NULL;
}

static IRExpr *entry_at(IRSB *out, IRExpr *address, struct answers *answers,
                        IRExpr *(*ask)(IRSB *out, IRExpr *address)) {
    if (address->tag != Iex_RdTmp)
        return ask(out, address);
    struct place place = places[address->Iex.RdTmp.tmp];
    IRExpr *entry = known(answers, &place);
    if (entry != NULL)
        return entry;
    UInt at = answers->count++ % KEPT;
    answers->list[at].place = place;
    return answers->list[at].entry = ask(out, address);
}

IRExpr *pc_access_filter_mapped(IRSB *out, IRExpr *address) {
    return unary(out, Iop_CmpNEZ8, entry_at(out, address, &mapped, mapped_entry));
}

IRExpr *pc_labelled_entry(IRSB *out, IRExpr *address) {
    /* The index, times the size of an entry. */
    IRExpr *part = binary(out, Iop_Shr64, address, IRExpr_Const(IRConst_U8(PC_LABELLED_SHIFT - 1)));
    IRExpr *offset = binary(out, Iop_And64, part, word((ULong)PC_LABELLED_MASK << 1));
    IRExpr *at = binary(out, Iop_Add64, offset, address_of(pc_labelled_filter));
    return unary(out, Iop_16Uto64, load(out, Ity_I16, at));
}

IRExpr *pc_access_filter_labelled(IRSB *out, IRExpr *address) {
    return unary(out, Iop_CmpNEZ64, entry_at(out, address, &labelled, pc_labelled_entry));
}

IRExpr *pc_access_filter_once(IRSB *out, IRExpr *address, Bool labels) {
    if (address->tag == Iex_RdTmp &&
        known(labels ? &labelled : &mapped, &places[address->Iex.RdTmp.tmp]) != NULL)
        return NULL;
    return labels ? pc_access_filter_labelled(out, address) : pc_access_filter_mapped(out, address);
}
