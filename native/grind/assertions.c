/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Client requests: %rax points to the request and its arguments, %rdx holds the answer if there is nobody. */
#include "assertions.h"

#include "assertion_request.h"
#include "emit.h"
#include "race/race.h"
#include "records.h"
#include "taint/touches.h"

static void on_request(VexGuestAMD64State *state, ULong pc) {
    const ULong *words = (const ULong *)(Addr)state->guest_RAX;
    if (words[0] == PC_SYNC_VAR_REQUEST) {
        pc_race_sync_var((Addr)pc, (Addr)words[1], (SizeT)words[2], words[3]);
        state->guest_RDX = 1;
    }
    if (words[0] == PC_RECOVER_REQUEST)
        pc_touches_recovery(words[1] != 0);
    if (words[0] != PC_ASSERTION_REQUEST)
        return;
    if (words[1] != 0)
        pc_on_assertion((Addr)pc, (UInt)words[1], (Addr)words[2], (SizeT)words[3]);
    state->guest_RDX = 1;
}

void pc_instrument_request(IRSB *block, Addr pc) {
    call_with_state(block, "on_request", on_request, pc, Ifx_Modify);
    block->jumpkind = Ijk_Boring;
}
