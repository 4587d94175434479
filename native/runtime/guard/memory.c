#define _GNU_SOURCE
#include "memory.h"

#include "real.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

struct block { /* in front of what is given; 64 bytes, so that what follows is aligned to a line */
    _Alignas(64) struct block *next;
    size_t size;
    void **owner;
    void (*at_end)(void);
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void give_back(void *blocks) {
    for (struct block *block = blocks, *next; block; block = next) {
        next = block->next;
        if (block->at_end)
            block->at_end();
        *block->owner = NULL;
        pc_real_munmap(block, block->size);
    }
}

static void make_key(void) {
    has_key = pthread_key_create(&key, give_back) == 0;
}

void *pc_thread_memory(size_t size, void **owner, void (*at_end)(void)) {
    pthread_once(&once, make_key);
    size += sizeof(struct block);
    struct block *block =
        pc_real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    *block = (struct block){has_key ? pthread_getspecific(key) : NULL, size, owner, at_end};
    if (has_key)
        pthread_setspecific(key, block);
    return *owner = block + 1;
}
