/* Finding the functions behind, knowing the callers, and where a session begins by itself. */
#define _GNU_SOURCE
#include "interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARIES_MOST = 16 };

static struct {
    uintptr_t low, high;
} trusted[LIBRARIES_MOST];
static unsigned trusted_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void *next_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        dprintf(2,
                "powercut: there is no %s behind libpowercut_cc: link PMDK as a shared library "
                "[no-next-function]\n",
                name);
        abort();
    }
    return function;
}

/* PMDK's libraries, by their names. */
static int look_at(struct dl_phdr_info *object, size_t size, void *with) {
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;
    for (unsigned i = 0; i < object->dlpi_phnum && strncmp(name, "libpmem", 7) == 0; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || trusted_count == LIBRARIES_MOST)
            continue;
        trusted[trusted_count].low = object->dlpi_addr + part->p_vaddr;
        trusted[trusted_count].high = trusted[trusted_count].low + part->p_memsz;
        trusted_count++;
    }
    return 0;
}

static void find_libraries(void) {
    dl_iterate_phdr(look_at, NULL);
}

static bool is_trusted(uintptr_t address) {
    pthread_once(&once, find_libraries);
    for (unsigned i = 0; i < trusted_count; i++)
        if (address - trusted[i].low < trusted[i].high - trusted[i].low)
            return true;
    return false;
}

const void *caller_to_tell(const void *address) {
    return pc_tracking_() && !is_trusted((uintptr_t)address) ? (const char *)address - 1 : NULL;
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
