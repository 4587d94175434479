#include "updates.h"

#include "interpose/next.h"
#include "log.h"
#include "pools.h"

_Thread_local struct pc_self pc_self;

/* Who it is that writes: the line that gave the range to the transaction, or that called PMDK, or this very
 * call. NULL: PMDK on its own account, as its allocator. */
static const void *site_of(const void *address, size_t size, const void *caller) {
    uintptr_t low = (uintptr_t)address, high = low + size;
    if (!is_of_pmdk(caller))
        return caller;
    for (unsigned i = 0; i < pc_self.span_count; i++)
        if (pc_self.spans[i].low < high && low < pc_self.spans[i].high)
            return pc_self.spans[i].site;
    return pc_self.transaction ? NULL : pc_self.site;
}

static void put(enum pc_guard_kind kind, const void *address, const void *data, size_t size,
                const void *caller) {
    struct pc_place place = pc_place_of(address);
    if (!place.pool || place.private || !size)
        return;
    const void *site = site_of(address, size, caller);
    pc_log_put(&(struct pc_log_entry){.kind = kind,
                                      .pool = place.pool,
                                      .flags = site ? 0 : PC_GUARD_LIBRARY,
                                      .offset = place.offset,
                                      .site = (uint64_t)(uintptr_t)site,
                                      .transaction = pc_self.transaction,
                                      .data = data,
                                      .size = size});
}

void pc_update(const void *address, const void *data, size_t size, const void *caller) {
    put(PC_GUARD_UPDATE, address, data, size, caller);
}

void pc_fill(const void *address, int byte, size_t size, const void *caller) {
    char value = (char)byte;
    put(PC_GUARD_FILL, address, &value, size, caller);
}
