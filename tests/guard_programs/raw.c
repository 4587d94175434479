/* A service that maps its pool itself and makes data durable by instructions of its own, for tests of the guard. To be
 * built by `powercut cc`.
 *
 *   raw POOL rounds N THREADS   each thread does N rounds
 *   raw POOL fault              the first time sets a flag, does some rounds and dies; as long as the flag is set, it dies
 *                               at its start
 *   raw POOL kill N             does N rounds, and is killed right behind a fence
 *   raw POOL mixed              changes a word to and fro, by flushes and by msync
 *   raw POOL count              prints what the threads have counted
 *
 * The flag is in the same cache line as the counters. */
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_MOST 4
#define LINE         64
#define TEXT         256

struct pool {
    uint64_t magic;
    volatile uint64_t fault;
    uint64_t done[THREADS_MOST];
    uint64_t pad[2];
    struct lane {
        char text[TEXT];
        long long streamed[LINE / 8];
        _Atomic uint64_t swapped;
        char rest[LINE - 8];
    } lanes[THREADS_MOST];
};

static struct pool *pool;
static unsigned rounds;

static void flush(const volatile void *address, size_t size) {
    for (uintptr_t at = (uintptr_t)address & ~(uintptr_t)(LINE - 1); at < (uintptr_t)address + size; at += LINE)
        _mm_clflush((const void *)at); /* SITE: flush */
}

static void one_round(unsigned number) {
    struct lane *lane = &pool->lanes[number];
    memset(lane->text, 'a' + (int)(pool->done[number] % 26), sizeof lane->text);
    flush(lane->text, sizeof lane->text);
    for (unsigned i = 0; i < LINE / 8; i++)
        _mm_stream_si64(&lane->streamed[i], (long long)(pool->done[number] + i)); /* SITE: stream */
    _mm_sfence();
    pool->done[number]++;
    flush(&pool->done[number], sizeof pool->done[number]);
    _mm_sfence();
    lane->swapped = pool->done[number];
    flush(&lane->swapped, sizeof lane->swapped);
    atomic_fetch_add((_Atomic int *)&(int){0}, 1); /* a fence, too */
}

static void *work(void *number) {
    for (unsigned i = 0; i < rounds; i++)
        one_round((unsigned)(uintptr_t)number);
    return NULL;
}

static void __attribute__((noinline)) check_flag(void) {
    if (pool->fault)
        *(volatile int *)(uintptr_t)pool->fault = 0;
}

static void set_flag(void) {
    pool->fault = 8;
    _mm_clflush((const void *)&pool->fault); /* SITE: bad */
    _mm_sfence();
    for (unsigned i = 0; i < 20; i++)
        one_round(i % THREADS_MOST);
    check_flag();
}

static void change_to_and_fro(void) {
    for (uint64_t i = 0; i < 7; i++) {
        pool->magic = i % 2;
        if (i % 2)
            msync(pool, LINE, MS_SYNC);
        else
            flush(&pool->magic, sizeof pool->magic);
        _mm_sfence();
    }
}

static void run_threads(unsigned count) {
    pthread_t threads[THREADS_MOST];
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    int file = argc > 2 ? open(argv[1], O_RDWR) : -1;
    pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || pool == MAP_FAILED)
        return 9;
    check_flag();
    if (strcmp(argv[2], "rounds") == 0) {
        rounds = (unsigned)atoi(argv[3]);
        run_threads((unsigned)atoi(argv[4]));
    } else if (strcmp(argv[2], "fault") == 0) {
        set_flag();
    } else if (strcmp(argv[2], "mixed") == 0) {
        change_to_and_fro();
    } else if (strcmp(argv[2], "kill") == 0) {
        rounds = (unsigned)atoi(argv[3]);
        work(NULL);
        raise(SIGKILL);
    } else if (strcmp(argv[2], "count") == 0) {
        for (unsigned i = 0; i < THREADS_MOST; i++)
            printf("%llu\n", (unsigned long long)pool->done[i]);
    }
    return 0;
}
