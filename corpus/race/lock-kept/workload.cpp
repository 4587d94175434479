/* CCEH and P-CLHT: a lock that lies in the pool is persisted with the data beside it, while it is taken.
 *
 * What is wrong is the recovery: check-buggy.cpp leaves the lock as it finds it, and waits for ever. */
#include "pool.h"

static void make(Segment &segment) {
    if (segment.made)
        return;
    for (uint64_t &account : segment.account)
        account = SUM / ACCOUNTS;
    segment.made = 1;
    persist(&segment, sizeof segment);
}

static void move(Segment &segment, int from, int to) {
    acquire(segment);
    // Both changes are in one line, which persists whole or not at all up to some store: from first, so that
    // a power cut in between takes from one account and gives to none; the recovery gives it back.
    segment.account[from]--;
    segment.account[to]++;
    persist(&segment, sizeof segment);
    release(segment);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    Pool &pool = *static_cast<Pool *>(pool_open(argv[1], "pool", sizeof(Pool)));
    for (Segment &segment : pool.segment)
        make(segment);
    std::vector<std::thread> threads;
    for (int number = 0; number < THREADS; number++)
        threads.emplace_back([&pool, number] {
            for (int i = 0; i < MOVES; i++)
                move(pool.segment[i % SEGMENTS], (i + number) % ACCOUNTS, (i + number + 1) % ACCOUNTS);
        });
    for (std::thread &thread : threads)
        thread.join();
}
