/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the statements of a block, in order. After: for each, code that does to labels what it does to
 * data. Temporaries have shades (shades.h), registers and memory have labels (registers.h, access.h).
 */
#include "access.h"
#include "emit.h"
#include "faults.h"
#include "flow.h"
#include "registers.h"

Bool pc_taint_wanted;
pc_labels (*pc_taint_source)(pc_site site, Addr address, UInt size);
void (*pc_taint_sink)(pc_site site, Addr address, UInt size, pc_labels value, pc_labels where);
void (*pc_taint_sink_call)(pc_labels labels);
Bool (*pc_taint_is_over)(ULong number);
Bool (*pc_taint_loads)(pc_told told, Addr address);

struct pc_taint_pass *pc_taint_begin(const IRSB *in, IRSB *out, const VexGuestLayout *layout) {
    static struct pc_taint_pass pass;
    if (!pc_taint_wanted)
        return NULL;
    tl_assert(layout->total_sizeB == sizeof(VexGuestAMD64State)); /* helpers rely on it */
    UInt temps = (UInt)in->tyenv->types_used, room = pass.room;
    struct pc_shade *shades = pass.shades;
    if (temps > room) {
        room = 2 * temps;
        shades = VG_(realloc)("powercut.shades", shades, room * sizeof(*shades));
    }
    pass = (struct pc_taint_pass){
        .in = in, .out = out, .shadow = layout->total_sizeB, .shades = shades, .room = room};
    for (UInt i = 0; i < temps; i++)
        shades[i] = (struct pc_shade){.lanes = pc_lanes_of(in->tyenv->types[i])};
    return &pass;
}

static IRType type_of(const struct pc_taint_pass *pass, const IRExpr *expression) {
    return typeOfIRExpr(pass->in->tyenv, expression);
}

static void after_assignment(struct pc_taint_pass *pass, const IRStmt *statement) {
    const IRExpr *data = statement->Ist.WrTmp.data;
    struct pc_shade *shade = &pass->shades[statement->Ist.WrTmp.tmp];
    if (data->tag != Iex_Load) {
        *shade = pc_flow(pass, data);
        return;
    }
    *shade = pc_access_load(pass, data->Iex.Load.addr, data->Iex.Load.ty, NULL);
    pass->loaded = data->Iex.Load.addr;
}

static void after_guarded_load(struct pc_taint_pass *pass, const IRLoadG *load) {
    IRType from, to;
    typeOfIRLoadGOp(load->cvt, &to, &from);
    struct pc_shade loaded = pc_access_load(pass, load->addr, from, load->guard);
    struct pc_shade instead = pc_flow_atom(pass, load->alt);
    pass->shades[load->dst] = pc_flow_chosen(pass, load->guard, &loaded, &instead);
}

static void after_store(struct pc_taint_pass *pass, IRExpr *address, const IRExpr *data, IRExpr *condition) {
    struct pc_shade value = pc_flow_atom(pass, data);
    pc_access_store(pass, address, (UInt)sizeofIRType(type_of(pass, data)), &value, condition);
}

static IRType cas_type(const struct pc_taint_pass *pass, const IRCAS *cas) {
    return typeOfIRTemp(pass->in->tyenv, cas->oldLo);
}

/* What compare and swap finds. Where the same instruction has loaded it before, nobody looks at it again. */
static void before_cas(struct pc_taint_pass *pass, const IRCAS *cas) {
    IRType type = cas_type(pass, cas);
    if (pass->loaded != NULL && eqIRAtom(pass->loaded, cas->addr))
        return;
    if (cas->dataHi == NULL) {
        pass->shades[cas->oldLo] = pc_access_load(pass, cas->addr, type, NULL);
        return;
    }
    struct pc_shade found = pc_access_load(pass, cas->addr, type == Ity_I64 ? Ity_V128 : Ity_I64, NULL);
    pass->shades[cas->oldLo].lane[0] = found.lane[0];
    pass->shades[cas->oldHi].lane[0] = found.lane[found.lanes - 1];
}

static void after_cas(struct pc_taint_pass *pass, const IRCAS *cas) {
    UInt size = (UInt)sizeofIRType(cas_type(pass, cas));
    struct pc_shade value = pc_flow_atom(pass, cas->dataLo);
    if (cas->dataHi != NULL) {
        struct pc_shade high = pc_flow_atom(pass, cas->dataHi);
        if (size == sizeof(ULong))
            value = (struct pc_shade){.lanes = 2, .lane = {value.lane[0], high.lane[0]}};
        else
            value.lane[0] = pc_lane_union(pass, &value.lane[0], &high.lane[0]);
        size *= 2;
    }
    pc_access_store(pass, cas->addr, size, &value, swapped(pass->out, cas));
}

