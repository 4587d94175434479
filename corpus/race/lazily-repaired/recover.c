/* What a restart does: it opens the pool. Nothing is repaired before somebody comes by. */
#include "pool.h"

int main(void) {
    pool_recover("pool", sizeof(struct pool));
    return 0;
}
