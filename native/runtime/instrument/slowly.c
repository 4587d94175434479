/* The rest of the records: places seen for the first time, threads that must catch up, full buffers, strings.
 */
#include "guarded.h"

#include "powercut.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>

enum { LEGACY_STATE = 576, STATE_LEAF = 0xd, HAS_OSXSAVE = 1 << 27 };

uint32_t pc_state_size = LEGACY_STATE, pc_has_xsave;

static __attribute__((constructor)) void measure_state(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & HAS_OSXSAVE))
        return;
    if (!__get_cpuid_count(STATE_LEAF, 0, &a, &b, &c, &d) || b < LEGACY_STATE)
        return;
    pc_state_size = b;
    pc_has_xsave = 1;
}

void pc_record_moment_slowly(const struct moment *moment) {
    int reason = errno;
    unsigned way = way_of(moment);
    const void *address = (const void *)moment->address;
    tell_guard(moment);
    if (pc_tracking_()) {
        uint32_t site = pc_number_of_address_((const void *)(moment->caller - 1));
        uint64_t size;
        if (!size_of(moment, &size))
            size = strlen((const char *)moment->rsi) + 1;
        if (way == AT_FENCE || way == AT_LOCKED)
            pc_record_number_(PC_FENCE, NULL, 0, site);
        if (size && is_watched(moment->address))
            pc_record_number_(moment->code & 0xff, address, size, site);
    }
    errno = reason;
}
