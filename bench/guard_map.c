/* guard_map MAP POOL INSERTS: inserts random keys into one of PMDK's maps, in a new pool.
 *
 * Prints the microseconds that an insert took: by the clock, and of the processor. Start-up is not in them.
 */
#include <ex_common.h>
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "map.h"
#include "map_btree.h"
#include "map_ctree.h"
#include "map_hashmap_tx.h"
#include "map_rbtree.h"

enum { POOL_BYTES = 320 << 20, FIRST = 1000 }; /* inserts that are not counted */

POBJ_LAYOUT_BEGIN(map);
POBJ_LAYOUT_ROOT(map, struct root);
POBJ_LAYOUT_END(map);

struct root {
    TOID(struct map) map;
};

static const struct map_ops *operations(const char *name) {
    if (strcmp(name, "ctree") == 0)
        return MAP_CTREE;
    if (strcmp(name, "rbtree") == 0)
        return MAP_RBTREE;
    return strcmp(name, "hashmap_tx") == 0 ? MAP_HASHMAP_TX : MAP_BTREE;
}

static double microseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void insert(struct map_ctx *context, TOID(struct map) map, long count) {
    for (long i = 0; i < count; i++) {
        uint64_t key = (uint64_t)rand() << 31 | (uint64_t)rand();
        if (map_insert(context, map, key, OID_NULL) < 0)
            exit(8);
    }
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 9;
    PMEMobjpool *pool = pmemobj_create(argv[2], POBJ_LAYOUT_NAME(map), POOL_BYTES, 0600);
    if (!pool) {
        fprintf(stderr, "%s: %s\n", argv[2], pmemobj_errormsg());
        return 9;
    }
    struct map_ctx *context = map_ctx_init(operations(argv[1]), pool);
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    if (!context || map_create(context, &D_RW(root)->map, NULL) != 0)
        return 9;
    TOID(struct map) map = D_RO(root)->map;
    long inserts = atol(argv[3]);
    insert(context, map, FIRST);
    double began = microseconds(CLOCK_MONOTONIC), used = microseconds(CLOCK_PROCESS_CPUTIME_ID);
    insert(context, map, inserts);
    double took = microseconds(CLOCK_MONOTONIC) - began;
    used = microseconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    printf("%f %f\n", took / (double)inserts, used / (double)inserts);
    pmemobj_close(pool);
    return 0;
}
