/* Extendible hashing after CCEH, as far as its directories go: a directory says how many segments it has, and
 * takes them from the pool, which counts those that are taken. Two threads make directories of their own.
 *
 * The lock of the pool lies beside it, in memory that a power cut clears. */
#include "../threads.h"

enum { DIRECTORIES = 16, MAKERS = 2 };

struct directory {
    _Alignas(LINE) uint64_t capacity; /* segments; 0: this directory is not made */
};

struct pool {
    _Alignas(LINE) uint64_t taken; /* segments, those of all directories */
    struct directory directory[DIRECTORIES];
};
