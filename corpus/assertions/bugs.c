/* The names of the mistakes, with dashes as in cases.toml. */
#include "bugs.h"

#include <stdio.h>

enum bug chosen_bug = BUG_NONE;

#define BUG_NAME(name) #name,
static const char *const names[] = {"", BUGS(BUG_NAME)};

static bool is_called(const char *bug, const char *name) {
    while (*bug && (*bug == '_' ? '-' : *bug) == *name)
        bug++, name++;
    return !*bug && !*name;
}

bool choose_bug(const char *name) {
    int index = 1;
    while (index < BUG_COUNT && !is_called(names[index], name))
        index++;
    chosen_bug = index < BUG_COUNT ? (enum bug)index : BUG_NONE;
    return index < BUG_COUNT;
}

void print_bugs(void) {
    for (int index = 1; index < BUG_COUNT; index++) {
        for (const char *c = names[index]; *c; c++)
            putchar(*c == '_' ? '-' : *c);
        putchar('\n');
    }
}
