"""What instructions do to memory, by their text: the disassembler is asked how many bytes each one writes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from powercut.assertions.assembly import Rewriter
from powercut.assertions.instructions import UnknownStoreError, effect_of, split_operands

STORES = """
movb %al, (%rdi)
movw %ax, 2(%rdi)
movl %eax, 4(%rdi,%rcx,4)
movq %rax, (%rbx)
mov %r9d, (%rbx)
mov %r9w, (%rbx)
mov %sil, (%rbx)
mov %ah, (%rbx)
movq $7, 8(%r12)
movl $.text, (%rdi)
addq $1, (%rax)
subl %ecx, -4(%r15)
incw (%rsi)
decq (%rsi)
notb (%rsi)
negl (%rsi)
shlq %cl, (%rdi)
sarl (%rdi)
orb $4, (%rdx)
andq %rbx, (%rdx)
xorl $1, (%rdx)
btsq $3, (%rdx)
sete (%rdi)
setnbe 1(%rdi)
popq (%rdi)
movss %xmm0, (%rdi)
movsd %xmm1, (%rdi)
movd %xmm1, (%rdi)
movq %xmm1, (%rdi)
movaps %xmm2, (%rdi)
movupd %xmm2, (%rdi)
movdqa %xmm3, (%rdi)
movdqu %xmm3, (%rdi)
movlps %xmm3, (%rdi)
movhps %xmm3, (%rdi)
movhpd %xmm3, (%rdi)
vmovss %xmm0, (%rdi)
vmovups %ymm0, (%rdi)
vmovdqu %ymm0, (%rdi)
vmovdqu64 %zmm0, (%rdi)
vmovdqu8 %ymm17, (%rdi)
vmovaps %zmm0, 64(%rdi)
vextracti128 $1, %ymm0, (%rdi)
vextracti64x4 $1, %zmm0, (%rdi)
vextractf32x4 $1, %ymm18, (%rdi)
pextrb $1, %xmm0, (%rdi)
vpextrw $1, %xmm0, (%rdi)
pextrd $1, %xmm0, (%rdi)
pextrq $1, %xmm0, (%rdi)
extractps $1, %xmm0, (%rdi)
vpmovqd %zmm0, (%rdi)
vpmovwb %ymm17, (%rdi)
vpmovusdb %zmm0, (%rdi)
vcvtps2ph $0, %ymm0, (%rdi)
kmovq %k1, (%rdi)
stmxcsr (%rdi)
fstps (%rdi)
fstl (%rdi)
fstpt (%rdi)
fistpll (%rdi)
fisttpl (%rdi)
fnstcw (%rdi)
movbe %rax, (%rdi)
movntiq %rax, (%rdi)
movnti %eax, (%rdi)
movntdq %xmm0, (%rdi)
vmovntps %ymm0, (%rdi)
vmovntdq %zmm0, (%rdi)
movntq %mm0, (%rdi)
lock addq $1, (%rdi)
lock xaddl %eax, (%rdi)
xchgq %rax, (%rdi)
xchgl (%rdi), %eax
lock cmpxchgq %rcx, (%rdi)
lock cmpxchg16b (%rdi)
lock cmpxchgb %cl, (%rdi)
shldq $3, %rax, (%rdi)
""".strip().splitlines()
NOT_STORES = """
movq (%rdi), %rax
cmpq %rax, (%rdi)
cmpb $0, (%rdi)
testl $1, (%rdi)
pushq (%rdi)
call *(%rdi)
jmp *8(%rdi,%rax,8)
call other
nopw 0(%rax,%rax,1)
prefetcht0 (%rdi)
mulq (%rdi)
idivl 8(%rdi)
imulq (%rdi)
btq $1, (%rdi)
flds (%rdi)
fildll (%rdi)
faddl (%rdi)
ldmxcsr (%rdi)
leaq 8(%rdi), %rax
movsbl (%rdi), %eax
movslq %eax, %rdx
movzwl (%rdi), %eax
ucomisd (%rdi), %xmm0
vpaddd (%rdi), %ymm0, %ymm1
movq %rax, 8(%rsp)
movq %rax, variable(%rip)
movl $1, variable
movq %rax, %fs:(%rdi)
movl %eax, table(,%rdx,4)
lfence
rep ret
""".strip().splitlines()
_BYTES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "TBYTE": 10}
_BYTES |= {"OWORD": 16, "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}


def effect_name(instruction: str, *, frame: bool = False) -> str:
    words = instruction.split(None, 1)
    prefixes = []
    while words[0] in ("lock", "rep"):
        prefixes.append(words[0])
        words = words[1].split(None, 1)
    effect = effect_of(prefixes, words[0], split_operands(words[1] if len(words) > 1 else ""), frame=frame)
    return "" if effect is None else effect.succeeds or effect.name


def disassembled(instructions: list[str], folder: Path) -> list[str]:
    """The instructions as the disassembler shows them, with the sizes of their memory operands."""
    source, target = folder / "text.s", folder / "text.o"
    source.write_text("\n".join(instructions) + "\n")
    subprocess.run(["as", "-o", target, source], check=True)
    shown = subprocess.run(["objdump", "-dw", "-Mintel", "--no-show-raw-insn", target], check=True, capture_output=True)
    lines = shown.stdout.decode().splitlines()
    return [line.partition("\t")[2] for line in lines if re.match(r"\s+[0-9a-f]+:\t", line)]


def test_stores_are_as_large_as_the_disassembler_says(tmp_path: Path) -> None:
    shown = disassembled(STORES, tmp_path)
    assert len(shown) == len(STORES)
    for instruction, text in zip(STORES, shown, strict=True):
        size = re.search(r"(\w+) PTR", text)
        expected = _BYTES[size[1]] if size else {"fnstcw": 2, "stmxcsr": 4}[text.split()[0]]
        kind, _, number = effect_name(instruction).rpartition("_")
        assert (instruction, int(number)) == (instruction, expected)
        nontemporal, atomic = "movnt" in instruction, instruction.startswith(("lock", "xchg"))
        assert kind == ("nt" if nontemporal else "locked" if atomic and "cmpxchg" not in instruction else "store")


@pytest.mark.parametrize("instruction", NOT_STORES)
def test_what_writes_nothing_or_not_through_a_pointer_is_no_store(instruction: str) -> None:
    assert effect_name(instruction) == ""


def test_frame_pointer_points_to_the_stack_only_where_it_is_one() -> None:
    assert effect_name("movq %rax, -8(%rbp)", frame=True) == ""
    assert effect_name("movq %rax, -8(%rbp)", frame=False) == "store_8"


def test_store_of_unknown_size_is_not_passed_over_in_silence() -> None:
    for instruction in ("vscatterdps %zmm0, (%rdi,%zmm1,4){%k1}", "vmovdqu32 %zmm0, (%rdi){%k2}"):
        with pytest.raises(UnknownStoreError):
            effect_name(instruction)
    rewriter = Rewriter()
    assert rewriter.rewrite("\twobble %rax, (%rdi)\n") == "\twobble %rax, (%rdi)\n"
    assert rewriter.unknown == {"wobble"}


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("lock; xaddq %rax, (%rdi)", ["locked_8"]),
        ("lock\n\txaddq %rax, (%rdi)", ["locked_8"]),
        ("1: lock cmpxchgq %rcx, (%rdi); jne 1b", ["fence", "store_8"]),
        (".byte 0x66; clflush (%rax)", ["flush"]),
        (".byte 0x66; xsaveopt (%rax)", ["flush"]),
        ("xsaveopt (%rax)", []),
        (".byte 0x66, 0x0f, 0xae, 0x30", ["flush"]),
        (".byte 0x66, 0x41, 0x0f, 0xae, 0x72, 0x08", ["flush"]),
        (".byte 0x0f, 0xae, 0xf8", ["fence"]),
        (".byte 0x0f, 0xae, 0xe8", []),
        ("rep; movsq", ["repeat_8"]),
        ("rep stosb", ["repeat_1"]),
        ("movsq", ["store_8"]),
        ("lock orl $0, (%rsp)", ["fence"]),
        ("call memcpy@PLT", ["copy"]),
        ("jmp memset", ["copy"]),
        ("call *memmove@GOTPCREL(%rip)", ["copy"]),
        ("call __strcpy_chk@PLT", ["string"]),
        ("call mymemcpy@PLT", []),
        ("# clwb (%rax)", []),
        ("movq $1, (%rax) # clwb (%rax)", ["store_8"]),
        ('.string "; clwb (%rax); sfence"', []),
        ('.ascii "lock; mfence"', []),
        ("clwb (%rax); sfence; movq $1, (%rax)", ["flush", "fence", "store_8"]),
        (".intel_syntax noprefix\n\tclwb [rax]\n\t.att_syntax\n\tsfence", ["fence"]),
    ],
)
def test_entries_are_called_in_the_order_of_the_instructions(text: str, entries: list[str]) -> None:
    rewriter = Rewriter()
    assert re.findall(r"call \*pc_at_(\w+)@", rewriter.rewrite(f"\t{text}\n")) == entries
    assert rewriter.intel == (".intel" in text)


def test_text_without_anything_to_record_stays_as_it_is() -> None:
    text = '\t.file\t"a.c"\nmain:\n.LFB0:\n\tmovl $0, %eax ; nop # nothing\n\tret\n\t.string "(%rdi);"'
    assert Rewriter().rewrite(text) == text


def test_code_bytes_of_the_program_are_all_there_in_their_order(tmp_path: Path) -> None:
    """What is added can be taken away again: the rest is the program, instruction by instruction."""
    plain = disassembled(STORES, tmp_path)
    instrumented = disassembled(Rewriter().rewrite("".join(f"\t{line}\n" for line in STORES)).splitlines(), tmp_path)
    ours = re.compile(r"lea +rsp,\[rsp[-+]0x80\]|push +rdi|pop +rdi|call +QWORD PTR \[rip|lea +rdi,|jne")
    assert [line for line in instrumented if not ours.match(line)] == plain
