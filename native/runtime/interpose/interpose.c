/* Knowing the callers, and where a session begins by itself. */
#define _GNU_SOURCE
#include "interpose.h"

#include <errno.h>
#include <stdlib.h>

/* Where this library begins and ends, by its linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* A function of PMDK's that was called from here, and ends in a jump into another one, leaves that one with
 * us as its caller. */
static bool is_of_this_library(const void *address) {
    return (uintptr_t)address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

const void *caller_to_tell(const void *address) {
    return pc_tracking_() && !is_of_pmdk(address) && !is_of_this_library(address) ? (const char *)address - 1
                                                                                  : NULL;
}

void tell(enum pc_operation operation, const void *address, size_t size, const void *caller) {
    int reason = errno;
    bool has_range = address != NULL;
    if (caller && (!has_range || (size && pc_is_watched_(address))))
        pc_record_number_(operation, address, size, pc_number_of_address_(caller));
    errno = reason;
}

/* Under powercut check a program need not even call pc_init. */
static __attribute__((constructor)) void start(void) {
    const char *channel = getenv("POWERCUT_CHANNEL");
    if (channel && *channel)
        pc_init_automatically_();
}
