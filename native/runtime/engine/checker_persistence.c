/* is-persistent and is-ordered-before: the two assertions everything else is made of. */
#include "engine.h"

struct question {
    struct engine *engine;
    const struct operation *at;
};

static bool must_be_persistent(void *with, const struct span *span, uint64_t address) {
    struct question *question = with;
    enum durability durability = question->engine->model->durability(question->engine, span);
    struct finding_place place = {question->at->site, span->write_site, span->flush_site, address,
                                  (uint64_t)(span->high - span->low)};
    if (durability != IS_PERSISTENT)
        report(question->engine, durability == LACKS_FLUSH ? KIND_NOT_FLUSHED : KIND_NOT_FENCED, &place);
    else if (span->flags & BY_LUCK)
        report(question->engine, KIND_BY_LUCK, &place);
    return true;
}

/* Of all writes to a range, the one that persists last (of the first range) or may persist first (of the
 * second). */
struct extreme {
    struct engine *engine;
    bool last, any;
    uint64_t time;
    uint32_t site;
    uint64_t address, size;
};

static bool look_for_extreme(void *with, const struct span *span, uint64_t address) {
    struct extreme *found = with;
    uint64_t time = found->last ? found->engine->model->end(found->engine, span) : span->written;
    if (!found->any || (found->last ? time > found->time : time < found->time)) {
        found->any = true;
        found->time = time;
        found->site = span->write_site;
        found->address = address;
        found->size = (uint64_t)(span->high - span->low);
    }
    return true;
}

static void must_be_ordered(struct engine *engine, const struct operation *first,
                            const struct operation *second) {
    struct extreme a = {.engine = engine, .last = true}, b = {.engine = engine};
    engine_spans(engine, first->low, first->high, look_for_extreme, &a);
    engine_spans(engine, second->low, second->high, look_for_extreme, &b);
    if (a.any && b.any && a.time > b.time) {
        struct finding_place place = {second->site, a.site, b.site, a.address, a.size};
        report(engine, KIND_NOT_ORDERED, &place);
    }
}

static void see(struct engine *engine, void *room, const struct operation *operation) {
    if (operation->code == PC_IS_PERSISTENT) {
        struct question question = {engine, operation};
        engine_spans(engine, operation->low, operation->high, must_be_persistent, &question);
    } else if (operation->code == PC_FIRST) {
        engine->first = *operation;
    } else if (engine->first.code == PC_FIRST) {
        must_be_ordered(engine, &engine->first, operation);
        engine->first.code = 0;
    }
}

const struct checker checker_persistence = {
    .name = "persistence",
    .see = see,
    .codes = {PC_IS_PERSISTENT, PC_FIRST, PC_IS_ORDERED_BEFORE},
};
