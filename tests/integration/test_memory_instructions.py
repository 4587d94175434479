"""The memory tracer: every instruction that stores, flushes or fences gives exactly the events that it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from powercut.trace.layout import Fence, Flag, Flush, Kind

from .memory_kit import (
    PAGE,
    PLAIN,
    Happening,
    assert_explained,
    fence,
    flush,
    happening,
    happenings,
    is_of_no_file,
    locked,
    needs_tool,
    nontemporal,
    store,
    trace,
)

pytestmark = needs_tool

CPU = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""

# Each form runs with rdi = rbx = r13 = the target, all zeros before; rsi = the source: bytes 10, 11, 12 ...; rax = the
# bytes 11 22 33 44 55 66 77 88, rcx = 3, rdx = 0; ymm0 and mm0 hold the source; bytes 1, 2 and 9 of xmm1 and mm1, and
# the elements 1 and 3 of ymm2, have their highest bit set.
RAX = "1122334455667788"

SOURCE = bytes(range(0x10, 0x50)).hex(" ")

FORMS: dict[str, list[Happening]] = {
    # plain moves
    "movb %al, (%rdi)": store(0, "11"),
    "movb $0x7f, 3(%rdi)": store(3, "7f"),
    "movw %ax, 2(%rdi)": store(2, "1122"),
    "movl %eax, 4(%rdi)": store(4, "11223344"),
    "movq %rax, 8(%rdi)": store(8, RAX),
    "movq $-2, (%rdi,%rcx,8)": store(24, "feffffffffffffff"),
    "movq %rax, 3(%rdi)": store(3, RAX),
    "movl %eax, 62(%rdi)": store(62, "11223344"),
    "movbe %rax, (%rdi)": store(0, "8877665544332211"),
    "sete 5(%rdi)": None,  # see below: filled in where the flags are known
    "push %rax; pop 8(%rdi)": store(8, RAX),
    # read, modify, write
    "addl $5, 4(%rdi)": store(4, "05000000"),
    "incb (%rdi)": store(0, "01"),
    "notw (%rdi)": store(0, "ffff"),
    "btsq $9, (%rdi)": store(0, "0002000000000000"),
    "shldq $8, %rax, (%rdi)": store(0, "8800000000000000"),
    "movq $7, (%rdi); xaddq %rax, (%rdi)": store(0, "0700000000000000") + store(0, "1822334455667788"),
    "mov $1, %eax; cmpxchgl %ecx, (%rdi)": store(0, "00000000"),  # it fails, and writes back what was there
    # strings
    "rep movsb": [*store(0, "10"), *store(1, "11"), *store(2, "12")],
    "rep movsq": [*store(0, SOURCE[:23]), *store(8, SOURCE[24:47]), *store(16, SOURCE[48:71])],
    "rep stosb": [*store(0, "11"), *store(1, "11"), *store(2, "11")],
    "mov $2, %ecx; rep stosl": [*store(0, "11223344"), *store(4, "11223344")],
    "add $8, %rdi; mov $2, %ecx; std; rep stosw; cld": [*store(8, "1122"), *store(6, "1122")],
    "xor %ecx, %ecx; rep stosb": [],
    "stosq": store(0, RAX),
    "movsw": store(0, "1011"),
    # SSE
    "movups %xmm0, (%rdi)": store(0, SOURCE[:47]),
    "movups %xmm0, 4(%rdi)": store(4, SOURCE[:47]),
    "movaps %xmm0, 16(%rdi)": store(16, SOURCE[:47]),
    "movdqu %xmm0, 60(%rdi)": store(60, SOURCE[:47]),
    "movss %xmm0, 4(%rdi)": store(4, SOURCE[:11]),
    "movsd %xmm0, 8(%rdi)": store(8, SOURCE[:23]),
    "movhps %xmm0, 8(%rdi)": store(8, SOURCE[24:47]),
    "movlps %xmm0, 8(%rdi)": store(8, SOURCE[:23]),
    "movd %xmm0, (%rdi)": store(0, SOURCE[:11]),
    "movq %xmm0, (%rdi)": store(0, SOURCE[:23]),
    "movq %mm0, (%rdi)": store(0, SOURCE[:23]),
    "pextrb $5, %xmm0, 1(%rdi)": store(1, "15"),
    "pextrq $1, %xmm0, (%rdi)": store(0, SOURCE[24:47]),
    "extractps $1, %xmm0, (%rdi)": store(0, SOURCE[12:23]),
    # AVX
    "vmovdqu %ymm0, (%rdi)": store(0, SOURCE[:95]),
    "vmovdqu %ymm0, 5(%rdi)": store(5, SOURCE[:95]),
    "vmovaps %xmm0, 16(%rdi)": store(16, SOURCE[:47]),
    "vextracti128 $1, %ymm0, (%rdi)": store(0, SOURCE[48:95]),
    "vpmaskmovd %ymm0, %ymm2, (%rdi)": store(4, SOURCE[12:23]) + store(12, SOURCE[36:47], rest=True),
    "vmaskmovpd %ymm0, %ymm3, (%rdi)": store(8, SOURCE[24:47]),
    # past the cache
    "movnti %eax, 4(%rdi)": nontemporal(4, "11223344"),
    "movnti %rax, 8(%rdi)": nontemporal(8, RAX),
    "movntdq %xmm0, (%rdi)": nontemporal(0, SOURCE[:47]),
    "movntps %xmm0, (%rdi)": nontemporal(0, SOURCE[:47]),
    "movntpd %xmm0, (%rdi)": nontemporal(0, SOURCE[:47]),
    "movntq %mm0, (%rdi)": nontemporal(0, SOURCE[:23]),
    "vmovntdq %ymm0, (%rdi)": nontemporal(0, SOURCE[:95]),
    "vmovntps %ymm0, 32(%rdi)": nontemporal(32, SOURCE[:95]),
    "vmovntpd %xmm0, (%rdi)": nontemporal(0, SOURCE[:47]),
    "maskmovdqu %xmm1, %xmm0": nontemporal(1, "1112") + nontemporal(9, "19", rest=True),
    "maskmovq %mm1, %mm0": nontemporal(1, "1112"),
    "vmaskmovdqu %xmm1, %xmm0": nontemporal(1, "1112") + nontemporal(9, "19", rest=True),
    # x87
    "emms; fld1; fstps (%rdi)": store(0, "0000803f"),
    "emms; fld1; fstpl 4(%rdi)": store(4, "000000000000f03f"),
    "emms; fld1; fstpt (%rdi)": store(0, "0000000000000080ff3f"),
    "emms; fld1; fistps 2(%rdi)": store(2, "0100"),
    "emms; fld1; fistpl (%rdi)": store(0, "01000000"),
    "emms; fld1; fistpll (%rdi)": store(0, "0100000000000000"),
    "fnstcw (%rdi)": store(0, "7f03"),
    "stmxcsr 4(%rdi)": store(4, "801f0000"),
    # locked operations are fences; those that change nothing are no stores
    "xchg %rax, (%rdi)": locked(0, RAX),
    "xchg %ax, 2(%rdi)": locked(2, "1122"),
    "lock xadd %eax, 4(%rdi)": locked(4, "11223344"),
    "lock incl (%rdi)": locked(0, "01000000"),
    "lock orb $6, 1(%rdi)": locked(1, "06"),
    "lock btsl $3, (%rdi)": locked(0, "08000000"),
    "lock notq (%rdi)": locked(0, "ffffffffffffffff"),
    "xor %eax, %eax; lock cmpxchg %rcx, (%rdi)": locked(0, "0300000000000000"),
    "lock cmpxchg %rcx, (%rdi)": [],
    "movb %al, (%rdi); lock cmpxchg %ecx, 64(%rdi)": store(0, "11") + fence(Fence.LOCKED),
    "movb %al, (%rdi); lock incl 64(%rdi)": store(0, "11") + fence(Fence.LOCKED) + locked(64, "01000000"),
    "movb %al, (%rdi); lock incl -8(%rsp)": store(0, "11") + fence(Fence.LOCKED),
    "lock incl -8(%rsp)": [],
    "xor %eax, %eax; mov $5, %ebx; lock cmpxchg8b (%rdi)": locked(0, "0500000003000000"),
    "xor %eax, %eax; mov $5, %ebx; lock cmpxchg16b (%rdi)": locked(0, "05000000000000000300000000000000"),
    "lock cmpxchg16b (%rdi)": [],
    # flushes
    "clflush (%rdi)": flush(0, Flush.CLFLUSH),
    "clflush 70(%rdi)": flush(70, Flush.CLFLUSH),
    "clflushopt (%rdi)": flush(0, Flush.CLFLUSHOPT),
    "clflushopt 64(%r13,%rdx,4)": flush(64, Flush.CLFLUSHOPT),
    "clwb (%rdi)": flush(0, Flush.CLWB),
    "clwb 129(%rdi)": flush(128, Flush.CLWB),
    "clwb 64(%rbx,%rcx,8)": flush(88, Flush.CLWB),
    "mov %rdi, %r12; clwb (%r12)": flush(0, Flush.CLWB),
    "mov %rdi, %r9; mov $2, %r10; clwb 1(%r9,%r10,8)": flush(17, Flush.CLWB),
    "mov %rdi, %rbp; clwb 0(%rbp)": flush(0, Flush.CLWB),
    "xchg %rdi, %rsp; clwb (%rsp); xchg %rdi, %rsp": flush(0, Flush.CLWB),
    "clwb (%rsi)": [],
    # fences
    "sfence": fence(Fence.SFENCE),
    "mfence": fence(Fence.MFENCE),
    "lfence": [],
    "movb %al, (%rdi); clwb (%rdi); sfence": store(0, "11") + flush(0, Flush.CLWB) + fence(Fence.SFENCE),
    # a stack that lies in the file
    "lea 64(%rdi), %rdi; xchg %rdi, %rsp; push %rax; xchg %rdi, %rsp": store(56, RAX),
    "lea 64(%rdi), %rdi; xchg %rdi, %rsp; push $5; pop %rax; xchg %rdi, %rsp": store(56, "0500000000000000"),
    "lea 64(%rdi), %rdi; xchg %rdi, %rsp; pushw $5; xchg %rdi, %rsp": store(62, "0500"),
    # segments: the offset of the target from the thread's own block
    "mov %rdi, %r8; sub %fs:0, %r8; movl %eax, %fs:4(%r8)": store(4, "11223344"),
    "mov %rdi, %r8; sub %fs:0, %r8; clwb %fs:64(%r8)": flush(64, Flush.CLWB),
    # addresses of 32 bits
    "movw %ax, (%edi)": store(0, "1122"),
    "clwb 64(%edi)": flush(64, Flush.CLWB),
}

FORMS["sete 5(%rdi)"] = store(5, "01")

FORMS["xor %r8d, %r8d; sete 5(%rdi)"] = FORMS.pop("sete 5(%rdi)")

STRIDE = 256  # bytes for each form

PROLOGUE = r"""
static const struct { unsigned char bytes[64], mask[16], elements[32], halves[32]; } source
    __attribute__((aligned(32))) = {
    {SOURCE}, {0, 0x80, 0xff, 0x7f, 0, 0, 0, 0, 0, 0x90}, {[7] = 0x80, [15] = 0xff}, {[15] = 0x80}};
