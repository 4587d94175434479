#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAM_NONE, PARAM_MUTEX, PARAM_RWLOCK, PARAM_CALLBACK }; /* enum pobj_tx_param */
enum { TX_WORDS = 16 };
enum { LIBRARIES_MOST = 16 };

static struct {
    uintptr_t low, high;
} libraries[LIBRARIES_MOST];
static unsigned library_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool found;

void *next_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        dprintf(2,
                "powercut: cannot find PMDK's own %s: link PMDK as a shared library "
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
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || library_count == LIBRARIES_MOST)
            continue;
        libraries[library_count].low = object->dlpi_addr + part->p_vaddr;
        libraries[library_count].high = libraries[library_count].low + part->p_memsz;
        library_count++;
    }
    return 0;
}

static void find_libraries(void) {
    dl_iterate_phdr(look_at, NULL);
    atomic_store_explicit(&found, true, memory_order_release);
}

bool is_of_pmdk(const void *address) {
    if (!atomic_load_explicit(&found, memory_order_acquire))
        pthread_once(&once, find_libraries);
    for (unsigned i = 0; i < library_count; i++)
        if ((uintptr_t)address - libraries[i].low < libraries[i].high - libraries[i].low)
            return true;
    return false;
}

static int (*begin_behind(void))(void *, void *, ...) {
    static int (*begin)(void *, void *, ...);
    if (!begin)
        begin = (int (*)(void *, void *, ...))next_function("pmemobj_tx_begin");
    return begin;
}

int next_plain_tx_begin(void *pool, void *target) {
    return begin_behind()(pool, target, PARAM_NONE);
}

/* The parameters are words up to PARAM_NONE; more than there are does no harm. */
int next_tx_begin(void *pool, void *target, va_list more) {
    void *w[TX_WORDS] = {NULL};
    for (unsigned i = 0; i < TX_WORDS - 3;) {
        w[i] = va_arg(more, void *);
        int kind = (int)(uintptr_t)w[i++];
        for (int values = kind == PARAM_CALLBACK ? 2 : kind != PARAM_NONE; values > 0; values--)
            w[i++] = va_arg(more, void *);
        if (kind == PARAM_NONE)
            break;
    }
    return begin_behind()(pool, target, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10],
                          w[11], w[12], w[13], w[14], w[15]);
}
