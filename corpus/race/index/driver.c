/* Runs operations on a map, distributed to threads.
 *
 *     index table|tree FOLDER [--bug NAME] [--say]           operations from standard input
 *     index table|tree FOLDER verify [--bug NAME]            recover and check what a power cut left
 *     index table|tree FOLDER stress SEED COUNT THREADS      random operations, as stress.h says
 *     index bugs                                             the names of the mistakes
 *
 * An operation is a line: the number of a thread, and `put KEY`, `get KEY`, `del KEY` or `copy FROM TO`. A
 * line that is none is refused and said so. With --say what was put is told when it is durable. */
#include "check.h"
#include "map.h"
#include "stress.h"

enum kind { PUT, GET, DEL, COPY };

struct operation {
    enum kind kind;
    uint64_t key, other;
    struct operation *next;
};

struct queue {
    struct operation *first, **end;
};

static const struct map *map;
static struct queue queues[MOST_THREADS];
static bool saying;

/* Reading */

static bool parse(const char *line, unsigned *thread, struct operation *operation) {
    static const char *const names[] = {[PUT] = "put", [GET] = "get", [DEL] = "del", [COPY] = "copy"};
    char name[8];
    int count = sscanf(line, "%u %7s %lu %lu", thread, name, &operation->key, &operation->other);
    for (int kind = PUT; count >= 3 && kind <= COPY; kind++)
        if (strcmp(names[kind], name) == 0) {
            operation->kind = (enum kind)kind;
            bool keys = operation->key >= 1 && operation->key <= MOST_KEY &&
                        (kind != COPY || (operation->other >= 1 && operation->other <= MOST_KEY));
            return *thread < MOST_THREADS && count == (kind == COPY ? 4 : 3) && keys;
        }
    return false;
}

/* Distribute what is on standard input; the number of threads that have something to do. */
static int read_operations(void) {
    char line[128];
    int threads = 1;
    for (int i = 0; i < MOST_THREADS; i++)
        queues[i].end = &queues[i].first;
    while (fgets(line, sizeof line, stdin)) {
        unsigned thread;
        struct operation *operation = calloc(1, sizeof *operation);
        need(operation != NULL, "calloc");
        if (!parse(line, &thread, operation)) {
            say("refused: %.*s", (int)strcspn(line, "\n"), line);
            free(operation);
            continue;
        }
        *queues[thread].end = operation;
        queues[thread].end = &operation->next;
        if ((int)thread >= threads)
            threads = (int)thread + 1;
    }
    return threads;
}

/* Running */

static void change(struct worker *self, uint64_t key, uint64_t value) {
    map->put(self, key, value);
    if (saying && value == FRESH)
        say("put %lu to %lu", key, map->get(self, key));
}

static void carry_out(struct worker *self, const struct operation *operation) {
    uint64_t value;
    switch (operation->kind) {
    case PUT:
        change(self, operation->key, FRESH);
        break;
    case GET:
        value = map->get(self, operation->key);
        if (saying)
            say("key %lu is %lu", operation->key, value);
        break;
    case DEL:
        map->remove(self, operation->key);
        break;
    case COPY:
        value = map->get(self, operation->key);
        if (value)
            change(self, operation->other, value);
        break;
    }
}

static void *run(void *number) {
    struct worker self = {.arena = 1 + (int)(intptr_t)number};
    for (const struct operation *next = queues[(intptr_t)number].first; next; next = next->next)
        carry_out(&self, next);
    return NULL;
}

/* Starting */

/* Bring the map into order, or make it; how many keys it has. */
static uint64_t begin(void) {
    struct worker self = {.arena = 0};
    if (!pool->root)
        map->make(&self);
    map->check();
    uint64_t count = check_copies();
    map->recover();
    return count;
}

static int verify(void) {
    pool = pool_recover("index", sizeof *pool);
    const char *path = getenv("POWERCUT_ACKED");
    FILE *lines = path ? fopen(path, "r") : NULL;
    uint64_t count = pool && pool->root ? begin() : 0;
    if (lines)
        check_said(lines);
    printf("%lu keys\n", count);
    return 0;
}

static int usage(void) {
    fprintf(stderr,
            "usage: index table|tree FOLDER [verify | stress SEED COUNT THREADS] [--bug NAME] [--say]\n");
    return 2;
}

/* Takes the options out of the arguments; false if one is wrong. */
static bool take_options(int *count, char **arguments) {
    int kept = 1;
    for (int i = 1; i < *count; i++)
        if (strcmp(arguments[i], "--say") == 0)
            saying = true;
        else if (strcmp(arguments[i], "--bug") != 0)
            arguments[kept++] = arguments[i];
        else if (++i == *count || !choose_bug(arguments[i]))
            return false;
    *count = kept;
    return true;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "bugs") == 0) {
        for (int i = 0; bug_name(i); i++)
            puts(bug_name(i));
        return 0;
    }
    if (!take_options(&argc, argv) || argc < 3)
        return usage();
    map = strcmp(argv[1], "table") == 0 ? &table_map : strcmp(argv[1], "tree") == 0 ? &tree_map : NULL;
    if (!map)
        return usage();
    if (argc == 4 && strcmp(argv[3], "verify") == 0) {
        need(chdir(argv[2]) == 0, argv[2]);
        return verify();
    }
    bool stressed = argc == 7 && strcmp(argv[3], "stress") == 0;
    if (!stressed && argc != 3)
        return usage();
    int threads = stressed ? atoi(argv[6]) : read_operations();
    pool = pool_open(argv[2], "index", sizeof *pool);
    begin();
    if (stressed)
        return stress(map, strtoul(argv[4], NULL, 10), strtoul(argv[5], NULL, 10), threads);
    together(threads, run);
    say("done");
    return 0;
}
