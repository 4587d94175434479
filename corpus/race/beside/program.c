/* Twenty programs: each has one of five plain crash bugs, which one thread suffices for, beside one of four
 * races, which do no harm. Chosen by -DBUG=bug_NAME and -DRACE=race_NAME.
 *
 *     program FOLDER run          a few threads, on a pool of zeros
 *     program FOLDER recover      what a restart does
 *     program FOLDER verify       the same, then look whether anything is lost
 *
 * What a bug loses carries LOST and its name; of what is kept instead, nothing is marked: several lines may
 * be right. */
#include "../threads.h"

#include <stdbool.h>

#define load(word)         __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define store(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)

enum { THREADS = 3, STEPS = 4, LONG = 12 /* words: a line and a half */ };

struct cell {
    _Alignas(LINE) uint64_t word;
};

static struct pool {
    /* of the bugs */
    struct cell data, valid;
    _Alignas(LINE) uint64_t record[2 * LINE / 8];
    struct cell entry[THREADS][STEPS], count[THREADS], left[THREADS], right[THREADS];
    /* of the races */
    struct {
        _Alignas(LINE) uint64_t lock, counter;
    } locked;
    struct cell index[THREADS], made[THREADS];
} *pool;

/* A part of the program: what the first thread does before and after the others, what each of those does
 * before and after a step of the race, what a restart does, and what must hold then. */
struct part {
    void (*begin)(void), (*end)(void);
    void (*before)(uint64_t thread, uint64_t step), (*after)(uint64_t thread, uint64_t step);
    void (*recover)(void), (*verify)(void);
};

#define keep(word) persist(word, sizeof *(word))

/* Bugs */

/* It says that there are data before they are durable; the restart refuses that. */
static void half_begin(void) {
    store(&pool->data.word, 1); // LOST half
    store(&pool->valid.word, 1);
    keep(&pool->valid.word);
}

static void half_end(void) {
    keep(&pool->data.word);
}

static void half_recover(void) {
    if (pool->valid.word && !pool->data.word)
        refuse("there are no data, and they are said to be valid");
}

static const struct part bug_half = {.begin = half_begin, .end = half_end, .recover = half_recover};

/* Only the first line of a record is made durable. */
static void part_begin(void) {
    for (uint64_t i = 0; i < LONG; i++)
        store(&pool->record[i], i + 1); // LOST part
    persist(pool->record, LINE);
    store(&pool->valid.word, 1);
    keep(&pool->valid.word);
}

static void part_end(void) {
    persist(pool->record, sizeof pool->record);
}

static void part_verify(void) {
    for (uint64_t i = 0; i < LONG && pool->valid.word; i++)
        if (pool->record[i] != i + 1)
            refuse("word %lu of the record is missing", i);
}

static const struct part bug_part = {.begin = part_begin, .end = part_end, .verify = part_verify};

/* It is said that something is kept, and that is not durable. */
static void promise_begin(void) {
    store(&pool->data.word, 7); // LOST promise
    say("kept 7");
}

static void promise_end(void) {
    keep(&pool->data.word);
}

static void promise_verify(void) {
    if (said("kept 7") && pool->data.word != 7)
        refuse("7 is not kept");
}

static const struct part bug_promise = {.begin = promise_begin, .end = promise_end, .verify = promise_verify};

/* A log of each thread counts an entry that is not durable; the restart refuses that. */
static void log_before(uint64_t thread, uint64_t step) {
    store(&pool->entry[thread][step].word, step + 1); // LOST log
    store(&pool->count[thread].word, step + 1);
    keep(&pool->count[thread].word);
}

static void log_after(uint64_t thread, uint64_t step) {
    keep(&pool->entry[thread][step].word);
}

static void log_recover(void) {
    for (uint64_t thread = 0; thread < THREADS; thread++)
        for (uint64_t i = 0; i < pool->count[thread].word; i++)
            if (pool->entry[thread][i].word != i + 1)
                refuse("entry %lu of thread %lu is missing", i, thread);
}

static const struct part bug_log = {.before = log_before, .after = log_after, .recover = log_recover};

/* Two words that belong together change one after the other. */
static void pair_before(uint64_t thread, uint64_t step) {
    store(&pool->left[thread].word, step + 1);
    keep(&pool->left[thread].word);
}

static void pair_after(uint64_t thread, uint64_t step) {
    store(&pool->right[thread].word, step + 1); // LOST pair
    keep(&pool->right[thread].word);
}

static void pair_verify(void) {
    for (uint64_t thread = 0; thread < THREADS; thread++)
        if (pool->left[thread].word != pool->right[thread].word)
            refuse("both sides of thread %lu differ", thread);
}

static const struct part bug_pair = {.before = pair_before, .after = pair_after, .verify = pair_verify};

/* Races: `before` is the step */

/* The lock of a counter lies in the pool, beside it; the restart frees it. */
static void locked_step(uint64_t thread, uint64_t step) {
    (void)thread, (void)step;
    lock(&pool->locked.lock);
    store(&pool->locked.counter, load(&pool->locked.counter) + 1);
    keep(&pool->locked.counter);
    unlock(&pool->locked.lock);
}

static void locked_recover(void) {
    unlock(&pool->locked.lock);
    keep(&pool->locked.lock);
}

static const struct part race_locked = {.before = locked_step, .recover = locked_recover};

/* Each thread makes something of what the next one has stored and not made durable. */
static void use_neighbour(uint64_t thread, uint64_t step) {
    store(&pool->index[thread].word, step + 1);
    uint64_t seen = load(&pool->index[(thread + 1) % THREADS].word);
    store(&pool->made[thread].word, seen);
    keep(&pool->made[thread].word);
    keep(&pool->index[thread].word);
}

/* The restart makes all of it anew. */
static void rebuilt_recover(void) {
    memset(pool->index, 0, sizeof pool->index);
    memset(pool->made, 0, sizeof pool->made);
    persist(pool->index, sizeof pool->index + sizeof pool->made);
}

static const struct part race_rebuilt = {.before = use_neighbour, .recover = rebuilt_recover};

/* The restart takes back what was made of what is not there. */
static void repaired_recover(void) {
    for (uint64_t thread = 0; thread < THREADS; thread++) {
        uint64_t there = pool->index[(thread + 1) % THREADS].word;
        if (pool->made[thread].word > there)
            store(&pool->made[thread].word, there);
        keep(&pool->made[thread].word);
    }
}

static const struct part race_repaired = {.before = use_neighbour, .recover = repaired_recover};

/* Nobody minds: it is a hint. */
static const struct part race_hint = {.before = use_neighbour};

/* The program */

static const struct part *const parts[] = {&BUG, &RACE};

#define each(part) for (const struct part *const *part = parts; part < parts + 2; part++)

static void *run(void *number) {
    uint64_t thread = (uint64_t)number;
    for (uint64_t step = 0; step < STEPS; step++) {
        each(part) if ((*part)->before)(*part)->before(thread, step);
        each(part) if ((*part)->after)(*part)->after(thread, step);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    pool = pool_open(argv[1], "pool", sizeof *pool);
    bool runs = strcmp(argv[2], "run") == 0;
    each(part) if (runs && (*part)->begin)(*part)->begin();
    if (runs)
        together(THREADS, run);
    each(part) if (runs && (*part)->end)(*part)->end();
    each(part) if (!runs && (*part)->recover)(*part)->recover();
    each(part) if (strcmp(argv[2], "verify") == 0 && (*part)->verify)(*part)->verify();
    return 0;
}
