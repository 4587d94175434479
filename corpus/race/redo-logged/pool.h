/* x grows; y is a copy of it that is never more. y changes through a redo log: a record is written, then
 * committed, then carried out. The recovery carries out what is committed and does not look at anything else.
 *
 * The lock of x lies beside the pool, in memory that a power cut clears. */
#include "../threads.h"

enum { ROUNDS = 30 };

struct pool {
    _Alignas(LINE) uint64_t x;
    _Alignas(LINE) uint64_t y;
    _Alignas(LINE) uint64_t record; /* the value that y gets */
    _Alignas(LINE) uint64_t committed;
};
