/* The fixed twin of buggy.cpp: directory and depth share a word, so one store changes both. */
#include "pool.h"

static void create(Pool &pool) {
    pool.directory[0] = {{0, 1}};
    persist(&pool.directory[0], sizeof pool.directory[0]);
    Root root = {{1, 1}};
    pool.root.word = root.word;
    persist(&pool.root, sizeof pool.root);
}

static void insert(Pool &pool, uint64_t key) {
    Segment &segment = pool.of(key);
    int i = 0;
    while (segment.key[i])
        i++;
    segment.key[i] = key;
    persist(&segment.key[i], sizeof key);
    say("inserted %lu", key);
}

static void double_directory(Pool &pool) {
    const Directory &small = pool.directory[0];
    Directory &large = pool.directory[1];
    for (int i = 0; i < 4; i++)
        large.segment[i] = small.segment[i / 2];
    persist(&large, sizeof large);
    Root root = {{2, 2}};
    pool.root.word = root.word;
    persist(&pool.root, sizeof pool.root);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    Pool &pool = *static_cast<Pool *>(pool_open(argv[1], "pool", sizeof(Pool)));
    create(pool);
    insert(pool, 0x20);
    insert(pool, 0xc0);
    double_directory(pool);
    insert(pool, 0x60);
}
