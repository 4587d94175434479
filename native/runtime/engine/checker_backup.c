/* Transactions and their logs: what is written in one must have been added to its log before, all of it; what
 * was added is not added again; and begin, add and end come in that order.
 *
 * The log is a second shadow memory, which the end of the outermost transaction empties at once. */
#include "engine.h"
#include "transactions.h"

static bool never(const void *with, const struct page *page) {
    return false;
}

static void add(struct engine *engine, struct transactions *transactions, const struct operation *operation) {
    uint64_t low = operation->low;
    while (low < operation->high) {
        uint64_t start = low & ~(uint64_t)(SHADOW_PAGE - 1), end = start + SHADOW_PAGE;
        unsigned to = operation->high < end ? (unsigned)(operation->high - start) : SHADOW_PAGE;
        struct page *page = shadow_make(&transactions->log, start / SHADOW_PAGE, never, NULL);
        struct span *span = page ? page_set(page, (unsigned)(low - start), to) : NULL;
        if (!span) {
            report(engine, KIND_TOO_MUCH_STATE,
                   &(struct finding_place){.at = operation->site, .address = low});
            transactions->is_full = true;
            return;
        }
        span->write_site = operation->site;
        span->flags = operation->code == PC_TX_ALLOC ? IS_NEW : 0;
        low = end;
    }
}

/* How many bytes of a range are in the log, and where from. */
struct cover {
    uint64_t bytes, logged; /* logged: without what is new */
    uint32_t site, logged_by;
    uint64_t logged_at;
};

static struct cover cover_of(struct shadow *log, uint64_t low, uint64_t high) {
    struct cover cover = {0};
    struct walk walk = walk_over(log, low, high);
    unsigned from, to;
    for (struct page *page; (page = walk_next(&walk, &from, &to));) {
        for (unsigned i = page_first(page, from); i < page->count && page->spans[i].low < to; i++) {
            const struct span *span = &page->spans[i];
            unsigned first = span->low > from ? span->low : from, last = span->high < to ? span->high : to;
            cover.bytes += last - first;
            cover.site = span->write_site;
            if (!(span->flags & IS_NEW) && !cover.logged) {
                cover.logged_by = span->write_site;
                cover.logged_at = page->number * SHADOW_PAGE + first;
            }
            cover.logged += span->flags & IS_NEW ? 0 : last - first;
        }
    }
    return cover;
}

static void see_write(struct engine *engine, struct transactions *transactions,
                      const struct operation *operation) {
    if (shadow_covering(&transactions->log, operation->low, operation->high))
        return;
    struct cover cover = cover_of(&transactions->log, operation->low, operation->high);
    uint64_t size = operation->high - operation->low;
    if (cover.bytes == size || transactions->is_full)
        return;
    struct finding_place place = {operation->site, operation->site, cover.site, operation->low, size};
    report(engine, cover.bytes ? KIND_PARTIAL_BACKUP : KIND_NO_BACKUP, &place);
}

static void see_add(struct engine *engine, struct transactions *transactions,
                    const struct operation *operation) {
    if (!transactions->depth && operation->code == PC_TX_ADD_IF)
        return;
    if (!transactions->depth) {
        report(engine, KIND_ADD_OUTSIDE,
               &(struct finding_place){.at = operation->site,
                                       .address = operation->low,
                                       .size = operation->high - operation->low});
        return;
    }
    struct cover cover = cover_of(&transactions->log, operation->low, operation->high);
    if (cover.logged && operation->code != PC_TX_ALLOC) {
        struct finding_place place = {operation->site, 0, cover.logged_by, cover.logged_at, cover.logged};
        report(engine, KIND_SECOND_LOG, &place);
    }
    add(engine, transactions, operation);
}

void transaction_begin(struct transactions *transactions, uint32_t site) {
    if (transactions->depth++ == 0)
        transactions->begun = site;
}

void transaction_end(struct engine *engine, uint32_t site, bool of_all) {
    struct transactions *transactions = &engine->transactions;
    if (!transactions->depth)
        report(engine, KIND_END_WITHOUT_BEGIN, &(struct finding_place){.at = site});
    else
        transactions->depth = of_all ? 0 : transactions->depth - 1;
    if (!transactions->depth) {
        shadow_empty(&transactions->log);
        transactions->is_full = false;
    }
}

static void see(struct engine *engine, void *room, const struct operation *operation) {
    struct transactions *transactions = &engine->transactions;
    switch (operation->code) {
    case PC_WRITE:
    case PC_WRITE_NT:
        if (transactions->depth)
            see_write(engine, transactions, operation);
        break;
    case PC_TX_ADD:
    case PC_TX_ADD_IF:
    case PC_TX_ALLOC:
        see_add(engine, transactions, operation);
        break;
    case PC_TX_BEGIN:
        transaction_begin(transactions, operation->site);
        break;
    case PC_THREAD_END:
        if (transactions->depth)
            report(engine, KIND_TX_NOT_ENDED,
                   &(struct finding_place){.at = operation->site, .write = transactions->begun});
        break;
    default:
        transaction_end(engine, operation->site, operation->code == PC_TX_ABORT);
        break;
    }
}

const struct checker checker_backup = {
    .name = "backup",
    .see = see,
    .codes = {PC_WRITE, PC_WRITE_NT, PC_TX_ADD, PC_TX_ADD_IF, PC_TX_ALLOC, PC_TX_BEGIN, PC_TX_END,
              PC_TX_ABORT, PC_THREAD_END},
};
