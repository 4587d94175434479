/* map_check TYPE POOL COMMANDS: open a crashed pool of mapcli and compare its keys with what mapcli had said.
 *
 * The pool held keys 1 and 2 at the start: ctree does not list a key that is alone.
 * COMMANDS is mapcli's input: "i KEY" or "r KEY", each followed by "c KEY", which prints a line. So as many
 * changes as there are lines in $POWERCUT_ACKED are acknowledged, and those behind may have happened or not.
 * The keys must be what the acknowledged changes leave, or those and some of the following ones, in order. */
#include <ex_common.h>
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>

#include "map.h"
#include "map_btree.h"
#include "map_ctree.h"
#include "map_hashmap_atomic.h"
#include "map_hashmap_rp.h"
#include "map_hashmap_tx.h"
#include "map_rbtree.h"
#include "map_rtree.h"
#include "map_skiplist.h"

enum { MOST = 256 }; /* keys are smaller, and not 0, which ctree does not know */

POBJ_LAYOUT_BEGIN(map);
POBJ_LAYOUT_ROOT(map, struct root);
POBJ_LAYOUT_END(map);

struct root {
    TOID(struct map) map;
};

struct keys {
    unsigned char holds[MOST];
};

static void refuse(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static const struct map_ops *operations(const char *type) {
    const struct {
        const char *name;
        const struct map_ops *ops;
    } types[] = {
        {"ctree", MAP_CTREE},           {"btree", MAP_BTREE},
        {"rtree", MAP_RTREE},           {"rbtree", MAP_RBTREE},
        {"hashmap_tx", MAP_HASHMAP_TX}, {"hashmap_atomic", MAP_HASHMAP_ATOMIC},
        {"hashmap_rp", MAP_HASHMAP_RP}, {"skiplist", MAP_SKIPLIST},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].ops;
    refuse("no such map");
    return NULL;
}

/* Listed keys are only counted. */
static int count(uint64_t key, PMEMoid value, void *arg) {
    (void)key;
    (void)value;
    ++*(size_t *)arg;
    return 0;
}

static struct keys read_map(const char *type, const char *path) {
    struct keys keys = {0};
    size_t found = 0, listed = 0;
    PMEMobjpool *pool = pmemobj_open(path, POBJ_LAYOUT_NAME(map));
    if (!pool)
        refuse(pmemobj_errormsg());
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    struct map_ctx *context = map_ctx_init(operations(type), pool);
    TOID(struct map) map = D_RO(root)->map;
    map_init(context, map); /* recovery */
    if (map_check(context, map) != 0)
        refuse("the map does not pass its own check");
    for (uint64_t key = 1; key < MOST; key++)
        found += keys.holds[key] = map_lookup(context, map, key) != 0;
    map_foreach(context, map, count, &listed);
    if (listed != found && strcmp(type, "rtree") != 0) /* rtree lists its inner nodes, too */
        refuse("the map lists more or fewer keys than it finds");
    if (context->ops->count && map_count(context, map) != found)
        refuse("the map counts more or fewer keys than it finds");
    map_ctx_free(context);
    pmemobj_close(pool);
    return keys;
}

static size_t acknowledged(void) {
    size_t lines = 0;
    FILE *said = fopen(getenv("POWERCUT_ACKED"), "r");
    for (int letter; said && (letter = getc(said)) != EOF;)
        lines += letter == '\n';
    if (said)
        fclose(said);
    return lines;
}

int main(int argc, char **argv) {
    FILE *commands = argc == 4 ? fopen(argv[3], "r") : NULL;
    if (!commands)
        refuse("usage: map_check TYPE POOL COMMANDS");
    struct keys found = read_map(argv[1], argv[2]), wanted = {.holds = {0, 1, 1}};
    size_t said = acknowledged(), done = 0;
    char command;
    unsigned key;
    for (int more = 1; more;) {
        if (done >= said && memcmp(found.holds, wanted.holds, sizeof wanted.holds) == 0)
            return 0;
        while ((more = fscanf(commands, " %c %u", &command, &key) == 2) && command == 'c')
            ;
        if (more && key < MOST)
            wanted.holds[key] = command == 'i';
        done++;
    }
    printf("the map holds");
    for (key = 0; key < MOST; key++)
        if (found.holds[key])
            printf(" %u", key);
    printf(", which no changes from number %zu on leave\n", said);
    return 1;
}
