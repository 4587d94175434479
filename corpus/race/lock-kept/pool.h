// Accounts in segments, after CCEH: each segment has its lock beside its data. The sum of a segment never
// changes.
#include "../threads.h"

#include <atomic>
#include <thread>
#include <vector>

constexpr int SEGMENTS = 2, ACCOUNTS = 6, SUM = 600, THREADS = 3, MOVES = 30;

struct Segment {
    alignas(LINE) std::atomic<uint64_t> taken;
    uint64_t made;              // 0: the accounts are not yet there
    uint64_t account[ACCOUNTS]; // on the line of the lock: persisted with it
};

struct Pool {
    Segment segment[SEGMENTS];
};

static_assert(sizeof(Segment) == LINE);

inline void acquire(Segment &segment) {
    uint64_t expected = 0;
    while (!segment.taken.compare_exchange_weak(expected, 1, std::memory_order_acquire)) { // LOCK
        expected = 0;
        std::this_thread::yield();
    }
}

inline void release(Segment &segment) {
    segment.taken.store(0, std::memory_order_release);
}
