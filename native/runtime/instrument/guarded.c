#define _GNU_SOURCE
#include "guarded.h"

#include "../guard/join.h"

#include <dlfcn.h>

_Thread_local struct noted_list noted __attribute__((tls_model("initial-exec")));
static const struct pc_guard_ear *guard; /* NULL: none; then nothing is ever noted */

void tell_guard(const struct moment *moment) {
    if (noted.is_told)
        return;
    noted.is_told = true;
    for (unsigned i = 0; i < noted.count; i++)
        guard->flushed((const void *)noted.at[i].address, noted.at[i].size, (const void *)noted.at[i].site);
    if (noted.count && is_fence(moment))
        guard->fenced();
    noted.count = 0;
    noted.is_told = false;
    if (is_to_be_noted(moment))
        note(moment);
}

static __attribute__((constructor)) void join_guard(void) {
    pc_guard_join_function join = (pc_guard_join_function)dlsym(RTLD_DEFAULT, PC_GUARD_JOIN);
    if (join)
        guard = join(watch_guarded);
}
