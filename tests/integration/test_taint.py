"""Taint: what each store of a program depends on, exactly, for each family of instructions.

Before: a pool whose first 64 words are labelled 1 to 64. After: every form below has stored what it should, with just
these labels; and a long random program has, in each store and in every register and cell at its end, the labels that a
small interpreter gives it, which knows nothing of Valgrind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .memory_kit import needs_tool
from .taint_kit import PAGE, Stored, make_pool, run
from .taint_random import RandomProgram
from .tracer_kit import compile_c

CPU = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
pytestmark = needs_tool

SLOT = 256  # bytes of the pool for each form
NEW_BLOCK = "lea 9f(%rip), %r11; jmp *%r11; 9:"  # Valgrind does not look behind an indirect jump


def stored(offset: int, *value: int, where: tuple[int, ...] = ()) -> Stored:
    return Stored(offset, frozenset(value), frozenset(where))


# Each form runs with rsi = the labelled words, which hold 0, 1, 2, ...; rdi = its own zeroed bytes of the pool, rbx =
# zeroed memory of no file, and all other registers 0.
FORMS: dict[str, list[Stored]] = {
    # moves
    "mov (%rsi), %rax; mov %rax, (%rdi)": [stored(0, 1)],
    "mov 8(%rsi), %eax; mov %eax, (%rdi)": [stored(0, 2)],
    "mov 3(%rsi), %al; mov %al, 1(%rdi)": [stored(1, 1)],
    "mov 4(%rsi), %rax; mov %rax, (%rdi)": [stored(0, 1, 2)],
    "movzwl 14(%rsi), %eax; mov %rax, (%rdi)": [stored(0, 2)],
    "movsbq 15(%rsi), %rax; mov %rax, (%rdi)": [stored(0, 2)],
    "movq $7, (%rdi)": [stored(0)],
    "mov (%rsi), %rax; mov %rax, (%rdi); movq $0, (%rdi); mov (%rdi), %rcx; mov %rcx, 8(%rdi)": [
        *(stored(0, 1), stored(0), stored(8))
    ],
    "mov (%rsi), %rax; mov $5, %eax; mov %rax, (%rdi)": [stored(0)],
    "mov (%rsi), %rax; mov %rax, %rcx; mov %rcx, (%rdi)": [stored(0, 1)],
    "movbe 8(%rsi), %rax; bswap %rax; mov %rax, (%rdi)": [stored(0, 2)],
    # parts of registers
    "mov (%rsi), %rax; mov $0, %al; mov %rax, (%rdi)": [stored(0, 1)],
    "mov (%rsi), %rax; mov $0, %al; mov %al, (%rdi)": [stored(0)],
    f"mov (%rsi), %rax; mov $0, %al; {NEW_BLOCK} mov %al, (%rdi)": [stored(0)],
    f"mov (%rsi), %rax; mov 8(%rsi), %al; {NEW_BLOCK} mov %al, (%rdi); mov %rax, 8(%rdi)": [
        *(stored(0, 2), stored(8, 1, 2))
    ],
    f"mov (%rsi), %rax; mov 8(%rsi), %ah; {NEW_BLOCK} mov %al, (%rdi)": [stored(0, 1, 2)],
    f"mov (%rsi), %rax; mov 8(%rsi), %ax; {NEW_BLOCK} mov %al, (%rdi)": [stored(0, 2)],
    f"mov (%rsi), %rax; {NEW_BLOCK} mov 8(%rsi), %eax; {NEW_BLOCK} mov %rax, (%rdi)": [stored(0, 2)],
    # arithmetic
    "mov (%rsi), %rax; add 8(%rsi), %rax; mov %rax, (%rdi)": [stored(0, 1, 2)],
    "mov (%rsi), %rax; mov 8(%rsi), %rcx; lea 4(%rax,%rcx,2), %rdx; mov %rdx, (%rdi)": [stored(0, 1, 2)],
    "mov (%rsi), %rax; add %rax, (%rdi)": [stored(0, 1)],
    "mov (%rsi), %rax; add %rax, %rax; inc %rax; neg %rax; not %rax; mov %rax, (%rdi)": [stored(0, 1)],
    "mov 8(%rsi), %rax; mov 16(%rsi), %rcx; imul %rcx, %rax; mov %rax, (%rdi)": [stored(0, 2, 3)],
    "mov 8(%rsi), %rax; mulq 16(%rsi); mov %rdx, (%rdi)": [stored(0, 2, 3)],
    "mov 8(%rsi), %rax; divq 16(%rsi); mov %rax, (%rdi); mov %rdx, 8(%rdi)": [stored(0, 2, 3), stored(8, 2, 3)],
    "mov 8(%rsi), %rax; mov 16(%rsi), %cl; shl %cl, %rax; mov %rax, (%rdi)": [stored(0, 2, 3)],
    "mov 8(%rsi), %rax; shl $3, %rax; ror $9, %rax; mov %rax, (%rdi)": [stored(0, 2)],
    "mov 8(%rsi), %rax; bsf %rax, %rcx; mov %rcx, (%rdi)": [stored(0, 2)],
    "mov 8(%rsi), %rax; popcnt %rax, %rcx; mov %rcx, (%rdi)": [stored(0, 2)],
    "mov (%rsi), %rax; add 8(%rsi), %rax; add 16(%rsi), %rax; add 24(%rsi), %rax; mov %rax, (%rdi)": [
        stored(0, 1, 2, 3, 4)
    ],
    "crc32q 8(%rsi), %rax; mov %rax, (%rdi)": [stored(0, 2)],
    # what clears
    "mov (%rsi), %rax; xor %rax, %rax; mov %rax, (%rdi)": [stored(0)],
    "mov (%rsi), %rax; sub %eax, %eax; mov %rax, (%rdi)": [stored(0)],
    "movups (%rsi), %xmm0; pxor %xmm0, %xmm0; movups %xmm0, (%rdi)": [stored(0)],
    "vmovdqu (%rsi), %ymm0; vpxor %ymm0, %ymm0, %ymm0; vmovdqu %ymm0, (%rdi)": [stored(0)],
    # conditions
    "cmpq $0, 8(%rsi); setne %al; mov %al, (%rdi)": [stored(0, 2)],
    f"cmpq $0, 8(%rsi); {NEW_BLOCK} setne %al; mov %al, (%rdi)": [stored(0, 2)],
    "mov 24(%rsi), %rcx; cmpq $1, 8(%rsi); cmove 16(%rsi), %rcx; mov %rcx, (%rdi)": [stored(0, 2, 3)],
    "mov 24(%rsi), %rcx; cmpq $7, 8(%rsi); cmove 16(%rsi), %rcx; mov %rcx, (%rdi)": [stored(0, 2, 4)],
    "cmpq $7, 8(%rsi); je 1f; movq $1, (%rdi); 1:": [stored(0)],
    "mov 8(%rsi), %rax; add $-1, %rax; adc $0, %rcx; mov %rcx, (%rdi)": [stored(0, 2)],
    f"mov 8(%rsi), %rax; add $-1, %rax; {NEW_BLOCK} inc %rdx; {NEW_BLOCK} adc $0, %rcx; mov %rcx, (%rdi)": [
        stored(0, 2)
    ],
    # addresses
    "mov 16(%rsi), %rax; mov (%rbx,%rax,8), %rcx; mov %rcx, (%rdi)": [stored(0, 3)],
    "mov 16(%rsi), %rax; mov (%rsi,%rax,8), %rcx; mov %rcx, (%rdi)": [stored(0, 3)],
    "mov 16(%rsi), %rax; mov 8(%rsi,%rax,8), %rcx; mov %rcx, (%rdi)": [stored(0, 3, 4)],
    "mov 16(%rsi), %rax; movq $1, (%rdi,%rax,8)": [stored(16, where=(3,))],
    "mov 16(%rsi), %rax; mov 8(%rsi), %rcx; mov %rcx, (%rdi,%rax,8)": [stored(16, 2, where=(3,))],
    "mov 16(%rsi), %rax; movq $1, (%rdi,%rax,8); mov 16(%rdi), %rcx; mov %rcx, (%rdi)": [
        *(stored(16, where=(3,)), stored(0))
    ],
    "mov (%rsi), %rax; lea 1f(%rip), %rcx; add %rax, %rcx; jmp *%rcx; 1: movq $1, (%rdi)": [stored(0)],
    # through the stack, through other memory, through the pool
    "push (%rsi); push 8(%rsi); pop %rax; pop %rcx; mov %rax, (%rdi); mov %rcx, 8(%rdi)": [stored(0, 2), stored(8, 1)],
    "mov (%rsi), %rax; mov %rax, 8(%rbx); xor %eax, %eax; mov 8(%rbx), %rcx; mov %rcx, (%rdi)": [stored(0, 1)],
    "mov (%rsi), %rax; mov %eax, 8(%rbx); mov 12(%rbx), %ecx; mov %ecx, (%rdi)": [stored(0)],
    "mov (%rsi), %rax; mov %al, 11(%rbx); mov 8(%rbx), %rcx; mov %rcx, (%rdi)": [stored(0, 1)],
    "mov (%rsi), %rax; mov %rax, 60(%rbx); mov 64(%rbx), %cl; mov %cl, (%rdi); mov 68(%rbx), %cl; mov %cl, 1(%rdi)": [
        *(stored(0, 1), stored(1))
    ],
    "mov (%rsi), %rax; mov %rax, (%rdi); mov (%rdi), %rcx; mov %rcx, 8(%rdi)": [stored(0, 1), stored(8, 1)],
    "movq $1, (%rdi); movq $3, 504(%rsi); mov 504(%rsi), %rax; mov %rax, (%rdi)": [
        *(stored(0), stored(504), stored(0))
    ],
    "call 1f; jmp 2f; 1: mov (%rsi), %rax; ret; 2: mov %rax, (%rdi)": [stored(0, 1)],
    # exchanges
    "mov (%rsi), %rax; xchg %rax, (%rdi); mov %rax, 8(%rdi)": [stored(0, 1), stored(8)],
    "mov (%rsi), %rax; mov 8(%rsi), %rcx; xchg %rax, %rcx; mov %rax, (%rdi)": [stored(0, 2)],
    "mov (%rsi), %rax; lock xadd %rax, (%rdi); mov %rax, 8(%rdi)": [stored(0, 1), stored(8)],
    "mov 8(%rsi), %rax; mov %rax, (%rdi); mov (%rsi), %rax; lock xadd %rax, (%rdi); mov %rax, 8(%rdi)": [
        *(stored(0, 2), stored(0, 1, 2), stored(8, 2))
    ],
    "mov (%rsi), %rax; lock add %rax, (%rdi)": [stored(0, 1)],
    "mov (%rsi), %rcx; lock cmpxchg %rcx, (%rdi)": [stored(0, 1)],
    "mov 8(%rsi), %rcx; mov %rcx, (%rdi); lock cmpxchg %rdx, (%rdi); mov %rax, 8(%rdi)": [stored(0, 2), stored(8, 2)],
    "mov 16(%rsi), %rcx; mov $7, %eax; cmpxchg %rcx, (%rdi); mov %rax, 8(%rdi)": [stored(0), stored(8)],
    "mov %rbx, %r8; mov 8(%rsi), %rbx; mov 16(%rsi), %rcx; lock cmpxchg16b (%rdi); mov (%rdi), %rax; "
    "mov %rax, 16(%rdi)": [stored(0, 2, 3), stored(16, 2)],
    # string operations
    "movsq": [stored(0, 1)],
    "mov $3, %ecx; rep movsq": [stored(0, 1), stored(8, 2), stored(16, 3)],
    "mov $9, %ecx; rep movsb": [*(stored(i, 1) for i in range(8)), stored(8, 2)],
    "lodsq; mov %rax, (%rdi); lodsq; stosq": [stored(0, 1), stored(0, 2)],
    # wide registers
    "movups (%rsi), %xmm0; movups %xmm0, (%rdi); mov (%rdi), %rax; mov %rax, 16(%rdi)": [
        stored(0, 1, 2),
        stored(16, 1),
    ],
    "movups (%rsi), %xmm0; movhps %xmm0, (%rdi); movlps %xmm0, 8(%rdi)": [stored(0, 2), stored(8, 1)],
    "vmovdqu (%rsi), %ymm0; vmovdqu %ymm0, (%rdi); mov 16(%rdi), %rax; mov %rax, 32(%rdi)": [
        *(stored(0, 1, 2, 3, 4), stored(32, 3))
    ],
    f"vmovdqu (%rsi), %ymm0; {NEW_BLOCK} vextracti128 $1, %ymm0, (%rdi); mov 8(%rdi), %rax; mov %rax, 16(%rdi)": [
        *(stored(0, 3, 4), stored(16, 4))
    ],
    "movq (%rsi), %xmm0; pinsrq $1, 8(%rsi), %xmm0; pextrq $1, %xmm0, (%rdi)": [stored(0, 2)],
    "movups (%rsi), %xmm0; movups 16(%rsi), %xmm1; punpcklqdq %xmm1, %xmm0; movhps %xmm0, (%rdi)": [stored(0, 3)],
    "movups (%rsi), %xmm0; movups 16(%rsi), %xmm1; paddq %xmm1, %xmm0; movlps %xmm0, (%rdi)": [stored(0, 1, 3)],
    "movups (%rsi), %xmm0; addsd 16(%rsi), %xmm0; movsd %xmm0, (%rdi); movhps %xmm0, 8(%rdi)": [
        *(stored(0, 1, 3), stored(8, 2))
    ],
    "cvtsi2sdq 8(%rsi), %xmm0; mulsd %xmm0, %xmm0; cvttsd2si %xmm0, %rax; mov %rax, (%rdi)": [stored(0, 2)],
    f"movss 8(%rsi), %xmm1; movss %xmm1, %xmm0; {NEW_BLOCK} movss %xmm0, (%rdi)": [stored(0, 2)],
    f"movups (%rsi), %xmm0; cvtsi2ss %eax, %xmm0; {NEW_BLOCK} movss %xmm0, (%rdi); movsd %xmm0, 8(%rdi)": [
        *(stored(0), stored(8, 1))
    ],
    "movups 8(%rsi), %xmm0; pcmpeqb %xmm1, %xmm0; pmovmskb %xmm0, %eax; mov %eax, (%rdi)": [stored(0, 2, 3)],
    "movups (%rsi), %xmm0; movups 16(%rsi), %xmm1; pcmpistri $0, %xmm0, %xmm1; mov %ecx, (%rdi)": [
        stored(0, 1, 2, 3, 4)
    ],
    "movups (%rsi), %xmm0; movups 16(%rsi), %xmm1; aesenc %xmm0, %xmm1; movlps %xmm1, (%rdi)": [stored(0, 1, 2, 3, 4)],
    "mov (%rsi), %rax; movnti %rax, (%rdi)": [stored(0, 1)],
    # x87
    "fldl (%rsi); fstpl (%rdi)": [stored(0, 1)],
    "fildll 8(%rsi); fildll 16(%rsi); faddp; fistpll (%rdi)": [stored(0, 2, 3)],
    "fildll 8(%rsi); fildll 16(%rsi); fxch; fistpll (%rdi); fistpll 8(%rdi)": [stored(0, 2), stored(8, 3)],
    "fldt (%rsi); fstpt (%rdi)": [stored(0, 1, 2)],
    "movq 8(%rsi), %mm0; movq %mm0, (%rdi); emms": [stored(0, 2)],
}
NO_STACK = '.section .note.GNU-stack,""\n'
NEEDS = {"movbe": "movbe", "ymm": "avx2", "crc32": "sse4_2", "pcmpistri": "sse4_2", "aesenc": "aes", "popcnt": "popcnt"}


def forms() -> list[str]:
    """Those that this processor has."""
    return [form for form in FORMS if all(feature in CPU for word, feature in NEEDS.items() if word in form)]


def assembly(chosen: list[str]) -> str:
    """A function for each form, between saving registers and clearing them, and a table of them all."""
    clear = "".join(f"xor %{r}, %{r};" for r in ("eax", "ecx", "edx", "ebp", "r8d", "r9d", "r10d"))
    saved = ("rbx", "rbp", "r12", "r13", "r14", "r15")
    functions = "".join(
        f"form_{i}:\n{''.join(f'push %{r};' for r in saved)}\nmov %rdx, %rbx; vzeroall; {clear}\n{form}\n"
        f"{''.join(f'pop %{r};' for r in reversed(saved))} ret\n"
        for i, form in enumerate(chosen)
    )
    table = "".join(f".quad form_{i}\n" for i in range(len(chosen)))
    return f'.text\n{functions}\n.section .data.rel,"aw"\n.globl forms\nforms:\n{table}.quad 0\n{NO_STACK}'


CALLER = r"""
static unsigned char *map_file(const char *name, size_t size) {
    int fd = must(open(name, O_RDWR));
    unsigned char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) { perror("mmap"); exit(9); }
    return at;
}
extern void (*forms[])(unsigned char *target, unsigned char *source, unsigned char *other);
static unsigned char other[4096] __attribute__((aligned(64)));
int main(int argc, char **argv) {
    unsigned char *pool = map_file("pool", atoi(argv[1]));
    for (int i = 0; forms[i] != NULL; i++) {
        memset(other, 0, sizeof(other));
        forms[i](pool + 4096 + 256 * i, pool, other);
    }
    return 0;
}
"""


def test_each_form_stores_exactly_these_labels(data: Path) -> None:
    chosen = forms()
    pages = 2 + len(chosen) * SLOT // PAGE
    make_pool(data, pages)
    (data.parent / "forms.s").write_text(assembly(chosen))
    program = compile_c(data.parent, CALLER, str(data.parent / "forms.s"))
    tainted = run(data, [program, str(pages * PAGE)], faults=False)
    found: dict[str, list[Stored]] = {form: [] for form in chosen}
    at = 0
    for store in tainted.stores:
        if store.offset >= PAGE:
            at = (store.offset - PAGE) // SLOT
        base = PAGE + at * SLOT if store.offset >= PAGE else 0
        found[chosen[at]].append(Stored(store.offset - base, store.value, store.where))
    assert found == {form: FORMS[form] for form in chosen}
    assert tainted.lost == 0 and tainted.recording.trace.meta["exit"] == b"exited 0"


@pytest.mark.skipif("avx" not in CPU, reason="a processor without AVX")
@pytest.mark.parametrize("seed", range(2))
def test_random_programs_depend_on_what_a_small_interpreter_says(data: Path, seed: int) -> None:
    made = RandomProgram(seed)
    made.grow(4000)
    make_pool(data, 2)
    saved = ("rbx", "rbp", "r12", "r13", "r14", "r15")
    clear = [f"xor %{r}, %{r}" for r in ("rax", "rcx", "rdx", "rbx", "rsi", "r8", "r9")]
    start = [f"push %{r}" for r in saved] + ["mov %rsi, %r14", "mov %rdx, %r15", "mov %rdi, %r13", "xor %rdi, %rdi"]
    end = ["vzeroall", *(f"pop %{r}" for r in reversed(saved)), "ret"]
    lines = "\n".join([*start, *clear, *made.text, *end])
    table = '.section .data.rel,"aw"\n.globl forms\nforms: .quad program, 0\n' + NO_STACK
    (data.parent / "forms.s").write_text(f".text\nprogram:\n{lines}\n{table}")
    program = compile_c(data.parent, CALLER, str(data.parent / "forms.s"))
    tainted = run(data, [program, str(2 * PAGE)], faults=False)
    found = [Stored(s.offset - (PAGE if s.offset >= PAGE else 64), s.value, s.where) for s in tainted.stores]
    assert len(found) == len(made.stores)
    for number, (ours, theirs) in enumerate(zip(found, made.stores, strict=True)):
        assert ours == theirs, f"store {number}"
    assert sum(bool(store.value) for store in found) > 100


SCENES = (
    CALLER.partition("extern")[0]
    + r"""