static IRExpr *guard_of(const IRDirty *dirty) {
    return dirty->guard->tag == Iex_Const ? NULL : dirty->guard;
}

/* Each part of the guest state that one of Valgrind's helpers reads or writes. */
#define EACH_STATE(dirty, fx, at)                                                                            \
    for (Int fx = 0; fx < (dirty)->nFxState; fx++)                                                           \
        for (Int at = (dirty)->fxState[fx].offset, left_ = (dirty)->fxState[fx].nRepeats; left_ >= 0;        \
             at += (dirty)->fxState[fx].repeatLen, left_--)

/* All that a helper reads, before it writes. */
static void before_dirty(struct pc_taint_pass *pass, const IRDirty *dirty) {
    struct pc_atoms atoms = {.pass = pass};
    for (UInt i = 0; dirty->args[i] != NULL; i++) {
        struct pc_shade shade = pc_flow_atom(pass, dirty->args[i]);
        pc_atoms_add_all(&atoms, &shade);
    }
    EACH_STATE(dirty, fx, at) {
        if (dirty->fxState[fx].fx != Ifx_Write)
            pc_registers_read(&atoms, at, dirty->fxState[fx].size);
    }
    if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify) {
        struct pc_lane found = pc_access_read(pass, dirty->mAddr, (UInt)dirty->mSize, guard_of(dirty));
        pc_atoms_add(&atoms, &found);
    }
    struct pc_lane all = pc_atoms_lane(&atoms);
    pass->inputs = pc_lane_is_empty(&all) ? all : pc_lane_with(pc_lane_set(pass, &all));
}

/* All that it writes depends on all that it read. */
static void after_dirty(struct pc_taint_pass *pass, const IRDirty *dirty) {
    Bool always = guard_of(dirty) == NULL;
    if (dirty->tmp != IRTemp_INVALID)
        for (UInt i = 0; i < pass->shades[dirty->tmp].lanes; i++)
            pass->shades[dirty->tmp].lane[i] = pass->inputs;
    EACH_STATE(dirty, fx, at) {
        if (dirty->fxState[fx].fx != Ifx_Read)
            pc_registers_write(pass, at, dirty->fxState[fx].size, &pass->inputs,
                               always && dirty->fxState[fx].fx == Ifx_Write);
    }
    if (dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify)
        pc_access_write(pass, dirty->mAddr, (UInt)dirty->mSize, &pass->inputs, guard_of(dirty));
}

void pc_taint_before(struct pc_taint_pass *pass, const IRStmt *statement, Addr pc) {
    if (pass == NULL)
        return;
    pass->pc = pc;
    pc_faults_before(pass, statement);
    if (statement->tag == Ist_Exit || statement->tag == Ist_Dirty)
        pc_registers_flush(pass);
    if (statement->tag == Ist_IMark)
        pass->loaded = NULL;
    else if (statement->tag == Ist_CAS)
        before_cas(pass, statement->Ist.CAS.details);
    else if (statement->tag == Ist_Dirty)
        before_dirty(pass, statement->Ist.Dirty.details);
}

void pc_taint_end(struct pc_taint_pass *pass) {
    if (pass == NULL)
        return;
    pc_registers_flush(pass);
    pc_faults_end(pass);
}

void pc_taint_after(struct pc_taint_pass *pass, const IRStmt *statement, Addr pc) {
    if (pass == NULL)
        return;
    pass->pc = pc;
    switch (statement->tag) {
    case Ist_WrTmp:
        after_assignment(pass, statement);
        break;
    case Ist_Put: {
        struct pc_shade shade = pc_flow_atom(pass, statement->Ist.Put.data);
        pc_registers_put(pass, statement->Ist.Put.offset, type_of(pass, statement->Ist.Put.data), &shade);
        break;
    }
    case Ist_PutI: {
        struct pc_shade shade = pc_flow_atom(pass, statement->Ist.PutI.details->data);
        pc_registers_put_indexed(pass, statement->Ist.PutI.details, &shade);
        break;
    }
    case Ist_Store:
        after_store(pass, statement->Ist.Store.addr, statement->Ist.Store.data, NULL);
        break;
    case Ist_StoreG: {
        const IRStoreG *store = statement->Ist.StoreG.details;
        after_store(pass, store->addr, store->data, store->guard);
        break;
    }
    case Ist_LoadG:
        after_guarded_load(pass, statement->Ist.LoadG.details);
        break;
    case Ist_CAS:
        after_cas(pass, statement->Ist.CAS.details);
        break;
    case Ist_Dirty:
        after_dirty(pass, statement->Ist.Dirty.details);
        break;
    default: /* marks, fences and exits move no data */
        break;
    }
}
