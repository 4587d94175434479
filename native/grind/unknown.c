/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: an instruction that Valgrind does not know. After it is reached: the user has been told its bytes,
 * and the program gets SIGILL, as on a processor that lacks it. Said when it is run, not when it is met: some
 * programs hold code that they never run.
 */
#include "unknown.h"

#include "emit.h"
#include "requests.h"

#define SHOWN 8u /* bytes: enough for prefixes, opcode and operands */

/* AVX-512 is by far the most likely: only programs that ask no cpuid get here. */
static const HChar *family(const UChar *bytes) {
    return bytes[0] == 0x62 ? " (AVX-512)" : "";
}

static void on_unknown(Addr pc) {
    UChar bytes[SHOWN] = {0};
    HChar text[3 * SHOWN + 1];
    for (UInt i = 0; i < SHOWN && VG_(am_is_valid_for_client)(pc + i, 1, VKI_PROT_READ); i++)
        bytes[i] = ((const UChar *)pc)[i];
    for (UInt i = 0; i < SHOWN; i++)
        VG_(snprintf)(text + 3 * i, 4, "%02x ", bytes[i]);
    text[3 * SHOWN - 1] = '\0';
    pc_note(
        "the memory tracer cannot run the instruction %s%s at 0x%lx: the program got SIGILL. Build it for a "
        "processor without that extension, or record it without stores (--tracer calls)",
        text, family(bytes), pc);
}

void pc_instrument_unknown(IRSB *block, Addr pc) {
    call(block, "on_unknown", on_unknown, mkIRExprVec_1(word(pc)), NULL);
}
