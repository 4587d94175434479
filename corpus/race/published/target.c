/* The pool, the memory in it, and the threads that carry out commands. */
#include "target.h"

PMEMobjpool *pool;
void *pool_root;

enum { POOL_SIZE = 16 << 20 };

/* Memory */

uint64_t take(size_t size, uint64_t type) {
    PMEMoid made;
    need(pmemobj_zalloc(pool, &made, size + LINE, type) == 0, "the pool is full");
    return aligned(made.off);
}

static PMEMoid first_object(uint64_t type) {
    PMEMoid object = pmemobj_first(pool);
    while (!OID_IS_NULL(object) && pmemobj_type_num(object) != type)
        object = pmemobj_next(object);
    return object;
}

static PMEMoid object_at(uint64_t offset, uint64_t type) {
    PMEMoid object = first_object(type);
    while (!OID_IS_NULL(object) && (aligned(object.off) != offset || pmemobj_type_num(object) != type))
        object = pmemobj_next(object);
    return object;
}

void give_back(uint64_t offset, uint64_t type) {
    PMEMoid object = object_at(offset, type);
    need(!OID_IS_NULL(object), "give back what is not taken");
    pmemobj_free(&object);
}

uint64_t next_object(uint64_t offset, uint64_t type) {
    PMEMoid object = offset ? pmemobj_next(object_at(offset, type)) : first_object(type);
    while (!OID_IS_NULL(object) && pmemobj_type_num(object) != type)
        object = pmemobj_next(object);
    return OID_IS_NULL(object) ? 0 : aligned(object.off);
}

bool is_taken(uint64_t offset, uint64_t type) {
    return offset && !OID_IS_NULL(object_at(offset, type));
}

/* Values */

static uint64_t stamp; /* of the newest one */

uint64_t fresh_value(uint64_t key) {
    return __atomic_add_fetch(&stamp, 1, __ATOMIC_RELAXED) << KEY_BITS | key;
}

void note_value(uint64_t value) {
    if (value >> KEY_BITS > stamp)
        stamp = value >> KEY_BITS;
}

/* Commands */

struct operation {
    void (*run)(unsigned thread, uint64_t key);
    uint64_t key;
    struct operation *next;
};

static struct queue {
    struct operation *first, **end;
} queues[MOST_THREADS];

static bool parse(const struct target *target, const char *line, unsigned *thread, struct operation *made) {
    char name[16];
    if (sscanf(line, "%u %15s %lu", thread, name, &made->key) != 3 || *thread >= MOST_THREADS ||
        made->key < 1 || made->key > MOST_KEY)
        return false;
    for (const struct command *command = target->command; command->name; command++)
        if (strcmp(command->name, name) == 0) {
            made->run = command->run;
            return true;
        }
    return false;
}

/* Distribute what is on standard input; the number of threads that have something to do. */
static int read_commands(const struct target *target) {
    char line[128];
    int threads = 1;
    for (int i = 0; i < MOST_THREADS; i++)
        queues[i].end = &queues[i].first;
    while (fgets(line, sizeof line, stdin)) {
        unsigned thread;
        struct operation *made = calloc(1, sizeof *made);
        need(made != NULL, "calloc");
        if (!parse(target, line, &thread, made)) {
            say("refused: %.*s", (int)strcspn(line, "\n"), line);
            free(made);
            continue;
        }
        *queues[thread].end = made;
        queues[thread].end = &made->next;
        if ((int)thread >= threads)
            threads = (int)thread + 1;
    }
    return threads;
}

static void *carry_out(void *number) {
    for (const struct operation *next = queues[(intptr_t)number].first; next; next = next->next)
        next->run((unsigned)(intptr_t)number, next->key);
    return NULL;
}

/* Starting */

static void open_pool(const struct target *target, const char *folder, bool make) {
    need(chdir(folder) == 0, folder);
    pool =
        make ? pmemobj_create("pool", target->layout, POOL_SIZE, 0644) : pmemobj_open("pool", target->layout);
    if (!pool)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    PMEMoid root = pmemobj_root(pool, target->root_size + LINE);
    need(!OID_IS_NULL(root), "pmemobj_root");
    pool_root = at(aligned(root.off));
}

int run_target(int argc, char **argv, const struct target *target) {
    const char *what = argc == 3 ? argv[2] : "";
    bool make = strcmp(what, "create") == 0, verify = strcmp(what, "verify") == 0;
    if (argc < 2 || argc > 3 || (*what && !make && !verify && strcmp(what, "recover") != 0)) {
        fprintf(stderr, "usage: %s FOLDER [create | recover | verify]\n", argv[0]);
        return 2;
    }
    open_pool(target, argv[1], make);
    if (make) {
        target->make();
        return 0;
    }
    target->check();
    target->recover();
    if (verify)
        target->recovered();
    if (!*what) {
        together(read_commands(target), carry_out);
        say("done");
    }
    pmemobj_close(pool);
    return 0;
}
