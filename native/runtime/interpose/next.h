/* The functions behind those that stand in front of PMDK's, and whose code is PMDK's own. */
#ifndef POWERCUT_NEXT_H
#define POWERCUT_NEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define INTERPOSED __attribute__((visibility("default")))

/* The function of the same name behind this one. The program ends if there is none: it has called it. */
#define NEXT(name)                                                                                           \
    (__extension__({                                                                                         \
        static __typeof__(&name) next_##name;                                                                \
        if (!next_##name)                                                                                    \
            next_##name = (__typeof__(&name))next_function(#name);                                           \
        next_##name;                                                                                         \
    }))
void *next_function(const char *name);

/* Whether an address lies in the code of PMDK's libraries. */
bool is_of_pmdk(const void *address);

/* pmemobj_tx_begin behind ours, with its parameters as they came. */
int next_tx_begin(void *pool, void *target, va_list more);
/* The same without parameters, as it nearly always is. */
int next_plain_tx_begin(void *pool, void *target);

#endif
