/* Everything that can be found, in one list: a name, a reason, how bad it is, a sentence, and what to do.
 *
 * In the sentences %a is the checker that fails (or the operation that is wrong by itself), %w the write it
 * is about, %o the other place. The order is part of a channel's format: add at the end. */
#ifndef POWERCUT_KINDS_H
#define POWERCUT_KINDS_H

#include "powercut.h"

struct kind {
    const char *name, *why;
    enum pc_severity severity;
    const char *sentence, *advice;
};

#define KINDS(K)                                                                                             \
    K(NOT_FLUSHED, "not-persistent", "not-flushed", PC_FAIL,                                                 \
      "%a asserts that what %w wrote is persistent, but it has not been flushed.",                           \
      "Flush after the write, and fence before the assertion.")                                              \
    K(NOT_FENCED, "not-persistent", "not-fenced", PC_FAIL,                                                   \
      "%a asserts that what %w wrote is persistent, but no fence followed.",                                 \
      "Fence after the flush, before the assertion.")                                                        \
    K(NOT_ORDERED, "not-ordered", "", PC_FAIL,                                                               \
      "%a asserts that what %w wrote persists before what %o wrote, but nothing guarantees it.",             \
      "Make the first persistent before the second is written.")                                             \
    K(TX_NOT_FLUSHED, "incomplete-transaction", "not-flushed", PC_FAIL,                                      \
      "At the end of the transaction in %a, what %w wrote is not flushed.",                                  \
      "Flush everything the transaction wrote before it ends, or log it so that the library flushes it.")    \
    K(TX_NOT_FENCED, "incomplete-transaction", "not-fenced", PC_FAIL,                                        \
      "At the end of the transaction in %a, what %w wrote is not fenced.",                                   \
      "Fence before the end of the transaction.")                                                            \
    K(TX_NOT_ENDED, "incomplete-transaction", "not-ended", PC_FAIL,                                          \
      "The transaction that %w began is not ended in %a.", "End it on every path.")                          \
    K(NO_BACKUP, "missing-backup", "", PC_FAIL,                                                              \
      "In a transaction, %a writes data that was not added to the log.",                                     \
      "Add it to the log before the write.")                                                                 \
    K(PARTIAL_BACKUP, "missing-backup", "partial", PC_FAIL,                                                  \
      "In a transaction, %a writes data of which %o added only a part to the log.",                          \
      "Add all of it to the log before the write.")                                                          \
    K(CLEAN_WRITEBACK, "unnecessary-writeback", "not-written", PC_WARN,                                      \
      "%a flushes a cache line without a recent write.", "Flush only what was written.")                     \
    K(SECOND_WRITEBACK, "unnecessary-writeback", "flushed-before", PC_WARN,                                  \
      "%a flushes a cache line that has not been written since %o flushed it.", "Flush it once.")            \
    K(FREE_WRITEBACK, "unnecessary-writeback", "cache-survives", PC_WARN,                                    \
      "%a flushes, although caches survive a power cut under this model.",                                   \
      "Skip the flush on such machines.")                                                                    \
    K(SECOND_LOG, "duplicate-log", "", PC_WARN,                                                              \
      "%a adds to the log what %o already added in this transaction.", "Add it once.")                       \
    K(END_WITHOUT_BEGIN, "transaction-misuse", "end-without-begin", PC_FAIL,                                 \
      "%a ends a transaction that was not begun.", "Begin it first, and end it only once.")                  \
    K(ADD_OUTSIDE, "transaction-misuse", "add-outside", PC_FAIL,                                             \
      "%a adds to a log outside any transaction.", "Begin the transaction first.")                           \
    K(BEFORE_INIT, "wrong-use", "before-init", PC_FAIL, "%a comes before pc_init: it is not checked.",       \
      "Call pc_init at the start of the program.")                                                           \
    K(STARTED_TWICE, "wrong-use", "started-twice", PC_FAIL,                                                  \
      "%a starts tracking, but %o has already started it.", "Call pc_end once for each pc_start.")           \
    K(NOT_STARTED, "wrong-use", "end-without-start", PC_FAIL, "%a ends tracking that was not started.",      \
      "Call pc_start once for each pc_end.")                                                                 \
    K(NOT_ENDED, "wrong-use", "start-without-end", PC_FAIL, "The tracking that %a started is never ended.",  \
      "Call pc_end in the same thread.")                                                                     \
    K(CHECKER_NOT_STARTED, "wrong-use", "checker-end-without-start", PC_FAIL,                                \
      "%a ends a transaction checker that was not started.", "Start it before you end it.")                  \
    K(CHECKER_NOT_ENDED, "wrong-use", "checker-start-without-end", PC_FAIL,                                  \
      "The transaction checker that %a started is never ended: nothing was checked.",                        \
      "End each checker that you start.")                                                                    \
    K(ZERO_SIZE, "wrong-use", "zero-size", PC_WARN, "%a has a size of zero: it does nothing.",               \
      "Pass the size of the data.")                                                                          \
    K(HUGE_SIZE, "wrong-use", "huge-size", PC_FAIL, "%a has an impossible size: it is not checked.",         \
      "Look for a negative size.")                                                                           \
    K(OUTSIDE_POOL, "wrong-use", "outside-pool", PC_FAIL,                                                    \
      "%a uses addresses outside every registered pool: they are not checked.",                              \
      "Register the pool, or check the pointer.")                                                            \
    K(FOREIGN, "wrong-use", "foreign-operation", PC_WARN,                                                    \
      "%a uses an operation that this model does not have.",                                                 \
      "Check under the model that the program is written for.")                                              \
    K(SECOND_INIT, "wrong-use", "second-init", PC_WARN, "%a calls pc_init a second time: it does nothing.",  \
      "Call it once, or call pc_exit first.")                                                                \
    K(EXIT_WITHOUT_INIT, "wrong-use", "exit-without-init", PC_WARN, "%a calls pc_exit without pc_init.",     \
      "Call pc_init at the start of the program.")                                                           \
    K(UNKNOWN_VARIABLE, "wrong-use", "unknown-variable", PC_WARN,                                            \
      "%a unregisters a variable that is not registered.", "Register it first, unregister it once.")         \
    K(TOO_MANY_THREADS, "out-of-bounds", "threads", PC_FAIL,                                                 \
      "%a is in a thread without a buffer: it is not checked.", "Track fewer threads at a time.")            \
    K(TOO_MUCH_STATE, "out-of-bounds", "state", PC_FAIL,                                                     \
      "%a writes data when too much is not yet persistent to track more: it is not checked.",                \
      "Make data persistent earlier, or exclude data that need not be.")                                     \
    K(NOT_A_RECORD, "out-of-bounds", "damaged", PC_FAIL,                                                     \
      "The memory that the program shares with the checker was overwritten: what follows is not checked.",   \
      "Look for a stray pointer.")                                                                           \
    K(BY_LUCK, "lucky-writeback", "", PC_WARN,                                                               \
      "%a finds what %w wrote persistent only because %o flushed other data of the same cache line.",        \
      "Flush it itself: fields may move to other lines.")

#define KIND_NUMBER(id, name, why, severity, sentence, advice) KIND_##id,
enum kind_number { KINDS(KIND_NUMBER) KIND_COUNT };

extern const struct kind kinds[KIND_COUNT];

#endif
