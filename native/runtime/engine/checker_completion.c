/* Complete transactions: at the end of a checker's scope everything that was written in it is persistent, and
 * no transaction that began in it is still open. Scopes may lie in each other. */
#include "engine.h"
#include "transactions.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SCOPES = 8, FIRST_ROOM = 256, SETTLE_FROM = 4096 };

struct scope {
    uint32_t site;
    bool is_transaction;
    unsigned depth; /* of transactions, before */
    size_t first;   /* of its writes */
};
struct scopes {
    struct scope *scope;
    size_t count, deepest;
    size_t unseen; /* scopes for which there was no memory */
    struct range *writes;
    size_t written, room;
};

static int by_address(const void *a, const void *b) {
    const struct range *left = a, *right = b;
    return left->low < right->low ? -1 : left->low > right->low;
}

/* Join what the innermost scope wrote more than once: memory then follows the data, not the length of the
 * scope. */
static void settle(struct scopes *scopes) {
    size_t first = scopes->scope[scopes->count - 1].first, last = first;
    struct range *writes = scopes->writes;
    if (scopes->written - first < 2)
        return;
    qsort(writes + first, scopes->written - first, sizeof *writes, by_address);
    for (size_t i = first + 1; i < scopes->written; i++) {
        if (writes[i].low > writes[last].high)
            writes[++last] = writes[i];
        else if (writes[i].high > writes[last].high)
            writes[last].high = writes[i].high;
    }
    scopes->written = last + 1;
}

static void see_write(struct engine *engine, struct scopes *scopes, const struct operation *operation) {
    if (scopes->written == scopes->room) {
        if (scopes->room >= SETTLE_FROM)
            settle(scopes);
        if (2 * scopes->written >= scopes->room) {
            size_t room = scopes->room ? 2 * scopes->room : FIRST_ROOM;
            struct range *more = realloc(scopes->writes, room * sizeof *more);
            if (!more) {
                report(engine, KIND_TOO_MUCH_STATE, &(struct finding_place){.at = operation->site});
                return;
            }
            scopes->writes = more;
            scopes->room = room;
        }
    }
    scopes->writes[scopes->written++] = (struct range){operation->low, operation->high};
}

struct question {
    struct engine *engine;
    uint32_t at;
    bool tell, broken;
};

static bool must_be_persistent(void *with, const struct span *span, uint64_t address) {
    struct question *question = with;
    enum durability durability = question->engine->model->durability(question->engine, span);
    if (durability == IS_PERSISTENT && !(span->flags & BY_LUCK))
        return true;
    question->broken = true;
    if (question->tell) {
        struct finding_place place = {question->at, span->write_site, span->flush_site, address,
                                      (uint64_t)(span->high - span->low)};
        report(question->engine,
               durability == IS_PERSISTENT ? KIND_BY_LUCK
               : durability == LACKS_FLUSH ? KIND_TX_NOT_FLUSHED
                                           : KIND_TX_NOT_FENCED,
               &place);
    }
    return question->tell;
}

static void ask_of_all(struct engine *engine, struct scopes *scopes, struct question *question) {
    for (size_t i = scopes->scope[scopes->count - 1].first; i < scopes->written; i++)
        engine_spans(engine, scopes->writes[i].low, scopes->writes[i].high, must_be_persistent, question);
}

static void end_scope(struct engine *engine, struct scopes *scopes, uint32_t site) {
    struct scope *scope = &scopes->scope[scopes->count - 1];
    struct question question = {.engine = engine, .at = site};
    ask_of_all(engine, scopes, &question);
    if (question.broken) { /* each write is told once */
        settle(scopes);
        question.tell = true;
        ask_of_all(engine, scopes, &question);
    }
    if (scope->is_transaction && engine->transactions.depth > scope->depth)
        transaction_end(engine, site, false);
    if (engine->transactions.depth > scope->depth) {
        struct finding_place place = {.at = site, .write = engine->transactions.begun};
        report(engine, KIND_TX_NOT_ENDED, &place);
    }
    if (--scopes->count == 0)
        scopes->written = 0; /* an outer scope keeps what was written in this one */
}

static bool make_room(struct scopes *scopes) {
    if (scopes->count < scopes->deepest)
        return true;
    size_t deepest = scopes->deepest ? 2 * scopes->deepest : FIRST_SCOPES;
    struct scope *more = scopes->unseen ? NULL : realloc(scopes->scope, deepest * sizeof *more);
    if (!more)
        return false;
    scopes->scope = more;
    scopes->deepest = deepest;
    return true;
}

static void start_scope(struct engine *engine, struct scopes *scopes, const struct operation *operation) {
    if (!make_room(scopes)) {
        report(engine, KIND_TOO_MUCH_STATE, &(struct finding_place){.at = operation->site});
        scopes->unseen++;
        return;
    }
    bool is_transaction = operation->code == PC_TX_SCOPE_START;
    scopes->scope[scopes->count++] =
        (struct scope){operation->site, is_transaction, engine->transactions.depth, scopes->written};
    if (is_transaction)
        transaction_begin(&engine->transactions, operation->site);
}

/* They are never ended. What they leave behind must not make what is tracked later look wrong. */
static void leave_scopes(struct engine *engine, struct scopes *scopes) {
    for (; scopes->count; scopes->count--) {
        const struct scope *scope = &scopes->scope[scopes->count - 1];
        engine->serial++; /* each is counted */
        report(engine, KIND_CHECKER_NOT_ENDED, &(struct finding_place){.at = scope->site});
        if (scope->is_transaction && engine->transactions.depth > scope->depth)
            transaction_end(engine, scope->site, false);
    }
    scopes->written = scopes->unseen = 0;
}

static void see(struct engine *engine, void *room, const struct operation *operation) {
    struct scopes *scopes = room;
    switch (operation->code) {
    case PC_WRITE:
    case PC_WRITE_NT:
        if (scopes->count)
            see_write(engine, scopes, operation);
        break;
    case PC_TX_CHECKER_START:
    case PC_TX_SCOPE_START:
        start_scope(engine, scopes, operation);
        break;
    case PC_TX_CHECKER_END:
        if (scopes->unseen)
            scopes->unseen--;
        else if (scopes->count)
            end_scope(engine, scopes, operation->site);
        else
            report(engine, KIND_CHECKER_NOT_STARTED, &(struct finding_place){.at = operation->site});
        break;
    default: /* the thread ends, its tracking does, or a trace of pmtest.h */
        leave_scopes(engine, scopes);
        break;
    }
}

static void close_scopes(void *room) {
    struct scopes *scopes = room;
    free(scopes->writes);
    free(scopes->scope);
}

const struct checker checker_completion = {
    .name = "completion",
    .room = sizeof(struct scopes),
    .see = see,
    .close = close_scopes,
    .codes = {PC_WRITE, PC_WRITE_NT, PC_TX_CHECKER_START, PC_TX_SCOPE_START, PC_TX_CHECKER_END, PC_END,
              PC_TRACE_END, PC_THREAD_END},
};
