/* Figure 1 of the PMRace paper: x, y and their lock g, which lie on lines of their own. x only grows, and y
 * is a copy of it: y is never more than x. */
#include "../threads.h"

struct pool {
    _Alignas(LINE) uint64_t g;
    _Alignas(LINE) uint64_t x;
    _Alignas(LINE) uint64_t y;
};

enum { ROUNDS = 40 };
