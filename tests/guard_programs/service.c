/* A service on a pool of libpmemobj, for tests of the guard.
 *
 *   service POOL rounds N THREADS   each thread does N rounds of everything that can be made durable
 *   service POOL fault              the first time sets a flag and dies; as long as the flag is set, it dies at its start
 *   service POOL spin               the same with a flag that makes it wait for ever
 *   service POOL count              prints what the threads have counted
 */
#include <libpmemobj.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 8
#define SPIN         1 /* a flag; any other is an address that is used */

struct item {
    uint64_t number;
    char text[200];
};
struct lane {
    uint64_t done;
    char pad[56];
    PMEMoid item;
};
struct root {
    volatile uint64_t fault;
    char pad[56];
    struct lane lanes[THREADS_MOST];
};

static PMEMobjpool *pool;
static struct root *root;
static uint64_t rounds;

static void one_round(struct lane *lane) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&lane->item, sizeof lane->item);
        if (!OID_IS_NULL(lane->item))
            pmemobj_tx_free(lane->item);
        lane->item = pmemobj_tx_zalloc(sizeof(struct item), 1);
        struct item *item = pmemobj_direct(lane->item);
        item->number = lane->done + 1;
    }
    TX_END
    struct item *item = pmemobj_direct(lane->item);
    pmemobj_memset_persist(pool, item->text, 'a' + (int)(lane->done % 26), sizeof item->text);
    lane->done++;                                       /* SITE: counted */
    pmemobj_persist(pool, &lane->done, sizeof lane->done); /* SITE: persist */
}

static void *work(void *lane) {
    for (uint64_t i = 0; i < rounds; i++)
        one_round(lane);
    return NULL;
}

static void run_threads(unsigned count) {
    pthread_t threads[THREADS_MOST];
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, &root->lanes[i]);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void __attribute__((noinline)) check_flag(void) {
    while (root->fault == SPIN)
        ;
    if (root->fault)
        *(volatile int *)(uintptr_t)root->fault = 0;
}

static void set_flag(uint64_t value) {
    root->fault = value;
    pmemobj_persist(pool, (const void *)&root->fault, sizeof root->fault); /* SITE: bad */
}

int main(int argc, char **argv) {
    pool = access(argv[1], F_OK) == 0 ? pmemobj_open(argv[1], "service")
                                      : pmemobj_create(argv[1], "service", 32 << 20, 0600);
    if (!pool) {
        fprintf(stderr, "%s: %s\n", argv[1], pmemobj_errormsg());
        return 9;
    }
    root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    check_flag();
    if (strcmp(argv[2], "rounds") == 0) {
        rounds = strtoull(argv[3], NULL, 10);
        run_threads((unsigned)atoi(argv[4]));
    } else if (strcmp(argv[2], "fault") == 0) {
        set_flag(8);
        check_flag();
    } else if (strcmp(argv[2], "spin") == 0) {
        set_flag(SPIN);
    } else if (strcmp(argv[2], "count") == 0) {
        for (unsigned i = 0; i < THREADS_MOST; i++)
            printf("%llu\n", (unsigned long long)root->lanes[i].done);
    } else {
        return 7;
    }
    pmemobj_close(pool);
    return 0;
}
