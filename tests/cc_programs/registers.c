/* A record leaves every register and every flag as it was: at its first time, when everything is looked up, and later.
 * Ends with 0 if so. Run as: registers POOL. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GENERAL = 15, VECTORS = 16 };
struct state {
    uint64_t flags, general[GENERAL]; /* all but %rsp */
    unsigned char vector[VECTORS][16];
};

/* Loads a state (but %rdi: where to store), does one instruction, and saves the state. */
#define AROUND(name, instruction)                                                                            \
    __attribute__((noinline)) static void name(struct state *s, void *target) {                              \
        s->general[5] = (uint64_t)target;                                                                    \
        __asm__ volatile(                                                                                    \
            "pushq %%rbx\n\tpushq %%rbp\n\tpushq %%r12\n\tpushq %%r13\n\tpushq %%r14\n\tpushq %%r15\n\t"     \
            "pushq %[s]\n\t"                                                                                 \
            "movq %[s], %%r15\n\t"                                                                           \
            "pushq 0(%%r15)\n\tpopfq\n\t" VECTOR_MOVES("movups ", "(%%r15), %%xmm", "")                      \
            "movq 8(%%r15), %%rax\n\tmovq 16(%%r15), %%rbx\n\tmovq 24(%%r15), %%rcx\n\t"                     \
            "movq 32(%%r15), %%rdx\n\tmovq 40(%%r15), %%rsi\n\tmovq 48(%%r15), %%rdi\n\t"                    \
            "movq 56(%%r15), %%rbp\n\tmovq 64(%%r15), %%r8\n\tmovq 72(%%r15), %%r9\n\t"                      \
            "movq 80(%%r15), %%r10\n\tmovq 88(%%r15), %%r11\n\tmovq 96(%%r15), %%r12\n\t"                    \
            "movq 104(%%r15), %%r13\n\tmovq 112(%%r15), %%r14\n\tmovq 120(%%r15), %%r15\n\t" instruction     \
            "\n\tpushfq\n\tpushq %%r15\n\tmovq 16(%%rsp), %%r15\n\t"                                         \
            "movq %%rax, 8(%%r15)\n\tmovq %%rbx, 16(%%r15)\n\tmovq %%rcx, 24(%%r15)\n\t"                     \
            "movq %%rdx, 32(%%r15)\n\tmovq %%rsi, 40(%%r15)\n\tmovq %%rdi, 48(%%r15)\n\t"                    \
            "movq %%rbp, 56(%%r15)\n\tmovq %%r8, 64(%%r15)\n\tmovq %%r9, 72(%%r15)\n\t"                      \
            "movq %%r10, 80(%%r15)\n\tmovq %%r11, 88(%%r15)\n\tmovq %%r12, 96(%%r15)\n\t"                    \
            "movq %%r13, 104(%%r15)\n\tmovq %%r14, 112(%%r15)\n\tpopq 120(%%r15)\n\tpopq 0(%%r15)\n\t"       \
            VECTOR_SAVES                                                                                     \
            "addq $8, %%rsp\n\tpopq %%r15\n\tpopq %%r14\n\tpopq %%r13\n\tpopq %%r12\n\tpopq %%rbp\n\t"       \
            "popq %%rbx\n\t"                                                                                 \
            : : [s] "D"(s)                                                                                   \
            : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2",  \
              "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",    \
              "xmm14", "xmm15");                                                                             \
    }
#define LOAD(i, at)                 "movups " at "(%%r15), %%xmm" i "\n\t"
#define SAVE(i, at)                 "movups %%xmm" i ", " at "(%%r15)\n\t"
#define EACH(M)                                                                                              \
    M("0", "128") M("1", "144") M("2", "160") M("3", "176") M("4", "192") M("5", "208") M("6", "224")        \
    M("7", "240") M("8", "256") M("9", "272") M("10", "288") M("11", "304") M("12", "320") M("13", "336")    \
    M("14", "352") M("15", "368")
#define VECTOR_MOVES(a, b, c)       EACH(LOAD)
#define VECTOR_SAVES                EACH(SAVE)

AROUND(around_store, "movq %%rax, (%%rdi)")
AROUND(around_flush, "clflush (%%rdi)")
AROUND(around_fence, "sfence")
AROUND(around_nt, "movnti %%rdx, 8(%%rdi)")

static unsigned compare(void (*around)(struct state *, void *), void *target, uint64_t flags) {
    struct state before, after;
    memset(&before, 0, sizeof before);
    before.flags = flags | 2;
    for (unsigned i = 0; i < GENERAL; i++)
        before.general[i] = 0x1111111111111111u * (i + 1);
    for (unsigned i = 0; i < VECTORS; i++)
        memset(before.vector[i], (int)(i + 101), sizeof before.vector[i]);
    after = before;
    around(&after, target);
    before.general[5] = (uint64_t)target;
    after.flags &= 0x8d5; /* overflow, sign, zero, adjust, parity, carry */
    before.flags &= 0x8d5;
    return memcmp(&before, &after, sizeof before) != 0;
}

int main(int count, char **words) {
    void (*const all[])(struct state *, void *) = {around_store, around_flush, around_fence, around_nt};
    int file = count > 1 ? open(words[1], O_RDWR | O_CREAT, 0644) : -1;
    if (file < 0 || ftruncate(file, 1 << 16) != 0)
        return 2;
    char *pool = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    unsigned wrong = 0;
    for (unsigned which = 0; which < 4; which++)
        for (unsigned bits = 0; bits < 64; bits++) {
            uint64_t flags = (bits & 1) | (bits & 2) << 1 | (bits & 4) << 2 | (bits & 8) << 3 | (bits & 16) << 3 |
                             (uint64_t)(bits & 32) << 6;
            wrong += compare(all[which], pool + 64 * bits, flags);
        }
    if (wrong)
        printf("%u of 256 differ\n", wrong);
    return wrong != 0;
}
