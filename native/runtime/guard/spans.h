/* The ranges that this thread's transaction may change: given by the program, or newly allocated. */
#ifndef POWERCUT_GUARD_SPANS_H
#define POWERCUT_GUARD_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pc_span {
    uintptr_t low, high;
    const void *site; /* who gave it */
    const char *old;  /* what it held then, NULL: not known */
};

/* From now on the transaction may change a range; what was given before stays as it is. `kept`: what it holds
 * is worth to be compared with. */
void pc_span_add(const void *address, size_t size, const void *site, bool kept);
void pc_spans_clear(void);
/* All of them, in the order of their addresses. */
const struct pc_span *pc_spans(unsigned *count);
/* Whether one of them holds a range, or several that touch. */
bool pc_span_holds(const void *address, size_t size);
/* The one that holds an address; NULL, and where the next one begins, if that is below `until`. */
const struct pc_span *pc_span_at(uintptr_t address, uintptr_t *until);

#endif
