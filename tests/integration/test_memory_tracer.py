"""The memory tracer: every store, flush and fence of a program, exactly, in order with its system calls.

Before: a C compiler, and the tracer with its Valgrind tool. After: programs written by hand give exactly the events
that their instructions mean, and the stores of larger ones, replayed, give the very bytes they left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from powercut.trace.layout import Fence, Flag, Flush, Kind
from powercut.trace.reader import Trace
from powercut.trace.symbols import StackResolver

from .tracer_kit import Event, Recording, Replay, compile_c, real_tree, record, tracer

TOOL = Path(
    os.environ.get("POWERCUT_GRIND") or Path(sysconfig.get_paths()["platlib"]) / "powercut/_native/powercut-grind"
)
CPU = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
MEMORY = (Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.UNMAP)
WORD, LINE, PAGE = 8, 64, 4096
PLAIN = Flag(0)

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

MAPPED = r"""
#include <setjmp.h>
#include <signal.h>
static unsigned char *map_file(const char *name, size_t size, int flags, void *where) {
    int fd = must(open(name, O_CREAT | O_RDWR, 0600));
    OK(ftruncate(fd, size));
    void *at = mmap(where, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
    if (at == MAP_FAILED) { perror("mmap"); exit(9); }
    OK(close(fd));
    return at;
}
static inline void fence(void) { __asm__ volatile("sfence" ::: "memory"); }
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def trace(data: Path, body: str, *arguments: str | Path, **settings: object) -> Recording:
    """Compile a program of this text and run it in the memory tracer."""
    program = compile_c(data.parent, MAPPED + body)
    return opened(record(data, [program, *arguments], "--memory-tool", str(TOOL), **settings))


def opened(recording: Recording) -> Recording:
    """The same, with all events at hand: looking at them one by one is slow."""
    recording.trace.events = recording.trace.events[:]
    return recording


class MemoryReplay(Replay):
    """A folder to which stores are applied, too. They never make a file longer."""

    def on_store(self, event: Event) -> None:
        assert event.offset + event.length <= len(self.files[event.inode]), event
        self.on_write(event)


def assert_explained(recording: Recording) -> None:
    """The trace explains the folder, byte for byte."""
    assert MemoryReplay(recording).tree() == real_tree(recording.folder)


@dataclass(frozen=True)
class Happening:
    """One memory event, as far as tests compare it. `what` holds the bytes of a store, or how it was flushed."""

    kind: Kind
    offset: int = 0
    what: bytes | int = 0
    flags: Flag = PLAIN


def happenings(recording: Recording) -> list[Happening]:
    """All memory events of a recording that are about mapped files."""
    return [happening(event) for event in recording.events(*MEMORY) if not is_of_no_file(event)]


def is_of_no_file(event: Event) -> bool:
    """A flush of ordinary memory, which is recorded as a mistake to be told."""
    return event.kind == Kind.FLUSH and event.inode == 0


def happening(event: Event) -> Happening:
    what = event.data if event.kind == Kind.STORE else event.length if event.kind == Kind.UNMAP else event.extra
    return Happening(event.kind, event.offset, what, event.flags)


def store(offset: int, text: str, flags: Flag = PLAIN, rest: bool = False) -> list[Happening]:
    """What one instruction that stores these bytes gives: a part for each aligned word."""
    content, parts = bytes.fromhex(text), []
    while content:
        size = min(len(content), WORD - offset % WORD)
        parts.append(Happening(Kind.STORE, offset, content[:size], flags | (Flag.REST if rest else PLAIN)))
        content, offset, rest = content[size:], offset + size, True
    return parts


def nontemporal(offset: int, text: str, rest: bool = False) -> list[Happening]:
    return store(offset, text, Flag.NONTEMPORAL, rest)


def locked(offset: int, text: str) -> list[Happening]:
    return store(offset, text, Flag.LOCKED)


def flush(offset: int, how: Flush) -> list[Happening]:
    return [Happening(Kind.FLUSH, offset // LINE * LINE, how)]


def fence(how: Fence) -> list[Happening]:
    return [Happening(Kind.FENCE, 0, how)]


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


def test_only_shared_mappings_of_data_files_count(data: Path) -> None:
    body = r"""
    static void touch(const char *name, int flags, int open_flags) {
        int fd = must(open(name, open_flags, 0600));
        OK(ftruncate(fd, 4096));
        volatile char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
        p[5] = 1;
        __asm__ volatile("clwb (%0)" :: "r"(p) : "memory");
        munmap((void *)p, 4096);
    }
    int main(int argc, char **argv) {
        touch("private", MAP_PRIVATE, O_CREAT | O_RDWR);
        touch(argv[1], MAP_SHARED, O_CREAT | O_RDWR);
        fence();
        touch("shared", MAP_SHARED, O_CREAT | O_RDWR);
        touch("validated", MAP_SHARED_VALIDATE, O_CREAT | O_RDWR);
        touch(".", MAP_SHARED, O_TMPFILE | O_RDWR);
        return 0;
    }"""
    run = trace(data, body, data.parent / "outside")
    kinds = [event.kind for event in run.events(*MEMORY) if event.kind != Kind.FENCE]
    assert kinds == [Kind.STORE, Kind.FLUSH, Kind.UNMAP] * 3
    files = [event.inode for event in run.events(Kind.CREATE)]
    assert [event.inode for event in run.events(Kind.STORE)] == files[1:]
    assert_explained(run)


def test_mappings_that_move(data: Path) -> None:
    """Partial unmapping, mremap in all its forms, MAP_FIXED over a part, mprotect, a second mapping."""
    body = r"""
    #define PAGE 4096
    static void put(unsigned char *at, int value) { *(volatile unsigned char *)at = value; }
    int main(void) {
        unsigned char *room = mmap(0, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        unsigned char *p = map_file("f", 8 * PAGE, MAP_FIXED, room);
        put(p + 3 * PAGE, 1);
        OK(munmap(p + 2 * PAGE, PAGE));                      /* a hole */
        put(p, 2);
        put(p + 3 * PAGE, 3);
        if (mremap(p + 3 * PAGE, 5 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + 20 * PAGE) == MAP_FAILED)
            return 1;
        put(room + 20 * PAGE, 4);                            /* page 3 of the file, in another place */
        if (mremap(room + 20 * PAGE, 6 * PAGE, 2 * PAGE, 0) == MAP_FAILED) return 2;
        put(room + 21 * PAGE, 5);                            /* page 4 */
        int fd = must(open("f", O_RDWR));
        unsigned char *again = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);   /* page 0, twice */
        put(again + 1, 6);
        put(p + 2, 7);
        if (mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p) return 4;
        put(p, 8);                                           /* no file any more */
        put(p + PAGE, 9);                                    /* still page 1 */
        unsigned char *late = mmap(0, PAGE, PROT_READ, MAP_SHARED, fd, 5 * PAGE);
        OK(mprotect(late, PAGE, PROT_READ | PROT_WRITE));
        put(late, 10);
        OK(munmap(late, PAGE));
        return 0;
    }"""
    run = trace(data, body)
    page = 4096
    assert [event for event in happenings(run) if event.kind != Kind.FENCE] == [
        *store(3 * page, "01"),
        Happening(Kind.UNMAP, 2 * page, page),
        *store(0, "02"),
        *store(3 * page, "03"),
        *store(3 * page, "04"),
        Happening(Kind.UNMAP, 5 * page, 4 * page),
        *store(4 * page, "05"),
        *store(1, "06"),
        *store(2, "07"),
        Happening(Kind.UNMAP, 0, page),
        *store(page, "09"),
        *store(5 * page, "0a"),
        Happening(Kind.UNMAP, 5 * page, page),
    ]
    assert_explained(run)


def test_the_kernel_stores_into_mappings(data: Path) -> None:
    body = r"""
    int main(void) {
        unsigned char *p = map_file("f", 4096, 0, 0);
        int ends[2], pair[2];
        OK(pipe(ends));
        OK(write(ends[1], "0123456789", 10));
        if (read(ends[0], p + 6, 10) != 10) return 1;
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        OK(write(pair[0], "abc", 3));
        struct iovec parts[2] = {{p + 64, 1}, {p + 128, 2}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        if (recvmsg(pair[1], &message, 0) != 3) return 2;
        OK(fstat(pair[1], (struct stat *)(p + 256)));
        return 0;
    }"""
    run = trace(data, body)
    stores = [event for event in happenings(run) if event.kind == Kind.STORE]
    assert all(event.flags & Flag.KERNEL for event in stores)
    assert stores[:5] == [
        Happening(Kind.STORE, 6, b"01", Flag.KERNEL),
        Happening(Kind.STORE, 8, b"23456789", Flag.KERNEL | Flag.REST),
        Happening(Kind.STORE, 64, b"a", Flag.KERNEL),
        Happening(Kind.STORE, 128, b"bc", Flag.KERNEL),
        Happening(Kind.STORE, 256, stores[4].what, Flag.KERNEL),
    ]
    assert_explained(run)


def test_stores_and_calls_stand_in_one_order(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned char *p = map_file("f", 8192, 0, 0);
        int fd = must(open("g", O_CREAT | O_RDWR, 0600));
        p[0] = 1;
        OK(write(fd, "x", 1));
        p[1] = 2;
        OK(msync((void *)p, 4096, MS_SYNC));
        p[2] = 3;
        OK(rename("g", "h"));
        p[3] = 4;
        OK(write(1, "said", 4));
        p[4] = 5;
        return 0;
    }"""
    run = trace(data, body)
    kinds = [event.kind for event in run.events() if event.kind not in (Kind.FENCE, Kind.CLOSE, Kind.MEMORY)]
    assert kinds[kinds.index(Kind.STORE) :] == [
        *(Kind.STORE, Kind.WRITE, Kind.STORE, Kind.MSYNC, Kind.STORE, Kind.RENAME, Kind.STORE, Kind.OUTPUT),
        *(Kind.STORE, Kind.EXIT),
    ]
    assert run.outputs == {1: b"said"}
    assert_explained(run)


THREADS = r"""
#define WORDS 4096
static volatile unsigned long *p;
static __thread sigjmp_buf back;
static __thread unsigned long *mine;
static __thread volatile int signals;
__attribute__((noinline)) static void put(unsigned at, unsigned long value) { mine[at % WORDS] = value; }
static void on(int number) { signals++; put(7 * signals, number); }
static void jump(int number) { put(11 * ++signals, number); siglongjmp(back, 1); }
__attribute__((noinline)) static void deep(int levels, unsigned seed) {
    volatile char room[200];
    room[levels] = seed;
    put(seed + levels, seed);
    if (levels == 0)
        siglongjmp(back, 2);
    deep(levels - 1, seed);
    put(room[levels], 1);
}
static void *work(void *argument) {
    char *other = malloc(65536);
    stack_t stack = {.ss_sp = other, .ss_size = 65536};
    OK(sigaltstack(&stack, NULL));
    mine = (unsigned long *)p + (long)argument * WORDS;
    for (volatile unsigned i = 0; i < 300; i++) {
        if (sigsetjmp(back, 1) == 0)
            deep(i % 20, i * 31);
        pthread_kill(pthread_self(), SIGUSR1);
        if (i % 7 == 0 && sigsetjmp(back, 1) == 0)
            pthread_kill(pthread_self(), SIGUSR2);
        __sync_fetch_and_add((unsigned long *)p + 4 * WORDS, 1);
        if (i % 50 == 0) sched_yield();
    }
    fence();
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    p = (unsigned long *)map_file("f", 5 * WORDS * 8, 0, 0);
    struct sigaction action = {.sa_handler = on, .sa_flags = SA_ONSTACK};
    OK(sigaction(SIGUSR1, &action, NULL));
    action.sa_handler = jump;
    OK(sigaction(SIGUSR2, &action, NULL));
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


def test_threads_with_longjmp_and_signals(data: Path) -> None:
    run = trace(data, "#include <sched.h>\n" + THREADS)
    assert_explained(run)
    stores = run.events(Kind.STORE)
    size = 4096 * 8
    owners: dict[int, set[int]] = {}
    for event in stores:
        owners.setdefault(event.offset // size, set()).add(event.tid)
    assert [len(owners[i]) for i in range(4)] == [1, 1, 1, 1]  # each thread stored into its own part
    assert len(set.union(*(owners[i] for i in range(4)))) == 4
    assert owners[4] == set.union(*(owners[i] for i in range(4)))
    children = {event.extra for event in run.events(Kind.FORK)}
    assert owners[4] == children
    counts = [event for event in stores if event.offset == 4 * size]
    assert [int.from_bytes(event.data, "little") for event in counts] == list(range(1, 1201))


def test_fork_keeps_mappings_and_exec_loses_them(data: Path) -> None:
    body = r"""
    int main(int argc, char **argv) {
        if (argc > 1) {
            volatile unsigned char *p = map_file("g", 4096, 0, 0);
            p[0] = 0xcc;
            return 0;
        }
        volatile unsigned char *p = map_file("f", 4096, 0, 0);
        p[0] = 0xaa;
        pid_t child = fork();
        if (child == 0) {
            p[1] = 0xbb;
            execl("/proc/self/exe", argv[0], "again", NULL);
            _exit(9);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) return 1;
        p[2] = 0xdd;
        child = fork();
        if (child == 0) {
            p[3] = 0xee;
            kill(getpid(), SIGKILL);
        }
        waitpid(child, &status, 0);
        p[4] = 0xff;
        return WTERMSIG(status) != SIGKILL;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"exited 0"
    story = [(e.kind, e.data) for e in run.events(Kind.FORK, Kind.EXEC, Kind.EXIT, Kind.STORE)]
    assert [kind if kind != Kind.STORE else stored.hex() for kind, stored in story] == [
        *(Kind.EXEC, "aa", Kind.FORK, "bb", Kind.EXEC, "cc", Kind.EXIT, "dd"),
        *(Kind.FORK, "ee", Kind.EXIT, "ff", Kind.EXIT),
    ]
    parent, child = run.events(Kind.EXEC)[0].pid, run.events(Kind.FORK)[0].extra
    assert [event.pid for event in run.events(Kind.STORE)][:4] == [parent, child, child, parent]
    programs = {event.path for event in run.events(Kind.EXEC)}
    assert programs == {str(data.parent / "program").encode()}
    assert_explained(run)


def test_the_program_hardly_notices(data: Path) -> None:
    """Environment, descriptors, arguments and outputs are its own."""
    body = r"""
    #include <valgrind/valgrind.h>
    extern char **environ;
    int main(int argc, char **argv) {
        if (RUNNING_ON_VALGRIND) puts("in Valgrind");
        for (char **at = environ; *at; at++) puts(*at);
        for (int fd = 0; fd < 100; fd++) if (fcntl(fd, F_GETFD) != -1) printf("descriptor %d\n", fd);
        for (int i = 1; i < argc; i++) puts(argv[i]);
        fflush(stdout);
        if (argc > 1) execl("/proc/self/exe", argv[0], NULL);
        return 3;
    }"""
    environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": "libm.so.6", "HOME": "/nowhere"}
    (data / ".valgrindrc").write_text("--tool=nonsense\n")
    run = trace(data, body, "-x", "--", "", env=environment)
    assert run.trace.meta["exit"] == b"exited 3"
    said = "".join(f"{key}={value}\n" for key, value in environment.items())
    said += "descriptor 0\ndescriptor 1\ndescriptor 2\n"
    assert run.outputs == {1: (said + "-x\n--\n\n" + said).encode()}
    assert run.stderr == ""
    assert not run.trace.notes()


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


def test_a_program_that_crashes(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned char *p = map_file("f", 4096, 0, 0);
        p[9] = 9;
        *(volatile int *)8 = 1;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"signaled 11"
    assert_explained(run)
    assert run.stderr == ""
    (note,) = run.trace.notes()
    assert "SIGSEGV" in note
    assert sorted(path.name for path in data.iterdir()) == ["f"]


def test_programs_that_cannot_be_run(data: Path) -> None:
    tool = ("--memory-tool", str(TOOL))
    assert "not found" in record(data, ["no-such-program"], *tool, code=127).stderr
    (data / "plain").write_text("text")
    assert "cannot be executed" in record(data, ["./plain"], *tool, code=126).stderr
    assert "memory tracer" in record(data, ["true"], "--memory-tool", "/nowhere/tool", code=125).stderr


def test_a_script_and_what_it_starts(data: Path) -> None:
    body = r"""
    int main(void) { volatile unsigned char *p = map_file("f", 4096, 0, 0); p[1]++; return 0; }"""
    program = compile_c(data.parent, MAPPED + body)
    script = data.parent / "script"
    script.write_text(f"#!/bin/sh\necho one > a\n{program} && {program} | cat\n(sleep 0; {program}) &\nwait\n")
    script.chmod(0o755)
    run = record(data, [script], "--memory-tool", str(TOOL))
    assert run.trace.meta["exit"] == b"exited 0"
    assert [event.data for event in run.events(Kind.STORE)] == [b"\x01", b"\x02", b"\x03"]
    assert run.events(Kind.EXEC)[0].path == str(script).encode()
    assert_explained(run)


STACKS = r"""
static volatile unsigned long *p;
__attribute__((noinline)) static void put(int at) {
    p[at] = at + 1; /* the store */
    __asm__ volatile("clwb (%0)" :: "r"(p + at) : "memory"); /* the flush */
    __asm__ volatile("sfence"); /* the fence */
}
__attribute__((noinline)) static void first(int at) { put(at); __asm__ volatile(""); }
__attribute__((noinline)) static void second(int at) { put(at); __asm__ volatile(""); }
static void on(int number) { second(number); __asm__ volatile(""); }
static sigjmp_buf back;
__attribute__((noinline)) static void jumping(int levels) {
    alignas(64) volatile char room[100];
    room[0] = levels;
    if (levels == 0)
        siglongjmp(back, 1);
    first(levels);
    jumping(levels - room[0] / levels);
    __asm__ volatile("");
}
int main(void) {
    p = (unsigned long *)map_file("f", 4096, 0, 0);
    for (int i = 0; i < 20; i++) {
        first(i);
        second(i);
    }
    if (sigsetjmp(back, 1) == 0)
        jumping(5);
    second(6);
    signal(SIGUSR1, on);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    msync((void *)p, 4096, MS_SYNC); /* the sync */
    return 0;
}
"""


Place = tuple[str, int | None]


def with_stacks(data: Path, *command: str) -> Recording:
    output = data.parent / "run.trace"
    options = ["--output", str(output), "--dir", str(data), "--memory-tool", str(TOOL)]
    done = subprocess.run([tracer(), *options, "--", *command], cwd=data, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return opened(Recording(0, Trace.open(output), data, done.stderr))


def stacks(run: Recording, *kinds: Kind) -> list[list[Place]]:
    """For each event of some kinds the functions and lines that led to it, innermost first."""
    resolver = StackResolver.of(run.trace)
    events = run.events(*kinds)
    resolver.prepare(event.stack for event in events)
    return [[(frame.function, frame.line) for frame in resolver.frames(event.stack)] for event in events]


def line_with(data: Path, text: str) -> int:
    lines = (data.parent / "program.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_stacks_are_those_of_the_program(data: Path) -> None:
    """The same functions on other ways, after a longjmp, in signal handlers: each event has its own stack."""
    run = with_stacks(data, compile_c(data.parent, MAPPED + "#include <stdalign.h>\n" + STACKS))
    ways = [[name for name, _ in stack] for stack in stacks(run, Kind.STORE)]
    plain = [["put", way, "main"] for _ in range(20) for way in ("first", "second")]
    deep = [["put", "first", *["jumping"] * depth, "main"] for depth in range(1, 6)]
    assert [way[: len(wanted)] for way, wanted in zip(ways, plain, strict=False)] == plain
    assert [way[: len(wanted)] for way, wanted in zip(ways[40:], deep, strict=False)] == deep
    assert ways[45][:3] == ["put", "second", "main"]
    for way in ways[46:]:
        assert way[:3] == ["put", "second", "on"]
        assert "main" in way
    for kind, text in ((Kind.STORE, "the store"), (Kind.FLUSH, "the flush"), (Kind.MSYNC, "the sync")):
        found = {next(line for name, line in stack if name in ("put", "main")) for stack in stacks(run, kind)}
        assert found == {line_with(data, f"/* {text}")}, text
    fences = [stack[0] for event, stack in zip(run.events(Kind.FENCE), stacks(run, Kind.FENCE), strict=True)]
    assert fences.count(("put", line_with(data, "/* the fence"))) == len(ways)


COROUTINES = r"""
#include <ucontext.h>
static volatile unsigned long *p;
static ucontext_t top, sides[2];
__attribute__((noinline)) static void put(int at) { p[at] = at + 1; __asm__ volatile(""); }
__attribute__((noinline)) static void left(int at) { put(at); __asm__ volatile(""); }
__attribute__((noinline)) static void right(int at) { put(at); __asm__ volatile(""); }
static void side(int number) {
    for (int i = 0; i < 50; i++) {
        if (number == 0) left(i); else right(i);
        swapcontext(&sides[number], &sides[1 - number]);
    }
}
int main(void) {
    p = (unsigned long *)map_file("f", 4096, 0, 0);
    for (int i = 0; i < 2; i++) {
        getcontext(&sides[i]);
        sides[i].uc_stack.ss_sp = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        sides[i].uc_stack.ss_size = 65536;
        sides[i].uc_link = &top;
        makecontext(&sides[i], (void (*)(void))side, 1, i);
    }
    swapcontext(&top, &sides[0]);
    return 0;
}
"""


def test_stacks_of_coroutines(data: Path) -> None:
    run = with_stacks(data, compile_c(data.parent, MAPPED + COROUTINES))
    ways = [[name for name, _ in stack[:3]] for stack in stacks(run, Kind.STORE)]
    assert ways == [["put", way, "side"] for _ in range(50) for way in ("left", "right")]


PYTHON = """
import mmap, sys
file = open(sys.argv[1], "w+b")
file.truncate(4096)
area = mmap.mmap(file.fileno(), 4096)

def put(at, value):
    area[at] = value  # the store

def first(at):
    put(at, 1)  # first

def second(at):
    put(at, 2)  # second

for at in range(50):
    first(at)
    second(at)
exec(compile("first(60)", "one.py", "exec"))
exec(compile("\\nfirst(61)", "two.py", "exec"))
"""


def test_python_frames_of_stores(data: Path) -> None:
    """The interpreter's own stack is the same for all; what tells stores apart are the Python frames."""
    script = data.parent / "script.py"
    script.write_text(PYTHON)
    python = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    run = with_stacks(data, python, "-S", str(script), str(data / "f"))
    found = [[place for place in stack if place[0] in ("put", "first", "second")] for stack in stacks(run, Kind.STORE)]
    numbered = {line.rpartition("# ")[2]: number for number, line in enumerate(PYTHON.splitlines(), 1)}
    ways = [[("put", numbered["the store"]), (way, numbered[way])] for _ in range(50) for way in ("first", "second")]
    assert found[:100] == ways
    assert len(found) == 102
    modules = [[place for place in stack if place[0] == "<module>"] for stack in stacks(run, Kind.STORE)]
    assert [places[0] for places in modules[100:]] == [("<module>", 1), ("<module>", 2)]
    assert_explained(run)


def test_long_recordings(data: Path) -> None:
    """More records than the first rooms hold, of several processes at once, and threads that come and go."""
    body = r"""
    static volatile unsigned long *p;
    static void *work(void *argument) {
        for (int i = 0; i < 2000; i++) p[(long)argument * 2000 + i] = i;
        return NULL;
    }
    int main(void) {
        p = (unsigned long *)map_file("f", 1 << 20, 0, 0);
        for (int child = 0; child < 3; child++)
            if (fork() == 0) {
                for (long part = 0; part < 10; part++) {
                    pthread_t thread;
                    pthread_create(&thread, NULL, work, (void *)(child * 10 + part));
                    pthread_join(thread, NULL);
                }
                _exit(0);
            }
        while (wait(NULL) > 0) {}
        return 0;
    }"""
    run = trace(data, body)
    stores = run.events(Kind.STORE)
    assert len(stores) == 60_000
    for part in range(30):
        mine = [event for event in stores if event.offset // 16000 == part]
        assert [int.from_bytes(event.data, "little") for event in mine] == list(range(2000))
        assert len({event.tid for event in mine}) == 1
    assert len({event.pid for event in stores}) == 3
    assert_explained(run)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system")
def test_full_disk(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned long *p = (unsigned long *)map_file("f", 4096, 0, 0);
        for (;;) (*p)++;
    }"""
    program = compile_c(data.parent, MAPPED + body)
    small = data.parent / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)], check=True)
    try:
        run = record(data, [program], "--memory-tool", str(TOOL), trace=small / "trace", code=125)
        assert "No space left" in run.stderr
        count = len(run.trace.of_kind(Kind.STORE))
        assert count > 50_000
        last = Event(run.trace, int(run.trace.of_kind(Kind.STORE)[-1]))
        assert int.from_bytes(last.data, "little") == count
        del run, last
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs rights to give up")
def test_programs_that_give_up_their_rights(data: Path) -> None:
    """What is executed later as another user still reaches the tracer."""
    body = r"""
    int main(void) { volatile unsigned char *p = map_file("f", 4096, 0, 0); p[1] = 7; return 0; }"""
    program = compile_c(data.parent, MAPPED + body)
    folder = Path(tempfile.mkdtemp(prefix="powercut-"))  # another user cannot reach pytest's folders
    try:
        folder.chmod(0o777)
        shutil.copy(program, folder / "program")
        (folder / "data").mkdir()
        (folder / "data").chmod(0o777)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", folder / "program"]
        run = record(folder / "data", command, "--memory-tool", str(TOOL))
        assert [event.data for event in run.events(Kind.STORE)] == [b"\x07"]
        assert_explained(run)
    finally:
        shutil.rmtree(folder)


def test_a_32_bit_program_runs_without_the_tool(data: Path) -> None:
    source, program = data.parent / "small.s", data.parent / "small"
    source.write_text(".globl _start\n_start: movl $1, %eax\nmovl $5, %ebx\nint $0x80\n")
    for command in (
        ["as", "--32", "-o", f"{program}.o", str(source)],
        ["ld", "-melf_i386", "-o", str(program), f"{program}.o"],
    ):
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("no tools for 32-bit programs")
    if subprocess.run([str(program)], check=False).returncode != 5:
        pytest.skip("no 32-bit programs here")
    run = record(data, ["sh", "-c", f"{program}; test $? = 5"], "--memory-tool", str(TOOL))
    assert run.trace.meta["exit"] == b"exited 0"
    assert run.trace.notes() == [f"{program} is a 32-bit program: its calls are not followed"]


def test_questions_of_the_program_itself_are_not_answered(data: Path) -> None:
    body = r"""
    #include <sys/prctl.h>
    int main(void) {
        for (int question = 1; question < 7; question++)
            if (prctl(0x50435554, question, 0, 0, 0) != -1 || errno != EINVAL) return question;
        OK(write(must(open("f", O_CREAT | O_WRONLY, 0600)), "x", 1));
        return 0;
    }"""
    run = trace(data, body)
    assert run.trace.meta["exit"] == b"exited 0"
    assert_explained(run)
    plain = record(data, [data.parent / "program"])
    assert plain.trace.meta["exit"] == b"exited 0"


def test_each_thread_is_in_order_with_its_calls(data: Path) -> None:
    """Stores stand before the calls that followed them and behind those that came before, in every thread."""
    body = r"""
    static volatile unsigned char *p;
    static int fd;
    static void *work(void *argument) {
        long at = (long)argument;
        for (int i = 1; i <= 100; i++) {
            p[at * 64] = i;
            unsigned char said = i;
            OK(pwrite(fd, &said, 1, at));
        }
        return NULL;
    }
    int main(void) {
        pthread_t threads[4];
        p = map_file("f", 4096, 0, 0);
        fd = must(open("g", O_CREAT | O_WRONLY, 0600));
        for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        return 0;
    }"""
    run = trace(data, body)
    order: dict[int, list[tuple[Kind, int]]] = {}
    for event in run.events(Kind.STORE, Kind.WRITE):
        order.setdefault(event.tid, []).append((event.kind, event.data[0]))
    assert len(order) == 4
    for events in order.values():
        assert events == [(kind, i) for i in range(1, 101) for kind in (Kind.STORE, Kind.WRITE)]
    assert_explained(run)


def test_a_sync_by_another_process_comes_after_the_stores(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned char *p = map_file("f", 4096, 0, 0);
        int there[2], back[2];
        char byte = 0;
        OK(pipe(there)); OK(pipe(back));
        if (fork() == 0) {
            for (int i = 0; i < 20; i++) {
                if (read(there[0], &byte, 1) != 1) _exit(1);
                OK(msync((void *)p, 4096, MS_SYNC));
                OK(write(back[1], &byte, 1));
            }
            _exit(0);
        }
        for (int i = 1; i <= 20; i++) {
            p[0] = i;
            OK(write(there[1], &byte, 1));
            if (read(back[0], &byte, 1) != 1) return 1;
        }
        wait(NULL);
        return 0;
    }"""
    run = trace(data, body)
    found = [event.data[0] if event.kind == Kind.STORE else 0 for event in run.events(Kind.STORE, Kind.MSYNC)]
    assert found == [value for i in range(1, 21) for value in (i, 0)]


def test_python_that_starts_others(data: Path) -> None:
    """posix_spawn, vfork, threads and fork of an interpreter; its children are in the tool, too."""
    body = r"""
    int main(void) { volatile unsigned char *p = map_file("f", 4096, 0, 0); p[1]++; return 0; }"""
    program = compile_c(data.parent, MAPPED + body)
    script = data.parent / "script.py"
    script.write_text(
        "import os, subprocess, sys, threading\n"
        "program = sys.argv[1]\n"
        "subprocess.run([program], check=True)\n"
        "os.waitpid(os.posix_spawn(program, [program], {}), 0)\n"
        "thread = threading.Thread(target=subprocess.check_call, args=([program],))\n"
        "thread.start(); thread.join()\n"
        "if os.fork() == 0: os.execv(program, [program])\n"
        "sys.exit(os.wait()[1])\n"
    )
    python = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    run = record(data, [python, "-S", script, program], "--memory-tool", str(TOOL))
    assert run.trace.meta["exit"] == b"exited 0"
    assert [event.data for event in run.events(Kind.STORE)] == [b"\x01", b"\x02", b"\x03", b"\x04"]
    assert_explained(run)
