/* The fixed twin of buggy.cpp: the directory leads to the new segment before keys leave the old one. */
#include "pool.h"

static void insert(Pool &pool, uint64_t key) {
    Segment &segment = pool.of(key);
    int i = 0;
    while (segment.key[i])
        i++;
    segment.key[i] = key;
    persist(&segment.key[i], sizeof key);
    say("inserted %lu", key);
}

static void copy(const Segment &from, Segment &to) {
    for (int i = 0; i < 8; i++)
        if (from.key[i] >> 6 == 3)
            to.key[i] = from.key[i];
    persist(&to, sizeof to);
}

static void remove(Segment &from) {
    for (uint64_t &key : from.key)
        if (key >> 6 == 3)
            key = 0;
    persist(&from, sizeof from);
}

static void split(Pool &pool) {
    copy(pool.segment[0], pool.segment[1]);
    pool.directory[3] = 1;
    persist(&pool.directory[3], sizeof pool.directory[3]);
    remove(pool.segment[0]);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    Pool &pool = *static_cast<Pool *>(pool_open(argv[1], "pool", sizeof(Pool)));
    insert(pool, 0x20);
    insert(pool, 0xc1);
    split(pool);
    insert(pool, 0xc2);
}
