/* A library as PMDK is built: each function of its pool's jumps into the one that does the work, and leaves no frame. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

struct pool {
    void (*persist)(struct pool *pool, const void *address, size_t size);
    void *memory;
};

__attribute__((noinline)) static void write_back(struct pool *pool, const void *address, size_t size) {
    for (uintptr_t line = (uintptr_t)address & ~63ul; line < (uintptr_t)address + size; line += 64)
        _mm_clflush((const void *)line);
    _mm_sfence();
}

/* Its own work, which its user could not change: a line is flushed again and again. */
__attribute__((noinline)) static void log_twice(struct pool *pool, const void *address, size_t size) {
    *(volatile long *)pool->memory = 1;
    pool->persist(pool, pool->memory, 8);
    pool->persist(pool, pool->memory, 8);
    __asm__ volatile("" ::: "memory");
}

void pmemobj_set_pool(struct pool *pool, void *memory) {
    *pool = (struct pool){write_back, memory};
}

void pmemobj_persist(struct pool *pool, const void *address, size_t size) {
    pool->persist(pool, address, size);
}

void pmemobj_tx_commit(struct pool *pool) {
    log_twice(pool, pool->memory, 8);
}
