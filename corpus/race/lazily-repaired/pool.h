/* A list of numbers that only grows at its end, and a hint where the end is, for those who look for it.
 *
 * The lock of the list lies beside the pool, in memory that a power cut clears. */
#include "../threads.h"

enum { MOST = 40, SEEKERS = 3, ROUNDS = 15 };

struct pool {
    _Alignas(LINE) uint64_t hint;  /* at most `count`, or it is not true */
    _Alignas(LINE) uint64_t count; /* of numbers */
    _Alignas(LINE) uint64_t number[MOST];
};
