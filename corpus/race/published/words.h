/* What the programs of this folder share: mistakes that can be compiled in, and words that several threads use.
 *
 * A program is compiled with -DSEEDED='"NAME"' for one of its mistakes, and is correct without. */
#pragma once

#ifndef SEEDED
#define SEEDED ""
#endif

/* Whether the mistake was compiled in; a constant for the compiler. */
#define seeded(name) (__builtin_strcmp(SEEDED, name) == 0)

/* Macros, so that the line that loads or stores is the program's own. */
#define load(word)         __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define store(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)

/* Whether a word was what it was seen to be, and is another now; else what it is. */
#define exchange(word, seen, value)                                                                          \
    __atomic_compare_exchange_n(word, seen, value, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
