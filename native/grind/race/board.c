/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: --race=N may have been given. After pc_board_open: pc_board is a copy of the plan with empty
 * results; after pc_board_claim, in one process of all, the board itself, with what was counted so far.
 *
 * A shell that starts the program maps nothing, so it does not take the board from it.
 */
#include "board_access.h"

Bool pc_race;
struct pc_board *pc_board;

static Int inherited = -1;
static struct pc_board *shared; /* NULL: it is another process's */

Bool pc_board_option(const HChar *argument) {
    return VG_INT_CLO(argument, "--race", inherited);
}

static void __attribute__((noreturn)) give_up(const HChar *what) {
    VG_(printf)("powercut-grind: %s.\n", what);
    VG_(exit)(1);
}

/* Plan and no results, for this process alone. */
static void make_private(const struct pc_board *from) {
    pc_board = VG_(am_shadow_alloc)(sizeof(*pc_board));
    if (pc_board == NULL)
        give_up("there is no memory for the board");
    VG_(memcpy)(pc_board, from, offsetof(struct pc_board, process));
}

static Bool is_valid(const struct pc_board_plan *plan, const struct pc_board_sync *syncs) {
    if (plan->magic != PC_BOARD_MAGIC || plan->version != PC_BOARD_VERSION)
        return False;
    if (plan->sync_count > PC_BOARD_SYNCS || plan->expected_count > PC_BOARD_ARRIVALS)
        return False;
    for (UInt i = 0; i < plan->sync_count; i++)
        if (syncs[i].load_count > PC_BOARD_SYNC_SITES || syncs[i].store_count > PC_BOARD_SYNC_SITES)
            return False;
    return True;
}

void pc_board_open(void) {
    Int kept = inherited < 0 ? -1 : pc_core_keep(inherited, "--race=");
    if (inherited < 0)
        return;
    SysRes mapped =
        VG_(am_shared_mmap_file_float_valgrind)(sizeof(*shared), VKI_PROT_READ | VKI_PROT_WRITE, kept, 0);
    if (kept < 0 || sr_isError(mapped))
        give_up("the board of race mode cannot be mapped");
    shared = (struct pc_board *)sr_Res(mapped);
    if (!is_valid(&shared->plan, shared->syncs))
        give_up("what --race names is no board");
    make_private(shared);
    pc_race = True;
}

void pc_board_claim(void) {
    UInt nobody = 0;
    if (shared == NULL || pc_board == shared)
        return;
    if (!__atomic_compare_exchange_n(&shared->process, &nobody, (UInt)VG_(getpid)(), False, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        shared = NULL;
        return;
    }
    /* So far there were threads and blocks of code, but no access to anything mapped. */
    VG_(memcpy)(&shared->stop, &pc_board->stop,
                offsetof(struct pc_board, sites) - offsetof(struct pc_board, stop));
    pc_board = shared;
}

void pc_board_forked(void) {
    if (pc_race && pc_board == shared) {
        make_private(shared);
        shared = NULL;
    }
}
