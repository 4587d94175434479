/* Each pc_start has its pc_end, in the same thread. */
#include "engine.h"

struct balance {
    uint32_t started; /* site; 0: not started */
};

static void see(struct engine *engine, void *room, const struct operation *operation) {
    struct balance *balance = room;
    if (operation->code == PC_START) {
        if (balance->started)
            report(engine, KIND_STARTED_TWICE,
                   &(struct finding_place){.at = operation->site, .other = balance->started});
        balance->started = operation->site;
    } else if (operation->code == PC_END) {
        if (!balance->started)
            report(engine, KIND_NOT_STARTED, &(struct finding_place){.at = operation->site});
        balance->started = 0;
    } else if (balance->started) {
        report(engine, KIND_NOT_ENDED, &(struct finding_place){.at = balance->started});
    }
}

const struct checker checker_balance = {
    .name = "balance",
    .room = sizeof(struct balance),
    .see = see,
    .codes = {PC_START, PC_END, PC_THREAD_END},
};
