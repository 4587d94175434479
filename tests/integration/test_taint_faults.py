"""Faults under taint: which labels the faulting instruction, its address and the branches before it had.

Before: a program that faults in one of several ways because of words in its pool. After: the board names those words,
also when the program was killed, and the stacks of its branches are in the trace.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.heal.board_layout import FaultKind, UseKind

from .memory_kit import needs_tool
from .taint_kit import Tainted, make_pool, run
from .tracer_kit import compile_c

pytestmark = needs_tool

PROGRAM = r"""
#include <signal.h>
#include <setjmp.h>
static volatile uint64_t *pool;
static sigjmp_buf back;
static void on_signal(int number) { siglongjmp(back, number); }
static volatile int zero;
static void __attribute__((noinline, noclone)) give_up(void) { abort(); }
static int __attribute__((noinline, noclone)) decide(void) { if (pool[6] == 6) give_up(); return zero; }
/* A signal from another process, as a time limit sends it. */
static void ask_to_be_killed(void) {
    int ends[2];
    char byte = 0;
    OK(pipe(ends));
    if (must(fork()) == 0) { OK(read(ends[0], &byte, 1)); kill(getppid(), SIGKILL); _exit(0); }
    while (pool[10] == 10) if (pool[11] && byte == 0) OK(write(ends[1], &byte, (byte = 1)));
}
int main(int argc, char **argv) {
    int fd = must(open("pool", O_RDWR)), id;
    pool = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    switch (argv[1][0]) {
    case 'l': return *(volatile int *)(pool[3] - 3);
    case 's': *(volatile int *)(pool[3] - 3) = 1; break;
    case 'd': return 7 / ((int)pool[4] - 4);
    case 'j': ((void (*)(void))(pool[5] - 5))(); break;
    case 'a': return decide();
    case 'e': if (pool[7] > pool[8]) return 0; exit(300 + 3);
    case 'n': *(volatile int *)(long)zero = 1; break;
    case 'h':
        signal(SIGSEGV, on_signal);
        if (sigsetjmp(back, 1) == 0)
            return *(volatile int *)(pool[9] - 9);
        return 0;
    case 'k': ask_to_be_killed(); break;
    case 'm': for (int i = 0; i < 60; i++) if (pool[i] > 50) abort(); break;
    case 'f': id = pool[2] == 2 ? must(fork()) : 0; if (id == 0) abort(); waitpid(id, NULL, 0); return *(int *)pool[0];
    case 'x': execl(argv[0], argv[0], "l", NULL); break;
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_c(tmp_path_factory.mktemp("faults"), PROGRAM, "-O1")


def faulting(data: Path, program: str, how: str, *options: str) -> Tainted:
    make_pool(data, 2)
    return run(data, [program, how], *options)


@pytest.mark.parametrize(
    ("how", "kind", "label"),
    [("l", UseKind.LOAD, 4), ("s", UseKind.STORE, 4), ("d", UseKind.DIVIDE, 5), ("j", UseKind.JUMP, 6)],
)
def test_the_operands_of_the_faulting_instruction_are_told(
    data: Path, program: str, how: str, kind: UseKind, label: int
) -> None:
    tainted = faulting(data, program, how)
    (fault,) = tainted.faults
    assert (fault.kind, fault.number) == (FaultKind.FATAL, 0)
    (operand,) = fault.operands
    assert (operand.kind, operand.labels) == (kind, {label})
    assert operand.address == 0


def test_a_fault_without_labels_has_no_operands(data: Path, program: str) -> None:
    """The pool is mapped but never read: nothing persistent is at fault."""
    tainted = faulting(data, program, "n")
    assert tainted.faults == []


def test_an_abort_is_told_by_the_branch_that_led_there(data: Path, program: str) -> None:
    make_pool(data, 2)
    tainted = run(data, [program, "a"], stacks=True)
    (fault,) = tainted.faults
    assert fault.operands == ()
    (branch,) = fault.thread.branches
    assert branch.labels == {7}
    assert tainted.functions(branch.stack)[:2] == ["decide", "main"]
    assert {"give_up", "decide", "main"} <= set(tainted.functions(fault.stack))


def test_an_exit_with_a_code_is_a_fault(data: Path, program: str) -> None:
    (fault,) = faulting(data, program, "e").faults
    assert (fault.kind, fault.number) == (FaultKind.EXIT, (300 + 3) % 256)
    assert [branch.labels for branch in fault.thread.branches] == [{8, 9}]


def test_a_signal_that_the_program_handles_is_told_as_such(data: Path, program: str) -> None:
    (fault,) = faulting(data, program, "h").faults
    assert (fault.kind, fault.number) == (FaultKind.SIGNAL, 11)
    assert [operand.labels for operand in fault.operands] == [{10}]


def test_a_killed_program_leaves_its_branches(data: Path, program: str) -> None:
    tainted = faulting(data, program, "k")
    assert tainted.faults == []
    (thread,) = tainted.threads
    assert {branch.labels for branch in thread.branches} == {frozenset({11}), frozenset({12})}


def test_a_branch_in_a_loop_is_kept_once_as_it_was_last(data: Path, program: str) -> None:
    (fault,) = faulting(data, program, "m").faults
    (branch,) = fault.thread.branches
    assert (branch.labels, branch.count) == ({52}, 52)


def test_a_forked_child_is_counted_and_does_not_disturb_its_parent(data: Path, program: str) -> None:
    tainted = faulting(data, program, "f")
    assert tainted.refused == 1
    (fault,) = tainted.faults
    assert [operand.labels for operand in fault.operands] == [{1}]


def test_a_program_that_executes_another_hands_the_board_on(data: Path, program: str) -> None:
    (fault,) = faulting(data, program, "x").faults
    assert [operand.labels for operand in fault.operands] == [{4}]
