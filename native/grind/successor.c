/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a block that ends with a return, or a jump or call through a pointer. After: if it goes where it
 * goes the first time, it gets there by a jump that Valgrind links to the next block; only if not, the next
 * block is looked up. Most functions return to where they were called from last.
 *
 * Where it goes the first time is computed from the thread's registers and memory as they are when the block
 * is translated, which is right before it runs. A wrong guess costs a comparison.
 */
#include "successor.h"

#include "emit.h"

#define DEEPEST 16u /* steps from a register to an address, two for each operation */

static Bool value_of(const IRSB *in, const IRExpr *expression, ThreadId tid, UInt depth, ULong *value);

static Bool value_of_temporary(const IRSB *in, IRTemp temp, ThreadId tid, UInt depth, ULong *value) {
    for (Int i = 0; i < in->stmts_used; i++) {
        const IRStmt *statement = in->stmts[i];
        if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.tmp == temp)
            return value_of(in, statement->Ist.WrTmp.data, tid, depth + 1, value);
    }
    return False;
}

/* Whether the kernel can read a word: a file may end before its mapping does. It looks at the set of signals
 * before it sees that it is not told what to do with it. */
static Bool is_there(Addr address) {
    register ULong size __asm__("r10") = sizeof(vki_sigset_t);
    Long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(__NR_rt_sigprocmask), "D"(-1L), "S"(address), "d"(NULL), "r"(size)
                     : "rcx", "r11", "memory");
    return result != -VKI_EFAULT;
}

static Bool load_value(Addr address, ULong *value) {
    if (!VG_(am_is_valid_for_client)(address, sizeof(*value), VKI_PROT_READ) || !is_there(address))
        return False;
    *value = *(const ULong *)address;
    return True;
}

static Bool value_of_sum(const IRSB *in, const IRExpr *sum, ThreadId tid, UInt depth, ULong *value) {
    ULong a, b;
    IROp op = sum->Iex.Binop.op;
    if ((op != Iop_Add64 && op != Iop_Sub64) || !value_of(in, sum->Iex.Binop.arg1, tid, depth + 1, &a) ||
        !value_of(in, sum->Iex.Binop.arg2, tid, depth + 1, &b))
        return False;
    *value = op == Iop_Add64 ? a + b : a - b;
    return True;
}

/* What a word will be, if nothing that the block does changes it; False: that is not known. */
static Bool value_of(const IRSB *in, const IRExpr *expression, ThreadId tid, UInt depth, ULong *value) {
    ULong address;
    if (depth > DEEPEST || typeOfIRExpr(in->tyenv, expression) != Ity_I64)
        return False;
    switch (expression->tag) {
    case Iex_Const:
        *value = expression->Iex.Const.con->Ico.U64;
        return True;
    case Iex_RdTmp:
        return value_of_temporary(in, expression->Iex.RdTmp.tmp, tid, depth, value);
    case Iex_Get:
        VG_(get_shadow_regs_area)(tid, (UChar *)value, 0, expression->Iex.Get.offset, sizeof(*value));
        return True;
    case Iex_Binop:
        return value_of_sum(in, expression, tid, depth, value);
    case Iex_Load:
        return value_of(in, expression->Iex.Load.addr, tid, depth + 1, &address) &&
               load_value(address, value);
    default:
        return False;
    }
}

void pc_successor(const IRSB *in, IRSB *out, ThreadId tid) {
    Bool jumps = in->jumpkind == Ijk_Ret || in->jumpkind == Ijk_Call || in->jumpkind == Ijk_Boring;
    ULong next;
    if (!jumps || in->next->tag != Iex_RdTmp || !value_of(in, in->next, tid, 0, &next) ||
        !VG_(am_is_valid_for_client)(next, 1, VKI_PROT_EXEC))
        return;
    IRExpr *there = binary(out, Iop_CmpEQ64, in->next, word(next));
    addStmtToIRSB(
        out, IRStmt_Exit(there, Ijk_Boring, IRConst_U64(next), (Int)offsetof(VexGuestAMD64State, guest_RIP)));
}
