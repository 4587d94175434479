/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the program calls functions of the threads library. After: ORDER records stand where a lock was
 * got, a thread joined, and so on: at the function's return, if it succeeded, or at its entry for what takes
 * effect before.
 *
 * Functions are found by name in the modules that define them, so the program may be linked in any way, as
 * long as it is not stripped of its own copy. At an entry the return address lies at the top of the stack:
 * the function has returned when a return leaves the stack pointer just above it.
 */
#include "order.h"

#include "emit.h"
#include "pub_tool_hashtable.h"
#include "race.h"
#include "stacks.h"
#include "symbols.h"
#include "thread_states.h"
#include "threads.h"

#define MOST_CALLS    8u            /* of these functions, each inside the one before */
#define MOST_THREADS  512u          /* whose handles are remembered */
#define OWNER_DIED    130u          /* EOWNERDEAD: the lock was got, too */
#define BARRIER_FIRST (~0ull >> 32) /* PTHREAD_BARRIER_SERIAL_THREAD, in 32 bits */

enum act { LOCK, SHARED, UNLOCK, SEND, RECEIVE, BARRIER, CONDITION, JOIN };

static const struct function {
    const HChar *name;
    enum act act;
} functions[] = {
    {"pthread_mutex_lock", LOCK},
    {"pthread_mutex_trylock", LOCK},
    {"pthread_mutex_timedlock", LOCK},
    {"pthread_mutex_clocklock", LOCK},
    {"pthread_mutex_unlock", UNLOCK},
    {"pthread_rwlock_wrlock", LOCK},
    {"pthread_rwlock_trywrlock", LOCK},
    {"pthread_rwlock_timedwrlock", LOCK},
    {"pthread_rwlock_clockwrlock", LOCK},
    {"pthread_rwlock_rdlock", SHARED},
    {"pthread_rwlock_tryrdlock", SHARED},
    {"pthread_rwlock_timedrdlock", SHARED},
    {"pthread_rwlock_clockrdlock", SHARED},
    {"pthread_rwlock_unlock", UNLOCK},
    {"pthread_spin_lock", LOCK},
    {"pthread_spin_trylock", LOCK},
    {"pthread_spin_unlock", UNLOCK},
    {"pthread_cond_signal", SEND},
    {"pthread_cond_broadcast", SEND},
    {"pthread_cond_wait", CONDITION},
    {"pthread_cond_timedwait", CONDITION},
    {"pthread_cond_clockwait", CONDITION},
    {"pthread_barrier_wait", BARRIER},
    {"sem_post", SEND},
    {"sem_wait", RECEIVE},
    {"sem_trywait", RECEIVE},
    {"sem_timedwait", RECEIVE},
    {"sem_clockwait", RECEIVE},
    {"pthread_join", JOIN},
    {"pthread_tryjoin_np", JOIN},
    {"pthread_timedjoin_np", JOIN},
    {"pthread_clockjoin_np", JOIN},
    {"thrd_join", JOIN},
};

/* Where one of them begins. */
struct entry {
    struct entry *next;
    UWord pc;
    enum act act;
};

struct module {
    struct module *next;
    UWord hash;
    Bool has_entries;
};

/* Calls that have not returned, for each thread. */
static struct {
    UInt count;
    struct {
        enum act act;
        Addr pc, stack_pointer;
        ULong first, second; /* arguments */
    } list[MOST_CALLS];
} calls_of[PC_CHANNEL_SLOTS];

static struct {
    Addr handle;
    Int id;
} handles[MOST_THREADS];
static UInt handle_count;
static VgHashTable *entries, *modules;

void pc_order_thread(Addr handle, Int id) {
    handles[handle_count % MOST_THREADS].handle = handle;
    handles[handle_count++ % MOST_THREADS].id = id;
}

/* The latest thread with the handle; 0: none. */
static Int thread_of(Addr handle) {
    for (UInt i = handle_count; i > 0 && handle_count - i < MOST_THREADS; i--)
        if (handles[(i - 1) % MOST_THREADS].handle == handle)
            return handles[(i - 1) % MOST_THREADS].id;
    return 0;
}

void pc_order(UInt what, Addr pc, ULong value) {
    pc_order_at(what, pc_stack(pc), value);
}

void pc_order_at(UInt what, UInt stack, ULong value) {
    const struct pc_range *range = what != PC_ORDER_JOIN ? pc_range_from(value) : NULL;
    Bool mapped = range != NULL && range->start <= value;
    Int file = mapped ? range->file : pc_file_number(0);
    if (file < 0)
        return;
    pc_thread_states_ordered();
    pc_put_one(file, (struct pc_memory){.value = value,
                                        .offset = mapped ? range->offset + (value - range->start) : 0,
                                        .stack = stack,
                                        .file = (UShort)file,
                                        .kind = PC_MEMORY_ORDER,
                                        .size = (UChar)what});
}

