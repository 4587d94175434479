/* The checking engine: the records of one thread go in, in their order; findings come out.
 *
 * The engine keeps the thread's state (shadow memory, clock, pools, what is excluded) from its first record
 * to its last, across traces. What an operation means is said by a model (model_*.c, a small table each);
 * what must hold is said by checkers (checker_*.c, a small file each), which see an operation before it takes
 * effect. */
#ifndef POWERCUT_ENGINE_H
#define POWERCUT_ENGINE_H

#include "../ranges.h"
#include "kinds.h"
#include "powercut.h"
#include "shadow.h"
#include "transactions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time: the number of fences so far in the upper bits, and of writes since the last fence in the lower. */
enum { TIME_WRITE_BITS = 28 };
#define TIME_FENCE   ((uint64_t)1 << TIME_WRITE_BITS)
#define TIME_FOREVER UINT64_MAX

static inline uint64_t epoch_of(uint64_t time) {
    return time >> TIME_WRITE_BITS;
}
static inline uint64_t next_fence(uint64_t time) {
    return (epoch_of(time) + 1) << TIME_WRITE_BITS;
}

/* What an operation does under a model. */
enum effect {
    DOES_NOTHING,
    IS_FOREIGN,     /* the model has no such operation: reported, then nothing */
    WRITES,         /* into a cache, to be flushed */
    WRITES_THROUGH, /* as WRITES, and flushed at once */
    FLUSHES,
    FLUSHES_FREELY, /* what a cache holds is safe anyhow: reported as needless */
    FENCES,         /* a new epoch; what was flushed before is persistent */
    ORDERS,         /* a new epoch, and nothing is persistent by it */
    DRAINS,         /* a new epoch; everything before is persistent */
};

enum durability { IS_PERSISTENT, LACKS_FLUSH, LACKS_FENCE };

struct engine;
struct model {
    const char *name;
    uint8_t effect[PC_OPERATIONS];
    enum durability (*durability)(const struct engine *engine, const struct span *span);
    uint64_t (*end)(const struct engine *engine,
                    const struct span *span); /* what is written from then on persists later */
};
extern const struct model *const models[]; /* ends with NULL */
const struct model *model_of(const char *name);

/* An operation on the way through the engine. */
struct operation {
    enum pc_operation code;
    uint32_t site;
    uint64_t low, high;
};

/* A checker's `see` is called for each operation of its list, before the operation takes effect. It may keep
 * `room` bytes for each thread, zero at first. */
struct checker {
    const char *name;
    size_t room;
    void (*see)(struct engine *engine, void *room, const struct operation *operation);
    void (*close)(void *room);
    enum pc_operation codes[12]; /* ends with 0 */
};
extern const struct checker *const checkers[]; /* ends with NULL */

enum { CHECKERS_MOST = 8, CHECKERS_OF_ONE = 4 };

/* Where findings go. Engines of several threads share one. */
struct finding_place {
    uint32_t at, write, other;
    uint64_t address, size;
};
struct findings;
void report(struct engine *engine, enum kind_number kind, const struct finding_place *place);
void note_page(struct engine *engine, uint64_t page); /* this thread writes there */

struct engine {
    const struct model *model;
    struct findings *findings;
    uint32_t thread;  /* its number among all that are checked */
    uint64_t serial;  /* of the operation, from 1 on */
    uint64_t *told;   /* for each slot of the findings: the last operation that was counted there */
    bool is_blind;    /* a write was not tracked: what was written is not known any more */
    uint64_t clock;   /* now */
    uint64_t drained; /* everything written before is persistent: models that drain */
    struct shadow memory;
    struct ranges pools, excluded;
    struct range pool; /* one of them, in which the last operation was */
    struct transactions transactions;
    struct operation first; /* the first range of an order */
    struct {
        void (*see)(struct engine *engine, void *room, const struct operation *operation);
        void *room;
    } seen_by[PC_OPERATIONS][CHECKERS_OF_ONE + 1]; /* the last one is empty */
    void *rooms[CHECKERS_MOST];
};

struct engine *engine_open(const struct model *model, struct findings *findings, uint32_t thread);
void engine_close(struct engine *engine);

/* One record. */
void engine_take(struct engine *engine, unsigned code, uint32_t site, uint64_t address, uint64_t size);

/* For checkers: walk over the spans of a range. `each` returns false to stop. */
typedef bool (*each_span)(void *with, const struct span *span, uint64_t address);
void engine_spans(struct engine *engine, uint64_t low, uint64_t high, each_span each, void *with);

#endif