/* Starts another block of code: Valgrind dies of vpmaskmov and MMX in one. */
#define ANOTHER "lea 1f(%%rip), %%r8; jmp *%%r8; 1:"
#define FORM(index, text)                                                                                    \
    {                                                                                                        \
        unsigned long rdi = (unsigned long)base + (index) * STRIDE, rax = 0x8877665544332211, rcx = 3,       \
                      rdx = 0, rbx = rdi;                                                                    \
        const void *rsi = &source;                                                                           \
        register unsigned long r13 __asm__("r13") = rdi;                                                     \
        __asm__ volatile("push %%rbp; sub $128, %%rsp;"                                                      \
                         "vmovdqu (%%rsi), %%ymm0; vmovdqu 64(%%rsi), %%xmm1; vmovdqu 80(%%rsi), %%ymm2;"    \
                         "vmovdqu 112(%%rsi), %%ymm3; movq (%%rsi), %%mm0; movq 64(%%rsi), %%mm1;" ANOTHER   \
                         text ";" ANOTHER "emms; add $128, %%rsp; pop %%rbp; vzeroupper; sfence"                       \
                         : "+D"(rdi), "+S"(rsi), "+a"(rax), "+c"(rcx), "+d"(rdx), "+b"(rbx), "+r"(r13)       \
                         :                                                                                   \
                         : "memory", "cc", "r8", "r9", "r10", "r12", "xmm0", "xmm1", "xmm2", "xmm3");        \
        *mark = 1;                                                                                           \
        fence();                                                                                             \
    }
