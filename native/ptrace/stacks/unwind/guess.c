/* Steps over frames without call frame information: assembler, generated code, Go.
 *
 * Each guess is believed only if what it finds is consistent; a wrong frame is worse than a short stack.
 */
#include "stacks/unwind/walk.h"

/* `mov $15, %eax/%rax; syscall` at the program counter: the return from a signal handler, in C libraries that
 * do not describe it. The kernel has put a struct ucontext at the stack pointer; its registers start 40 bytes
 * in. */
bool unwind_by_sigreturn(struct unwind_walk *w) {
    static const uint8_t long_form[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t short_form[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t order[CFI_REGISTERS] = {8, 9,       10,      11, 12, 13, 14,      15,    5,
                                                 4, CFI_RBP, CFI_RBX, 1,  0,  2,  CFI_RSP, CFI_RA};
    uint8_t code[sizeof long_form];
    uint64_t saved[CFI_REGISTERS], at = w->r.value[CFI_RSP] + 40;
    if (!pc_memory_read(w->memory, w->r.value[CFI_RA], code, sizeof code) ||
        (memcmp(code, long_form, sizeof long_form) != 0 &&
         memcmp(code, short_form, sizeof short_form) != 0) ||
        !pc_memory_read(w->memory, at, saved, sizeof saved))
        return false;
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        unwind_set(&w->r, order[i], saved[i], at + 8 * i);
    cfi_depend(w->memory, &w->r, CFI_RSP);
    cfi_depend(w->memory, &w->r, CFI_RA);
    w->exact = true;
    return true;
}

/* Does a call instruction end at `address`? */
static bool follows_call(struct unwind_walk *w, uint64_t address) {
    uint8_t code[7];
    if (!pc_maps_find(w->maps, address - 1) || !pc_memory_read(w->memory, address - 7, code, sizeof code))
        return false;
    bool relative = code[2] == 0xe8;
    bool by_register = code[5] == 0xff && (code[6] & 0xf8) == 0xd0;
    bool near = code[4] == 0xff && (code[5] & 0xf8) == 0x50;
    bool far = code[1] == 0xff && ((code[2] & 0xf8) == 0x90 || code[2] == 0x15);
    bool plain = code[5] == 0xff && (code[6] & 0xf8) == 0x10;
    return relative || by_register || near || far || plain;
}

/* The function that makes the system call is often a few lines of assembler without a frame: its return
 * address lies on top of the stack. */
bool unwind_by_leaf(struct unwind_walk *w) {
    uint64_t rsp = w->r.value[CFI_RSP], target;
    if (!pc_memory_u64(w->memory, rsp, &target))
        return false;
    pc_reads_add(w->memory->reads, rsp, target);
    if (!follows_call(w, target))
        return false;
    unwind_set(&w->r, CFI_RSP, rsp + 8, CFI_DERIVED);
    unwind_set(&w->r, CFI_RA, target, CFI_DERIVED);
    w->exact = false;
    return true;
}

/* An instruction that takes a word from N bytes above the stack pointer: how long it is, 0 if it is another
 * one. */
static unsigned takes_from_stack(const uint8_t *code, uint8_t operation, uint8_t target, uint64_t *n) {
    if (code[0] != 0x48 || code[1] != operation || code[3] != 0x24)
        return 0;
    *n = code[2] == (target | 0x40) ? code[4] : 0;
    return code[2] == (target | 0x40) ? 5 : code[2] == target ? 4 : 0;
}

/* Go's runtime.asmcgocall runs C on the thread's own stack. Behind its call stands how it gets back: it has
 * kept the goroutine and how deep that is in its stack, of which the goroutine knows the end (`mov G(%rsp),
 * %rdi; mov 8(%rdi), %rsi; sub D(%rsp), %rsi`). There lies where it returns to, and nothing else. */
bool unwind_by_asmcgocall(struct unwind_walk *w) {
    static const uint8_t end_of_stack[] = {0x48, 0x8b, 0x77, 0x08};
    uint8_t code[16];
    uint64_t goroutine, depth, end, target, kept, deep, rsp = w->r.value[CFI_RSP];
    if (!pc_memory_read(w->memory, w->r.value[CFI_RA], code, sizeof code))
        return false;
    unsigned length = takes_from_stack(code, 0x8b, 0x3c, &kept);
    if (!length || memcmp(code + length, end_of_stack, sizeof end_of_stack) != 0 ||
        !takes_from_stack(code + length + sizeof end_of_stack, 0x2b, 0x34, &deep) ||
        !pc_memory_u64(w->memory, rsp + kept, &goroutine) || !pc_memory_u64(w->memory, rsp + deep, &depth) ||
        !pc_memory_u64(w->memory, goroutine + 8, &end) || !pc_memory_u64(w->memory, end - depth, &target))
        return false;
    pc_reads_add(w->memory->reads, rsp + kept, goroutine);
    pc_reads_add(w->memory->reads, rsp + deep, depth);
    pc_reads_add(w->memory->reads, goroutine + 8, end);
    pc_reads_add(w->memory->reads, end - depth, target);
    if (!follows_call(w, target))
        return false;
    unwind_set(&w->r, CFI_RSP, end - depth + 8, CFI_DERIVED);
    unwind_set(&w->r, CFI_RA, target, CFI_DERIVED);
    w->exact = false;
    return true;
}

/* Believed if the frame pointer points a short way up the stack and the word above it is a return address. */
bool unwind_by_frame_pointer(struct unwind_walk *w) {
    uint64_t rbp = w->r.value[CFI_RBP], rsp = w->r.value[CFI_RSP], pair[2];
    cfi_depend(w->memory, &w->r, CFI_RBP);
    if (!(w->r.known >> CFI_RBP & 1) || rbp % 8 != 0 || rbp < rsp || rbp - rsp > (1u << 20))
        return false;
    if (!pc_memory_read(w->memory, rbp, pair, sizeof pair))
        return false;
    pc_reads_add(w->memory->reads, rbp + 8, pair[1]);
    if (!follows_call(w, pair[1]))
        return false;
    w->r.known = 0; /* whatever else the function saved is lost */
    unwind_set(&w->r, CFI_RBP, pair[0], rbp);
    unwind_set(&w->r, CFI_RSP, rbp + 16, CFI_DERIVED);
    unwind_set(&w->r, CFI_RA, pair[1], CFI_DERIVED);
    w->exact = false;
    return true;
}
