/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a signal kills the process, in the middle of generated code, and Valgrind lets the other threads
 * run until each has ended. After: the thread that the signal came to goes on where it was, in generated
 * code.
 *
 * In Valgrind's own life no other thread comes back into generated code there, so it looks at its flag as if
 * that were the thread's own. With us, one that waits in race mode goes on with the block it was in, and says
 * at its end that there is none any more. The core would complain of that, and exit: the program would have
 * failed, not died.
 */
#include "threads.h"

extern Bool VG_(in_generated_code);
void __real_vgPlain_reap_threads(ThreadId self);
void __wrap_vgPlain_reap_threads(ThreadId self);

void __wrap_vgPlain_reap_threads(ThreadId self) {
    Bool generated = VG_(in_generated_code);
    VG_(in_generated_code) = False;
    __real_vgPlain_reap_threads(self);
    VG_(in_generated_code) = generated;
    pc_thread_runs(self);
}
