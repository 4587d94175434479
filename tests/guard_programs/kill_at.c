/* Ends the program at one of its calls of libpmem, by a signal that nobody can catch. To be given with LD_PRELOAD,
 * behind the guard's library (then the log is ahead of the pool) or in front of it (then it is behind).
 *
 *   KILL_AT     which call, counted from 0
 *   KILL_WHEN   before it, after it, or in the middle of what it copies
 *   KILL_COUNT  a file: a program that ends by itself writes there how many calls it made
 *
 * A call inside another one of this library counts, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long calls, wanted = -1;
static const char *when = "before";

static void __attribute__((constructor)) start(void) {
    const char *at = getenv("KILL_AT"), *said = getenv("KILL_WHEN");
    wanted = at ? atol(at) : -1;
    when = said ? said : when;
}

static void __attribute__((destructor)) count(void) {
    const char *path = getenv("KILL_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", calls);
        fclose(file);
    }
}

/* Whether this call is the one; it is killed here if it is to be before. */
static int is_wanted(void) {
    int mine = calls++ == wanted;
    if (mine && strcmp(when, "before") == 0)
        raise(SIGKILL);
    return mine;
}

/* What lies behind is called as if this were not there: its caller is the program, or PMDK. */
#define CALL(type, name, parameters, arguments, half)                                                        \
    type name parameters {                                                                                   \
        type(*next) parameters = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                \
        if (!is_wanted())                                                                                    \
            return next arguments;                                                                           \
        if (strcmp(when, "middle") == 0)                                                                     \
            half;                                                                                            \
        else                                                                                                 \
            next arguments;                                                                                  \
        raise(SIGKILL);                                                                                      \
        abort();                                                                                             \
    }

CALL(void, pmem_flush, (const void *at, size_t size), (at, size), (void)at)
CALL(void, pmem_persist, (const void *at, size_t size), (at, size), (void)at)
CALL(void, pmem_drain, (void), (), (void)0)
CALL(void *, pmem_memcpy, (void *to, const void *from, size_t size, unsigned flags), (to, from, size, flags),
     memcpy(to, from, size / 2))
CALL(void *, pmem_memmove, (void *to, const void *from, size_t size, unsigned flags), (to, from, size, flags),
     memmove(to, from, size / 2))
CALL(void *, pmem_memset, (void *to, int byte, size_t size, unsigned flags), (to, byte, size, flags),
     memset(to, byte, size / 2))