""".replace("{SOURCE}", "{" + ", ".join(f"0x{byte}" for byte in SOURCE.split()) + "}").replace("STRIDE", str(STRIDE))


def split(events: list[Happening], mark: int) -> Iterator[list[Happening]]:
    """The events between stores at the offset `mark`; each of those is followed by a fence."""
    part: list[Happening] = []
    for event in events:
        if event.kind == Kind.STORE and event.offset == mark:
            yield part
            part = []
        else:
            part.append(event)
    yield part


@pytest.mark.skipif("avx2" not in CPU, reason="needs a processor with AVX2")
def test_every_form_gives_exactly_its_events(data: Path) -> None:
    forms = "\n".join(f'FORM({i}, "{form.replace("%", "%%")}")' for i, form in enumerate(FORMS))
    size = (len(FORMS) * STRIDE + PAGE - 1) // PAGE * PAGE
    body = PROLOGUE + "int main(void) {\n" + f'unsigned char *base = map_file("f", {size + PAGE}, MAP_32BIT, 0);\n'
    run = trace(
        data, body + f"volatile unsigned char *mark = base + {size};\n*mark = 0; fence();\n{forms}\nreturn 0; }}"
    )
    assert not run.trace.notes()
    _, *parts = split(happenings(run), size)
    assert len(parts) == len(FORMS) + 1
    wrong = {}
    for index, (form, expected) in enumerate(FORMS.items()):
        at = index * STRIDE
        first, *found = (e if e.kind == Kind.FENCE else replace(e, offset=e.offset - at) for e in parts[index])
        assert [first] == fence(Fence.SFENCE)  # behind the mark
        if found != [*expected, *fence(Fence.SFENCE)]:
            wrong[form] = found
    assert not wrong
    assert len([event for event in run.events(Kind.FLUSH) if is_of_no_file(event)]) == 1  # clwb (%rsi)
    assert_explained(run)


def test_large_stores(data: Path) -> None:
    """Instructions that store whole areas, of which only some bytes are theirs to change."""
    body = r"""
    int main(void) {
        unsigned char *p = map_file("f", 8192, 0, 0);
        memset(p, 0xee, 4096);
        __asm__ volatile("fld1; fxsave (%0)" :: "r"(p) : "memory");
        __asm__ volatile("fnstenv (%0)" :: "r"(p + 1024) : "memory");
        __asm__ volatile("fxsave64 (%0); emms" :: "r"(p + 4096 - 256) : "memory");
        return 0;
    }"""
    run = trace(data, body)
    assert_explained(run)
    parts = [event for event in happenings(run) if event.offset >= 1024 and event.offset < 2048]
    assert {event.offset for event in parts if event.what != b"\xee" * 8} >= {1024, 1032, 1040, 1048}


def test_addresses_relative_to_the_program(data: Path) -> None:
    """A file mapped over a variable of the program, so that its addresses are relative to the instruction."""
    body = r"""
    static unsigned char page[4096] __attribute__((aligned(4096)));
    int main(void) {
        if (map_file("f", 4096, MAP_FIXED, page) != page) return 1;
        __asm__ volatile("movl $0x44332211, page+16(%rip); movb $7, page+70(%rip); clwb page+70(%rip);"
                         "clflushopt page+128(%rip); clflush page+4095(%rip); lock incq page+8(%rip)");
        return 0;
    }"""
    run = trace(data, body)
    assert happenings(run)[:6] == [
        *store(16, "11223344"),
        *store(70, "07"),
        *flush(64, Flush.CLWB),
        *flush(128, Flush.CLFLUSHOPT),
        *flush(4032, Flush.CLFLUSH),
        *fence(Fence.LOCKED),
    ]
    assert happenings(run)[6:7] == locked(8, "0100000000000000")
    assert_explained(run)


def test_stores_across_lines_pages_and_mappings(data: Path) -> None:
    """Two files side by side, and nothing behind them: a store is cut where the mappings end."""
    body = r"""
    int main(void) {
        unsigned char *p = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        map_file("a", 4096, MAP_FIXED, p + 4096);
        map_file("b", 4096, MAP_FIXED, p + 2 * 4096);
        unsigned long value = 0x8877665544332211;
        for (int at = 1; at <= 3; at++)
            __asm__ volatile("movq %1, (%0)" :: "r"(p + at * 4096 - 3), "r"(value) : "memory");
        __asm__ volatile("movq %1, (%0)" :: "r"(p + 4096 + 61), "r"(value) : "memory");
        return 0;
    }"""
    run = trace(data, body)
    inodes = {event.path: event.inode for event in run.events(Kind.CREATE)}
    found = [(event.inode, *vars(happening(event)).values()) for event in run.events(Kind.STORE)]
    a, b = inodes[b"a"], inodes[b"b"]
    assert found == [
        (a, Kind.STORE, 0, bytes.fromhex("4455667788"), PLAIN),
        (a, Kind.STORE, 4093, bytes.fromhex("112233"), PLAIN),
        (b, Kind.STORE, 0, bytes.fromhex("4455667788"), Flag.REST),
        (b, Kind.STORE, 4093, bytes.fromhex("112233"), PLAIN),
        (a, Kind.STORE, 61, bytes.fromhex("112233"), PLAIN),
        (a, Kind.STORE, 64, bytes.fromhex("4455667788"), Flag.REST),
    ]
    assert_explained(run)


def test_cpuid_shows_flushes(data: Path) -> None:
    body = r"""
    #include <cpuid.h>
    int main(void) {
        unsigned a, b, c, d;
        __cpuid_count(7, 0, a, b, c, d);
        printf("%d %d\n", b >> 23 & 1, b >> 24 & 1);
        __cpuid_count(7, 1, a, b, c, d);
        __cpuid(1, a, b, c, d);
        return 0;
    }"""
    assert trace(data, body).outputs == {1: b"1 1\n"}


def test_an_instruction_that_valgrind_does_not_know(data: Path) -> None:
    body = r"""
    static void on(int number) { _exit(7); }
    int main(int argc, char **argv) {
        signal(SIGILL, on);
        if (argc > 1) __asm__ volatile("ud2");
        __asm__ volatile(".byte 0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1");  /* vmovaps %zmm1, %zmm0 */
        return 0;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"exited 7"
    (note,) = run.trace.notes()
    assert note.startswith("the memory tracer cannot run the instruction 62 f1 7c 48 28 c1")
    assert "--tracer calls" in note
    assert trace(data, body, "ud2").trace.notes() == []
