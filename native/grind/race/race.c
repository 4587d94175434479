/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the tool tells what the program's threads do. After: the shadow knows what is guaranteed, the board
 * who shares what, and loads of what is not guaranteed stand in the trace, in the order in which they
 * happened.
 */
#include "race.h"

#include "accesses.h"
#include "candidates.h"
#include "deadlock.h"
#include "effects.h"
#include "loads.h"
#include "lock_words.h"
#include "order.h"
#include "record_buffer.h"
#include "schedule.h"
#include "spins.h"
#include "stacks.h"
#include "taint/taint.h"
#include "thread_states.h"
#include "threads.h"
#include "turnstile.h"

#define WORD 8u

void pc_race_start(void) {
    pc_board_open();
    if (!pc_race)
        return;
    pc_schedule_start();
    pc_deadlock_start();
    if (pc_board_wants(PC_BOARD_TAINT))
        pc_effects_start();
}

/* Bytes of one line were stored. */
static void store_in_line(const struct pc_range *range, ULong offset, UInt size, struct pc_access_site *site,
                          UInt occurrence, Bool nontemporal) {
    struct pc_shadow_page *page = pc_shadow_page(range->file, offset);
    struct pc_shadow_line *line = pc_shadow_line(page, offset);
    for (ULong at = offset & ~(ULong)(WORD - 1); at < offset + size; at += WORD) {
        Bool pending = pc_is_pending(line, pc_line_mask(at, WORD));
        pc_access_word(page, range->file, at,
                       pc_access_by(site) | PC_ACCESS_STORES | (pending ? 0 : PC_ACCESS_GUARANTEED));
    }
    pc_shadow_store(line, pc_line_mask(offset, size), site, occurrence, nontemporal);
}

static void store(UInt kind, Addr pc, const struct pc_range *range, Addr from, Addr to) {
    struct pc_access_site *site = pc_site_at(pc);
    UInt *occurrences = pc_site_occurrences(site, pc_self()->index);
    Bool nontemporal = (kind & ~(UInt)PC_MEMORY_REST) == PC_MEMORY_STORE_NONTEMPORAL;
    if ((kind & PC_MEMORY_REST) == 0)
        ++*occurrences;
    pc_count_switch();
    pc_board->stores++;
    while (from < to) {
        ULong offset = range->offset + (from - range->start);
        ULong left = PC_LINE - offset % PC_LINE;
        UInt size = (UInt)(to - from < left ? to - from : left);
        store_in_line(range, offset, size, site, *occurrences, nontemporal);
        from += size;
    }
}

void pc_race_stored(UInt kind, Addr pc, const struct pc_range *range, Addr from, Addr to) {
    store(kind, pc, range, from, to);
    pc_spins_stored(from, (UInt)(to - from));
    if (pc_board_wants(PC_BOARD_ORDER))
        pc_lock_word_stored(kind, pc, range, from, to);
}

void pc_race_flushes(Addr line) {
    if (pc_board->plan.mode == PC_BOARD_SYNC)
        pc_schedule_before_flush(line);
}

void pc_race_flushed(const struct pc_range *range, Addr line, UInt how) {
    ULong offset = range->offset + (line - range->start);
    struct pc_shadow_page *page = pc_shadow_page(range->file, offset);
    pc_shadow_flush(pc_shadow_line(page, offset), how == PC_FLUSH_CLFLUSH);
    pc_deadlock_flushed();
}

void pc_race_fenced(void) {
    pc_shadow_fence();
}

static void on_synced(const struct pc_range *part) {
    pc_shadow_sync(part->file, part->offset, part->end - part->start);
}

void pc_race_sync_var(Addr pc, Addr address, SizeT size, ULong initial) {
    if (pc_board_wants(PC_BOARD_ORDER))
        pc_lock_word_told(pc, address, size, initial);
}

void pc_race_before_call(ThreadId tid, UInt number, const UWord *args) {
    if (!pc_race)
        return;
    pc_thread_states_in_call(tid, number, args);
    if (number == __NR_futex || number == __NR_exit_group || number == __NR_tgkill)
        pc_deadlock_before_call();
    if (tid < PC_CHANNEL_SLOTS) /* others may have run until now */
        pc_turnstile_before_call(&pc_thread_states[tid], number, args);
}

#define MS_SYNC_BIT 4u

void pc_race_after_call(ThreadId tid, UInt number, const UWord *args, SysRes result) {
    if (!pc_race)
        return;
    pc_thread_states_out_of_call(tid);
    if (number != __NR_sched_yield && number != __NR_nanosleep && number != __NR_clock_nanosleep)
        pc_spins_got_on();
    if (sr_isError(result))
        return;
    if (number == __NR_futex && sr_Res(result) > 0)
        pc_thread_states_woken();
    else if ((number == __NR_clone || number == __NR_clone3) && sr_Res(result) > 0)
        pc_thread_states_await((Int)sr_Res(result)); /* of a child process, too, whose state is not there */
    else if (number == __NR_mmap || number == __NR_munmap || number == __NR_mremap)
        pc_loads_mapped();
    else if (number == __NR_msync && (args[2] & MS_SYNC_BIT) != 0)
        pc_ranges_each(args[0], args[1], on_synced);
    else if ((number == __NR_fsync || number == __NR_fdatasync) && pc_range_count > 0)
        pc_shadow_sync((UInt)pc_file_number(pc_request_file((Int)args[0])), 0, 0);
}

void pc_race_kernel_reads(ThreadId tid, Addr address, SizeT size) {
    if (!pc_race || pc_range_count == 0 || tid == VG_INVALID_THREADID || pc_taint_wanted)
        return; /* where the taint engine is at work, it asks for what calls give out: effects.c */
    pc_thread_runs(tid);
    if (pc_self()->call != __NR_msync) /* which names memory, but tells nobody what is there */
        pc_kernel_load_seen(address, size);
}

void pc_race_mapped(ULong inode) {
    if (!pc_race)
        return;
    pc_board_claim();
    pc_file_mapped(inode);
}

void pc_race_turn(ThreadId tid, ULong blocks) {
    if (!pc_race)
        return;
    pc_executed_blocks = blocks - pc_spins_skipped;
    pc_thread_states_next_turn(tid);
    pc_deadlock_look_at_clock();
}

void pc_race_turn_ends(void) {
    if (pc_race)
        pc_thread_states_turn_ends();
}

void pc_race_thread_created(ThreadId tid) {
    if (!pc_race)
        return;
    pc_thread_states_created(tid);
    pc_spins_got_on();
}

void pc_race_thread_started(ThreadId tid, Int id) {
    if (!pc_race)
        return;
    pc_thread_states_started(tid, id);
    if (pc_guest != NULL)
        pc_order_thread((Addr)pc_guest->guest_FS_CONST, id); /* as the C library has it */
}

void pc_race_thread_ended(ThreadId tid) {
    if (!pc_race)
        return;
    pc_thread_states_ended(tid);
    pc_shadow_thread_ended(tid);
    pc_spins_got_on();
}

void pc_race_forked(ThreadId tid) {
    if (!pc_race)
        return;
    pc_board_forked();
    pc_thread_states_forked(tid);
}

void pc_race_killed(ThreadId tid) {
    if (pc_race)
        pc_deadlock_killed(tid);
}

void pc_race_at_end(void) {
    if (pc_race)
        pc_deadlock_at_end();
}
