/* What becomes durable, by whom, and in which transaction. */
#ifndef POWERCUT_GUARD_UPDATES_H
#define POWERCUT_GUARD_UPDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PC_SPANS_MOST = 256 };

/* A range that the program gave to its transaction, and where. */
struct pc_span {
    uintptr_t low, high;
    const void *site;
};

/* This thread. */
struct pc_self {
    unsigned inside;      /* calls of libpmem that lie in each other: the outermost is logged */
    const void *site;     /* where the program called PMDK, which now does its work */
    uint64_t transaction; /* 0: none */
    unsigned depth;
    unsigned span_count;
    struct pc_span spans[PC_SPANS_MOST];
};
extern _Thread_local struct pc_self pc_self;

/* Bytes at `address` become durable: those at `data`. */
void pc_update(const void *address, const void *data, size_t size, const void *caller);
void pc_fill(const void *address, int byte, size_t size, const void *caller);

#endif
