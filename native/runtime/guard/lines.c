/* A flush instruction names a line, not what was changed in it: of a line that was logged before, only the
 * words that differ since are logged, so that healing can tell one update from the next. What was logged of a
 * line is kept for a while; a line of which nothing is known is logged as a whole. */
#include "lines.h"

#include "join.h"
#include "pools.h"
#include "updates.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { LINE = 64, WORD = 8, KNOWN_MOST = 1 << 14, JOINED_MOST = 4 };

/* The last line of those with the same hash, as it was logged. */
static struct known {
    atomic_flag taken;
    unsigned age;      /* `ages` when it was logged */
    const void *owner; /* the thread that logged it, and whose fence makes the record durable */
    uintptr_t line;
    char content[LINE];
} known[KNOWN_MOST];
static _Atomic unsigned ages = 1; /* 0: never logged */

static struct {
    pthread_mutex_t lock;
    pc_guard_watch watches[JOINED_MOST];
    _Atomic unsigned count;
} joined = {.lock = PTHREAD_MUTEX_INITIALIZER};

void pc_lines_forget(void) {
    if (atomic_load_explicit(&joined.count, memory_order_relaxed))
        atomic_fetch_add(&ages, 1);
}

static struct known *take(uintptr_t line) {
    struct known *slot = &known[line / LINE * 0x9e3779b97f4a7c15u >> 50];
    while (atomic_flag_test_and_set_explicit(&slot->taken, memory_order_acquire))
        ;
    return slot;
}

static bool is_same(const char *one, const char *other, size_t at) {
    return memcmp(one + at, other + at, WORD) == 0;
}

/* Logged while the slot is taken: so of two threads that flush a line, the later record has the later bytes.
 * What another thread logged is logged again: its fence may come later than this one's. */
static void log_line(uintptr_t line, struct pc_place place, const void *site) {
    struct known *slot = take(line);
    unsigned age = atomic_load(&ages);
    bool is_known = slot->line == line && slot->age == age && slot->owner == &pc_self;
    char now[LINE];
    size_t low = 0, high = LINE;
    memcpy(now, (const void *)line, LINE);
    for (; is_known && low < high && is_same(now, slot->content, low); low += WORD)
        ;
    for (; is_known && low < high && is_same(now, slot->content, high - WORD); high -= WORD)
        ;
    if (low < high)
        pc_log_put(&(struct pc_log_entry){.kind = PC_GUARD_UPDATE,
                                          .pool = place.pool,
                                          .offset = place.offset + low,
                                          .site = (uint64_t)(uintptr_t)site,
                                          .transaction = pc_self.transaction,
                                          .data = now + low,
                                          .size = high - low});
    slot->line = line;
    slot->age = age;
    slot->owner = &pc_self;
    memcpy(slot->content, now, LINE);
    atomic_flag_clear_explicit(&slot->taken, memory_order_release);
}

static void on_flush(const void *address, size_t size, const void *site) {
    uintptr_t end = (uintptr_t)address + size;
    if (!pc_log_is_open())
        return; /* a forked child: another thread of its parent may have had a slot for ever */
    for (uintptr_t line = (uintptr_t)address & ~(uintptr_t)(LINE - 1); line < end; line += LINE) {
        struct pc_place place = pc_place_of((const void *)line);
        if (place.pool)
            log_line(line, place, site);
    }
}

static void before_fence(void) {
    pc_log_write();
    pc_log_fenced(); /* whatever is logged next is logged behind it */
}

void pc_lines_mapped(const void *address, size_t size, bool is_mapped) {
    pc_lines_forget(); /* another file may now be at the same address */
    pthread_mutex_lock(&joined.lock);
    for (unsigned i = 0; i < joined.count; i++)
        joined.watches[i](address, size, is_mapped);
    pthread_mutex_unlock(&joined.lock);
}

__attribute__((visibility("default"))) const struct pc_guard_ear *pc_guard_join(pc_guard_watch watch) {
    static const struct pc_guard_ear ear = {on_flush, before_fence};
    pthread_mutex_lock(&joined.lock);
    bool has_room = joined.count < JOINED_MOST;
    if (has_room)
        joined.watches[joined.count++] = watch;
    pthread_mutex_unlock(&joined.lock);
    return has_room ? &ear : NULL;
}
