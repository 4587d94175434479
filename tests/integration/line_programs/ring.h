/* A ring of bytes, in a header: everything here is inlined into whoever uses it. */
#ifndef RING_H
#define RING_H
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ring {
    size_t head, tail, size;
    char *bytes;
};

static inline void ring_check(const struct ring *ring) {
    if (ring->tail > ring->head)
        abort();
}

static inline size_t ring_room(const struct ring *ring) {
    ring_check(ring);
    return ring->size - (ring->head - ring->tail);
}

static inline size_t ring_put(struct ring *ring, const void *data, size_t length) {
    size_t room = ring_room(ring), whole = length < room ? length : room;
    for (size_t i = 0; i < whole; i++)
        ring->bytes[(ring->head + i) % ring->size] = ((const char *)data)[i];
    ring->head += whole;
    ring_check(ring);
    return whole;
}

static inline __attribute__((always_inline)) ssize_t ring_flush(struct ring *ring, int file) {
    ssize_t written = 0;
    while (ring->tail < ring->head) {
        ssize_t one = write(file, ring->bytes + ring->tail % ring->size, 1);
        if (one <= 0) {
            fsync(file);
            break;
        }
        ring->tail += (size_t)one;
        written += one;
    }
    return fsync(file) == 0 ? written : -1;
}
#endif
