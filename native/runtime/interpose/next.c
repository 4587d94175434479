#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAM_NONE, PARAM_MUTEX, PARAM_RWLOCK, PARAM_CALLBACK }; /* enum pobj_tx_param */
enum { LIBRARIES_MOST = 16 };

static struct {
    uintptr_t low, high;
} libraries[LIBRARIES_MOST];
static unsigned library_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void *next_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) {
        dprintf(2,
                "powercut: there is no %s behind powercut's own: link PMDK as a shared library "
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
}

bool is_of_pmdk(const void *address) {
    pthread_once(&once, find_libraries);
    for (unsigned i = 0; i < library_count; i++)
        if ((uintptr_t)address - libraries[i].low < libraries[i].high - libraries[i].low)
            return true;
    return false;
}

void tx_parameters(va_list more, void *words[TX_WORDS]) {
    for (unsigned i = 0; i < TX_WORDS - 3;) {
        words[i] = va_arg(more, void *);
        int kind = (int)(uintptr_t)words[i++];
        for (int values = kind == PARAM_CALLBACK ? 2 : kind != PARAM_NONE; values > 0; values--)
            words[i++] = va_arg(more, void *);
        if (kind == PARAM_NONE)
            break;
    }
}
