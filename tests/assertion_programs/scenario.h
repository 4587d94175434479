/* Programs of many small scenarios: `program NAME` runs one. What must be found is written at the end of the line. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <pmtest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scenario {
    const char *name;
    void (*run)(void);
};
static struct scenario scenarios[100];
static int scenario_count;

/* A scenario that does everything by itself, and one that is tracked from its start to its end. */
#define BARE_SCENARIO(name)                                                                                      \
    static void name(void);                                                                                      \
    __attribute__((constructor)) static void add_##name(void) {                                                  \
        scenarios[scenario_count++] = (struct scenario){#name, name};                                            \
    }                                                                                                            \
    static void name(void)
#define SCENARIO(name)                                                                                           \
    static void in_##name(void);                                                                                 \
    BARE_SCENARIO(name) {                                                                                        \
        pc_init();                                                                                               \
        pc_start();                                                                                              \
        in_##name();                                                                                             \
        pc_end();                                                                                                \
    }                                                                                                            \
    static void in_##name(void)

/* Persistent memory, for what matters here: objects of two cache lines each, apart from each other. */
static _Alignas(4096) char memory[16 * 4096];
#define OBJECT(number) (memory + 128 * (number))
#define PERSIST(address, size)                                                                                   \
    do {                                                                                                         \
        pc_flush(address, size);                                                                                 \
        pc_fence();                                                                                              \
    } while (0)

int main(int count, char **words) {
    for (int i = 0; count == 2 && i < scenario_count; i++) {
        if (strcmp(scenarios[i].name, words[1]) == 0) {
            scenarios[i].run();
            return 0;
        }
    }
    return 99;
}

#endif
