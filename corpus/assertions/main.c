/* The program `maps`: run a workload on one of the maps, or look whether an interrupted one left it whole. */
#include "bugs.h"
#include "pool.h"
#include "skip.h"
#include "tx.h"
#include "workload.h"

#include <errno.h>
#include <getopt.h>
#include <sys/time.h>
#include <time.h>

static const char usage[] =
    "usage: maps MAP [options]      run random operations, and compare the map with a model of it\n"
    "       maps MAP --recover ...  after --stop-after, with the same options: recover and compare\n"
    "       maps MAP --judge ...    after a power cut under powercut, with the same options: recover and "
    "compare\n"
    "       maps bugs               print the names for --bug\n"
    "MAP: ctree, btree, rbtree, hashmap-tx, hashmap-atomic\n"
    "options: --operations N --size BYTES --seed N --keys N (0: only inserts of new keys) --bug NAME\n"
    "         --skip FILE:LINE ... (its flush, fence, or what it tells a transaction; if built with "
    "SKIPPABLE)\n"
    "         --tell (what is done; the pool is there, all zeros) --pool FILE --pool-size BYTES --trace N "
    "(operations of a trace) --stop-after N --time\n";

struct settings {
    struct workload workload;
    uint64_t pool_size;
    const char *pool;
    bool recover, judge, time;
};

static const struct map_type *const types[] = {&ctree, &btree, &rbtree, &hashmap_tx, &hashmap_atomic};

static const struct map_type *type_of(const char *name) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    return NULL;
}

static bool parse_number(const char *text, uint64_t *number) {
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && !*end;
}

static bool parse(int argc, char **argv, struct settings *settings) {
    struct workload *workload = &settings->workload;
    uint64_t *const numbers[] = {&workload->operations, &workload->item_size, &workload->seed,
                                 &workload->keys,       &workload->trace,     &workload->stop_after,
                                 &settings->pool_size};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    static const struct option known[] = {{"operations", required_argument, NULL, 0},
                                          {"size", required_argument, NULL, 1},
                                          {"seed", required_argument, NULL, 2},
                                          {"keys", required_argument, NULL, 3},
                                          {"trace", required_argument, NULL, 4},
                                          {"stop-after", required_argument, NULL, 5},
                                          {"pool-size", required_argument, NULL, 6},
                                          {"pool", required_argument, NULL, 'p'},
                                          {"bug", required_argument, NULL, 'b'},
                                          {"recover", no_argument, NULL, 'r'},
                                          {"time", no_argument, NULL, 't'},
                                          {"tell", no_argument, NULL, 's'},
                                          {"judge", no_argument, NULL, 'j'},
                                          {"skip", required_argument, NULL, 'k'},
                                          {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option < NUMBERS && !parse_number(optarg, numbers[option]))
            return false;
        else if (option == 'p')
            settings->pool = optarg;
        else if (option == 'b' && !choose_bug(optarg))
            return false;
        else if (option == 'k')
            skip(optarg);
        else if (option == '?')
            return false;
        settings->recover |= option == 'r';
        settings->time |= option == 't';
        settings->judge |= option == 'j';
        workload->tell |= option == 's';
    }
    return optind == argc - 1 && workload->operations > 0 && workload->item_size >= 16;
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All of the tracking and checking is in the time that is told. */
static void run(const struct map_type *type, const struct settings *settings) {
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    pc_init();
    pc_register_pool(pool, settings->pool_size);
    run_workload(type, &settings->workload);
    pc_exit();
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (settings->time)
        printf("cpu %.9f\nwall %.9f\n", cpu, wall);
}

/* Lists may go round in circles: what takes too long is killed. */
static void judge(const struct map_type *type, const struct settings *settings) {
    const struct itimerval limit = {.it_value = {.tv_usec = 100000}};
    const char *path = getenv("POWERCUT_ACKED");
    FILE *said = path ? fopen(path, "r") : NULL;
    char line[64];
    uint64_t done = 0;
    need(said != NULL && setitimer(ITIMER_VIRTUAL, &limit, NULL) == 0, "POWERCUT_ACKED");
    while (fgets(line, sizeof line, said))
        done += strncmp(line, "done ", 5) == 0;
    fclose(said);
    tx_recover();
    judge_workload(type, &settings->workload, done);
}

int main(int argc, char **argv) {
    struct settings settings = {.workload = {.operations = 300, .item_size = 64, .seed = 1, .keys = 60},
                                .pool_size = 4 << 20};
    if (argc == 2 && strcmp(argv[1], "bugs") == 0) {
        print_bugs();
        return 0;
    }
    bool understood = parse(argc, argv, &settings);
    const struct map_type *type = understood ? type_of(argv[optind]) : NULL;
    if (!type) {
        fputs(usage, stderr);
        return 2;
    }
    open_pool(settings.pool, settings.pool_size,
              settings.recover || settings.judge || settings.workload.tell);
    if (settings.judge) {
        judge(type, &settings);
    } else if (settings.recover) {
        printf("interrupted %d\n", tx_recover());
        check_workload(type, &settings.workload);
    } else {
        run(type, &settings);
    }
    return 0;
}
