/* A gauge on a pool of libpmemobj, for tests of static dependences: of what a restart looks at before it fails, most has
 * nothing to do with the failure.
 *
 *   gauge POOL set           makes all of its values durable, each by its own line; the first one is bad
 *   gauge POOL check         looks at all, the bad one first, and fails at the end
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE 64

struct root {
    _Alignas(LINE) uint64_t bad;
    _Alignas(LINE) uint64_t loud;
    _Alignas(LINE) uint64_t warm;
    _Alignas(LINE) uint64_t wet;
};

static PMEMobjpool *pool;
static struct root *root;
static int heard;

static int __attribute__((noinline)) complain(void) {
    return 5;
}

static void __attribute__((noinline)) hear(const char *what) {
    heard += what[0];
}

static void set(void) {
    root->bad = 9;
    pmemobj_persist(pool, &root->bad, sizeof root->bad); /* SITE: bad */
    root->loud = 9;
    pmemobj_persist(pool, &root->loud, sizeof root->loud); /* SITE: loud */
    root->warm = 9;
    pmemobj_persist(pool, &root->warm, sizeof root->warm); /* SITE: warm */
    root->wet = 9;
    pmemobj_persist(pool, &root->wet, sizeof root->wet); /* SITE: wet */
}

static void check(void) {
    int result = 0;
    if (root->bad > 3)
        result = complain();
    if (root->loud > 3)
        hear("loud");
    if (root->warm > 3)
        hear("warm");
    if (root->wet > 3)
        hear("wet");
    _exit(result); /* SITE: fails */
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 9;
    pool = access(argv[1], F_OK) == 0 ? pmemobj_open(argv[1], "gauge")
                                      : pmemobj_create(argv[1], "gauge", 16 << 20, 0600);
    if (!pool)
        return 9;
    root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    if (strcmp(argv[2], "set") == 0)
        set();
    else
        check();
    pmemobj_close(pool);
    return 0;
}
