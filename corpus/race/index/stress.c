/* Random operations: keys are dealt to threads in turn, so that neighbours in buckets and nodes are others',
 * and each thread knows at any time what its own keys are. Now and then it looks at the keys of others, too:
 * of those it knows that their versions only grow. */
#include "stress.h"

#include "check.h"

enum { KEYS = 3000 };

static const struct map *stressed;
static uint64_t seed, count;
static int threads;
static bool wrong;

static uint64_t roll(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void expect(uint64_t key, uint64_t value, bool right) {
    if (right)
        return;
    say("key %lu is %lu, version %lu of %lu", key, value, value_version(value), value_key(value));
    wrong = true;
}

/* One operation on an own key, of which `mine` says what it is: 0 if it is not there. */
static void own_turn(struct worker *self, uint64_t key, uint64_t *mine, uint64_t dice) {
    uint64_t value = stressed->get(self, key);
    expect(key, value, value == *mine);
    if (dice % 4 == 0) {
        expect(key, *mine, stressed->remove(self, key) == (*mine != 0));
        *mine = 0;
    } else {
        stressed->put(self, key, FRESH);
        value = stressed->get(self, key);
        expect(key, value, value_key(value) == key && value > *mine);
        *mine = value;
    }
}

static void *run(void *number) {
    static _Thread_local uint64_t mine[KEYS + MOST_THREADS], newest[KEYS + 1];
    struct worker self = {.arena = 1 + (int)(intptr_t)number};
    uint64_t dice = seed * 0x9e3779b97f4a7c15u + (uint64_t)number + 1;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t turn = roll(&dice) % (KEYS / threads), key = 1 + turn * threads + (uint64_t)number;
        if (key <= KEYS)
            own_turn(&self, key, &mine[key], roll(&dice));
        uint64_t other = 1 + roll(&dice) % KEYS, value = stressed->get(&self, other);
        if (value) {
            expect(other, value, value_key(value) == other && value >= newest[other]);
            newest[other] = value;
        }
    }
    for (uint64_t key = 1 + (uint64_t)number; key <= KEYS; key += threads)
        expect(key, mine[key], stressed->get(&self, key) == mine[key]);
    return NULL;
}

int stress(const struct map *map, uint64_t chosen_seed, uint64_t chosen_count, int chosen_threads) {
    stressed = map;
    seed = chosen_seed;
    count = chosen_count;
    threads = chosen_threads;
    need(threads >= 1 && threads <= MOST_THREADS, "threads");
    together(threads, run);
    forget_found();
    map->check();
    printf("%lu keys\n", check_copies());
    return wrong;
}