#include <signal.h>
static volatile uint64_t *pool, *target;
struct pair { uint32_t a, b; uint64_t c, d; };
static uint64_t moved(uint64_t x) { return x; }
static void *other_thread(void *unused) { target[8] = 5; return NULL; }
static void put(int slot, uint64_t value) { target[slot] = value; }
int main(int argc, char **argv) {
    pool = (void *)map_file("pool", 8192);
    target = pool + 512;
    char *bytes = malloc(4096);
    struct pair one, two;
    memcpy(bytes + 3, (void *)pool, 200); /* wide and narrow moves */
    memcpy((void *)(target + 100), bytes + 3, 8);
    memcpy((void *)(target + 101), bytes + 3 + 192, 8);
    memcpy(&one, (void *)(pool + 2), sizeof(one));
    two = one;
    put(1, two.b); /* labels of words, so of both halves */
    put(2, two.d);
    put(3, ((uint64_t (*)(uint64_t))moved)(two.c));
    memset(bytes, 0, 4096);
    put(4, bytes[5]);

    uint64_t kept = pool[5];
    int fd = must(open("/dev/zero", O_RDONLY));
    OK(read(fd, &kept, sizeof(kept))); /* what the kernel stores has no labels */
    put(5, kept);
    put(6, syscall(SYS_lseek, fd, pool[0], SEEK_SET));

    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile uint64_t *)page = pool[6];
    OK(munmap(page, 4096));
    char *again = mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    put(7, *(volatile uint64_t *)again);
    *(volatile uint64_t *)again = pool[7];
    again = mremap(again, 4096, 1 << 20, MREMAP_MAYMOVE);
    pthread_t thread;
    OK(-pthread_create(&thread, NULL, other_thread, (void *)pool[3]));
    OK(-pthread_join(thread, NULL));
    put(9, *(volatile uint64_t *)again);
    volatile uint64_t *second = (void *)map_file("pool", 8192); /* the same bytes elsewhere */
    put(10, second[9]);
    second[9] = 1;
    put(11, pool[9]);
    put(12, second[513]); /* what was stored through the other mapping */

    char text[8] = "1234567";
    text[0] += pool[10];
    OK(write(1, text, 8));
    OK(write(1, text + 1, 4));
    struct iovec parts[] = {{text + 4, 2}, {(void *)(pool + 11), 8}};
    OK(writev(1, parts, 2));
    return 0;
}
"""
)


def test_labels_of_copies_calls_mappings_and_outputs(data: Path) -> None:
    make_pool(data, 2)
    tainted = run(data, [compile_c(data.parent, SCENES)], faults=False)
    found = {(store.offset - PAGE) // 8: store.value for store in tainted.stores if store.offset >= PAGE}
    expected = {100: {1}, 101: {25}, 1: {3}, 2: {5}, 3: {4}, 4: set(), 5: set(), 6: set(), 7: set(), 8: set(), 9: {8}}
    expected |= {10: {10}, 11: set(), 12: {3}}
    assert found == expected
    assert tainted.outputs == [{11}, set(), {12}]
    assert tainted.refused == 0
