/* Every way to change persistent memory, one a line, and an assertion behind it that must fail there (LOST) or hold
 * (SAFE). Nothing here tells powercut what is written, flushed or fenced. Run as: stores POOL. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <powercut.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

struct pair {
    long key, value;
};
struct large {
    char bytes[600];
};
struct bits {
    unsigned low : 3, high : 9;
};
union place {
    long number;
    int word;
    short half;
    char byte, text[704];
    float single;
    double real;
    long double wide;
    struct pair pair;
    struct large large;
    struct bits bits;
    _Atomic long atomic;
    __m128i vector;
} __attribute__((aligned(64)));

static union place *pool;
static volatile long seven = 7;

#define LOST(size, ...)                                                                                      \
    {                                                                                                        \
        union place *p = pool++;                                                                             \
        __VA_ARGS__;                                                                                         \
        pc_is_persistent(p, size);                                                                           \
    }
#define SAFE(...) LOST(8, __VA_ARGS__)

static void clflush(void *p) { __asm__ volatile("clflush %0" : "+m"(*(volatile char *)p)); }
static void fence(void) { __asm__ volatile("sfence" ::: "memory"); }
static __attribute__((noinline)) void *copy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }

static void stores(void) {
    static struct large from;
    long n = seven, old = 0;
    LOST(8, p->number = n)
    LOST(4, p->word = (int)n)
    LOST(2, p->half = (short)n)
    LOST(1, p->byte = (char)n)
    LOST(4, p->single = (float)n)
    LOST(8, p->real = (double)n)
    LOST(10, p->wide = (long double)n)
    LOST(4, p->bits.high = 5)
    LOST(8, p->number += n)
    LOST(16, p->pair = (struct pair){n, n})
    LOST(600, p->large = from)
    LOST(600, p->large = (struct large){{0}})
    LOST(16, p->vector = _mm_set1_epi64x(n))
    LOST(16, memcpy(p, &from, 16))
    LOST(100, memcpy(p, &from, 100))
    LOST(600, memcpy(p, &from, sizeof from))
    LOST(7, memcpy(p, &from, (size_t)n))
    LOST(7, copy(p, &from, (size_t)n))
    LOST(24, memset(p, 0, 24))
    LOST(7, memset(p, 1, (size_t)n))
    LOST(7, memmove(p, &from, (size_t)n))
    LOST(7, bzero(p, (size_t)n))
    LOST(6, strcpy(p->text, n > 3 ? "seven" : "three"))
    LOST(7, strncpy(p->text, "seven", (size_t)n))
    LOST(8, atomic_store(&p->atomic, n))
    LOST(8, atomic_fetch_add(&p->atomic, n))
    LOST(8, atomic_exchange(&p->atomic, n))
    LOST(8, atomic_compare_exchange_strong(&p->atomic, &old, n))
    LOST(8, for (int i = 0; i < 600; i++) p->text[i] = (char)(i * n))
    LOST(8, __asm__ volatile("movq %1, %0" : "=m"(p->number) : "r"(n)))
    LOST(8, __asm__ volatile("lock; xaddq %1, %0" : "+m"(p->number), "+r"(old)))
    LOST(8, __asm__ volatile("rep; stosb" : "+D"(*(void **)&p), "+c"(*(long *)&n) : "a"(1) : "memory"); p = pool - 1)
    LOST(8, __asm__ volatile("movnti %1, %0" : "=m"(p->number) : "r"(old)))
    LOST(16, _mm_stream_si128(&p->vector, _mm_setzero_si128()))
    LOST(8, p->number = 1; clflush(p); fence(); p->number = 2)
    LOST(8, p->number = 1; clflush(p))
    LOST(8, p->number = 1; fence())
    LOST(8, p->number = 1; clflush((char *)p + 64); fence())
}

static void flushes(void) {
    long old = 1;
    SAFE(p->number = 1; clflush(p); fence())
    SAFE(p->number = 1; _mm_clflush(p); _mm_sfence())
    SAFE(p->number = 1; _mm_clflush(p); _mm_mfence())
    SAFE(p->number = 1; __asm__ volatile(".byte 0x66; clflush %0" : "+m"(p->byte)); fence())
    SAFE(p->number = 1; __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(p->byte)); fence())
    SAFE(p->number = 1; __asm__ volatile(".byte 0x66, 0x0f, 0xae, 0x37" ::"D"(p) : "memory"); fence())
    SAFE(p->number = 1; __asm__ volatile(".byte 0x0f, 0xae, 0x3f; .byte 0x0f, 0xae, 0xf8" ::"D"(p) : "memory"))
    SAFE(p->number = 1; clflush(p); __asm__ volatile("lock; addl $0, (%%rsp)" ::: "memory"))
    SAFE(p->number = 1; clflush(p); atomic_exchange((_Atomic long *)&old, 2))
    SAFE(_mm_stream_si64((long long *)p, 3); _mm_sfence())
    SAFE(p->number = 1; msync((void *)((unsigned long)p & ~4095ul), 4096, MS_SYNC))
    SAFE(old = 5; atomic_compare_exchange_strong(&p->atomic, &old, 6)) /* it does not succeed: nothing is written */
    SAFE(char on_stack[64]; copy(on_stack, p, sizeof on_stack); seven = on_stack[3] ? 7 : 7)
}

int main(int count, char **words) {
    int file = count > 1 ? open(words[1], O_RDWR | O_CREAT, 0644) : -1;
    if (file < 0 || ftruncate(file, 1 << 20) != 0)
        return 2;
    pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    stores();
    seven = 7;
    flushes();
    puts("done");
    return 0;
}
