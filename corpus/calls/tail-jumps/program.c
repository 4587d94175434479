/* A program that persists some words twice: by a call, by functions of its own that end in a jump, and by one that jumps
 * on a condition. What the library flushes twice in its commit is no mistake of the program's. */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
    void *words[2];
} pool;
void pmemobj_set_pool(struct pool *pool, void *memory);
void pmemobj_persist(struct pool *pool, const void *address, size_t size);
void pmemobj_tx_commit(struct pool *pool);

#define APART __attribute__((noinline, noclone))
APART static void persist(const void *address, size_t size) {
    pmemobj_persist(&pool, address, size);
}
APART static void save(const long *word) {
    persist(word, sizeof *word);
}
APART static void save_if(const long *word, int wanted) {
    if (wanted)
        pmemobj_persist(&pool, word, sizeof *word);
}

int main(int count, char **words) {
    int file = open(words[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0)
        return 1;
    long *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return 1;
    pmemobj_set_pool(&pool, memory);
    for (int i = 0; i < 5; i++) {
        memory[64] = i + 1;
        pmemobj_persist(&pool, memory + 64, 8);
        pmemobj_persist(&pool, memory + 64, 8); /* FAIL redundant-flush, by a call */
        memory[128] = i + 1;
        save(memory + 128);
        save(memory + 128); /* FAIL redundant-flush, by jumps */
        memory[192] = i + 1;
        save_if(memory + 192, count);
        save_if(memory + 192, count); /* FAIL redundant-flush, on a condition */
        pmemobj_tx_commit(&pool);
    }
    return 0;
}