static void on_entry(Addr pc) {
    const struct entry *entry = VG_(HT_lookup)(entries, pc);
    if (pc_running >= PC_CHANNEL_SLOTS || entry == NULL)
        return;
    ULong first = pc_guest->guest_RDI, second = pc_guest->guest_RSI;
    if (entry->act == UNLOCK || entry->act == CONDITION)
        pc_order(PC_ORDER_UNLOCK, pc, entry->act == UNLOCK ? first : second);
    else if (entry->act == SEND || entry->act == BARRIER)
        pc_order(PC_ORDER_SEND, pc, first);
    UInt *count = &calls_of[pc_running].count;
    if (entry->act == UNLOCK || entry->act == SEND || *count == MOST_CALLS)
        return;
    calls_of[pc_running].list[*count].act = entry->act;
    calls_of[pc_running].list[*count].pc = pc;
    calls_of[pc_running].list[*count].stack_pointer = pc_guest->guest_RSP;
    calls_of[pc_running].list[*count].first = first;
    calls_of[pc_running].list[(*count)++].second = second;
}

static void on_result(enum act act, Addr pc, ULong first, ULong second, UInt result) {
    switch (act) {
    case LOCK:
    case SHARED:
        if (result == 0 || result == OWNER_DIED)
            pc_order(act == LOCK ? PC_ORDER_LOCK : PC_ORDER_LOCK_SHARED, pc, first);
        break;
    case BARRIER:
    case RECEIVE:
        if (result == 0 || (act == BARRIER && result == BARRIER_FIRST))
            pc_order(PC_ORDER_RECEIVE, pc, first);
        break;
    case CONDITION:
        if (result == 0)
            pc_order(PC_ORDER_RECEIVE, pc, first);
        pc_order(PC_ORDER_LOCK, pc, second);
        break;
    case JOIN:
        if (result == 0 && thread_of(first) != 0)
            pc_order(PC_ORDER_JOIN, pc, (ULong)thread_of(first));
        break;
    default:
        break;
    }
}

/* The block at `pc` has returned. */
static void on_return(const VexGuestAMD64State *guest, ULong pc) {
    if (pc_running >= PC_CHANNEL_SLOTS)
        return;
    UInt *count = &calls_of[pc_running].count;
    Addr now = guest->guest_RSP - sizeof(Addr); /* where the return address was */
    while (*count > 0 && calls_of[pc_running].list[*count - 1].stack_pointer <= now) {
        UInt last = --*count;
        if (calls_of[pc_running].list[last].stack_pointer == now)
            on_result(calls_of[pc_running].list[last].act, pc, calls_of[pc_running].list[last].first,
                      calls_of[pc_running].list[last].second, (UInt)guest->guest_RAX);
        /* those below have been left by a jump, not by a return */
    }
}

static void add(const HChar *name, Addr offset, void *bias) {
    if (name[0] != 'p' && name[0] != 's' && name[0] != 't')
        return;
    for (UInt i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        UWord pc = offset + *(Addr *)bias;
        if (VG_(strcmp)(functions[i].name, name) != 0 || VG_(HT_lookup)(entries, pc) != NULL)
            continue;
        struct entry *entry = VG_(malloc)("powercut.entry", sizeof(*entry));
        *entry = (struct entry){.pc = pc, .act = functions[i].act};
        VG_(HT_add_node)(entries, entry);
    }
}

/* Whether the module of an address has any of the functions; it is looked through when it is first seen. */
static Bool has_entries(Addr pc) {
    Bool trusted, system;
    Addr bias;
    const HChar *path = pc_site_module(pc, &bias);
    if (path == NULL)
        return False;
    if (entries == NULL) {
        entries = VG_(HT_construct)("powercut.entries");
        modules = VG_(HT_construct)("powercut.modules");
    }
    UWord hash = pc_mix(pc_site_name(pc, &trusted, &system).module, bias);
    struct module *module = VG_(HT_lookup)(modules, hash);
    if (module == NULL) {
        UInt before = VG_(HT_count_nodes)(entries);
        pc_symbols_each(path, add, &bias);
        module = VG_(malloc)("powercut.module", sizeof(*module));
        *module = (struct module){.hash = hash, .has_entries = VG_(HT_count_nodes)(entries) > before};
        VG_(HT_add_node)(modules, module);
    }
    return module->has_entries;
}

Bool pc_order_is_entry(Addr pc) {
    return pc_board_wants(PC_BOARD_ORDER) && has_entries(pc) && VG_(HT_lookup)(entries, pc) != NULL;
}

void pc_order_emit_entry(IRSB *out, Addr pc) {
    call(out, "on_entry", on_entry, mkIRExprVec_1(word(pc)), NULL);
}

void pc_order_emit_return(IRSB *out, Addr pc) {
    if (pc_board_wants(PC_BOARD_ORDER) && has_entries(pc))
        call_with_state(out, "on_return", on_return, pc, Ifx_Read);
}
