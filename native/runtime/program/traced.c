/* A program with assertions under the memory tracer: what it asserts goes into the trace, and is checked from
 * there. What it tells of stores, flushes and fences does not, since the tracer sees them. */
#include "program.h"

#include "../../assertion_request.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else /* then there is no tracer either */
#define VALGRIND_DO_CLIENT_REQUEST_EXPR(otherwise, request, a, b, c, d, e) (otherwise)
#endif

_Static_assert(PC_RECOVER_REQUEST_ == PC_RECOVER_REQUEST, "the header programs include has the number, too");

static uint64_t ask(uint64_t operation, uint64_t address, uint64_t size) {
    return VALGRIND_DO_CLIENT_REQUEST_EXPR(0, PC_ASSERTION_REQUEST, operation, address, size, 0, 0);
}

bool is_traced(void) {
    static _Atomic int known; /* 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (!answer) {
        answer = ask(0, 0, 0) == 1 ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}

void pc_sync_var_(const volatile void *address, size_t size, uint64_t initial) {
    (void)VALGRIND_DO_CLIENT_REQUEST_EXPR(0, PC_SYNC_VAR_REQUEST, (uintptr_t)address, size, initial, 0, 0);
}

bool tell_tracer(enum pc_operation operation, const volatile void *address, size_t size) {
    if (!is_traced())
        return false;
    switch (operation) {
    case PC_WRITE:
    case PC_WRITE_NT:
    case PC_FLUSH:
    case PC_FENCE:
    case PC_DC_CVAP:
    case PC_DSB:
    case PC_POOL:
    case PC_UNPOOL:
    case PC_SEND_TRACE:
        break;
    default:
        ask(operation, (uintptr_t)address, size);
    }
    return true;
}
