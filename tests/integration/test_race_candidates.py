"""Race mode of the memory tracer: which loads see what is not guaranteed, and what durable things depend on them.

Candidates are exactly those of the brute-force twin.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from powercut.race.board import BoardFlag, BoardMode, Plan, module_hash
from powercut.trace.layout import FRAME, Effect, Kind, TableKind
from tests.models.candidate_twin import Expected, Memory, expected_candidates

from .memory_kit import TOOL
from .race_kit import COUNTED, EVERYTHING, FIGURE_1, RaceRun, build, race
from .tracer_kit import Event

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

LONG = Plan(flags=EVERYTHING, most_inter=1 << 30, most_intra=1 << 30)


def random_operation(rng: random.Random) -> str:
    """An operation on one of four lines, as C; each is an instruction of its own place."""
    offset = rng.randrange(256)
    kind, size = rng.choice(("unsigned char", "unsigned short", "unsigned int", "unsigned long")), rng.randrange(4)
    word = offset & ~7
    return rng.choice(
        (
            f"*(volatile {kind} *)(pm + {offset}) = {rng.randrange(200)};",
            f"*(volatile {kind} *)(pm + {offset}) = {rng.randrange(200)};",
            f"sum += *(volatile {kind} *)(pm + {offset});",
            f"sum += *(volatile {kind} *)(pm + {offset});",
            f'__asm__ volatile("movups (%0), %%xmm0" :: "r"(pm + {offset}) : "xmm0", "memory");',
            f'__asm__ volatile("movnti %1, (%0)" :: "r"(pm + {word}), "r"({size}ul) : "memory");',
            f"sum += __atomic_fetch_add((unsigned long *)(pm + {word}), {size}, __ATOMIC_SEQ_CST);",
            f"sum += __atomic_exchange_n((unsigned long *)(pm + {word}), {size}, __ATOMIC_SEQ_CST);",
            f"clwb(pm + {offset});",
            f'__asm__ volatile("clflushopt (%0)" :: "r"(pm + {offset}) : "memory");',
            f'__asm__ volatile("clflush (%0)" :: "r"(pm + {offset}) : "memory");',
            "fence();",
            "sched_yield();",
        )
    )


def random_program(seed: int) -> str:
    """Two threads that keep in step, so that they meet on any machine."""
    rng = random.Random(seed)
    steps = [["\n".join(random_operation(rng) for _ in range(8)) for _ in range(20)] for _ in range(2)]
    threads = ["\npthread_barrier_wait(&step);\n".join(some) for some in steps]
    return (
        "#include <sched.h>\nstatic volatile unsigned long sum;\nstatic pthread_barrier_t step;\n"
        + "".join(
            f"static void *thread_{i}(void *unused) {{\n{text}\nreturn NULL;\n}}\n" for i, text in enumerate(threads)
        )
        + "int main(int argc, char **argv) {\npm = map_file(argv[1], 4096, 0, NULL);\n"
        "pthread_barrier_init(&step, NULL, 2);\nrun_both(thread_0, thread_1);\nreturn 0;\n}\n"
    )


def memory_of(event: Event) -> Memory:
    return Memory(event.kind, event.tid, event.inode, event.offset, event.length, event.flags, event.extra)


def told_and_expected(run: RaceRun) -> tuple[list[list[Expected]], list[list[Expected]]]:
    """For each load of a trace, the candidates that the tracer told and those that the twin expects."""
    past: list[Memory] = []
    told: list[list[Expected]] = []
    expected: list[list[Expected]] = []
    tracked = (Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.LOAD, Kind.CANDIDATE)
    rows = run.results.candidates
    for event in run.recording.events(*tracked):
        if event.kind == Kind.CANDIDATE:
            row = rows[event.extra - 1]
            told[-1].append(Expected(event.inode, event.offset, event.length, bool(row["reader"] != row["writer"])))
        elif event.kind == Kind.LOAD:
            told.append([])
            expected.append(list(expected_candidates(past, memory_of(event))))
        else:
            past.append(memory_of(event))
    return told, expected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_candidates_are_exactly_those_of_the_twin(tmp_path: Path, seed: int) -> None:
    program = build(tmp_path, random_program(seed))
    plan = replace(LONG, mode=BoardMode.DELAY, seed=seed, delay_us=20, delay_one_in=4)
    run = race(tmp_path, program, plan)
    told, expected = told_and_expected(run)
    assert told == expected
    found = [candidate for some in told for candidate in some]
    inter = sum(candidate.inter for candidate in found)
    assert (run.results.inter, run.results.intra) == (inter, len(found) - inter)
    assert inter > 3, "threads did not meet: the test shows little"
    assert run.results.delays > 0
    assert run.results.switches > 5


def test_a_pair_is_recorded_so_many_times_and_then_counted(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    unsigned long sum = 0;
    for (int i = 0; i < 100; i++) { WORDS[0] = i; sum += WORDS[0]; }
    return sum == 4950 ? 0 : 1;
}
"""
    run = race(tmp_path, build(tmp_path, body), Plan(COUNTED, most_intra=8))
    assert [event.extra for event in run.recording.events(Kind.CANDIDATE)] == list(range(1, 9))
    assert (run.results.intra, run.results.intra_dropped, run.results.inter) == (100, 92, 0)
    assert run.results.candidates["load_occurrence"].tolist() == list(range(1, 9))


def test_what_msync_and_fsync_write_is_guaranteed(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 8192, 0, NULL);
    unsigned long sum = 0;
    WORDS[0] = 1; WORDS[512] = 2;
    OK(msync(pm, 4096, MS_SYNC));
    sum += WORDS[0];
    sum += WORDS[512]; /* the other page */
    int fd = must(open(argv[1], O_RDWR));
    OK(fsync(fd));
    sum += WORDS[512];
    return sum == 5 ? 0 : 1;
}
"""
    run = race(tmp_path, build(tmp_path, body), LONG)
    assert [event.offset for event in run.recording.events(Kind.CANDIDATE)] == [4096]


def test_what_the_kernel_reads_is_loaded(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    memcpy(pm + 100, "hello, world", 12);
    OK(write(1, pm + 100, 12));
    return 0;
}
"""
    run = race(tmp_path, build(tmp_path, body), LONG)
    loaded = [(event.offset, event.offset + event.length) for event in run.recording.events(Kind.CANDIDATE)]
    found = {byte for start, end in loaded for byte in range(start, end)}
    assert found == set(range(100, 112))


@pytest.mark.parametrize("flags", [(), ("-no-pie",)])
def test_sites_are_those_of_the_stacks(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = build(tmp_path, FIGURE_1, *flags)
    run = race(tmp_path, program, Plan(EVERYTHING), stacks=True)
    trace = run.recording.trace
    for kind, (site,) in zip((Kind.LOAD, Kind.STORE), run.shared_sites(0), strict=True):
        stack = next(event.stack for event in run.recording.events(kind) if event.offset == 0)
        innermost = np.frombuffer(trace.entry(TableKind.STACK, stack), FRAME)[0]
        path = trace.entry(TableKind.MODULE, int(innermost["ref"])).split(b"\0")[0]
        assert site == (module_hash(path), int(innermost["addr"]))


def effects(run: RaceRun) -> list[tuple[int, Effect, int]]:
    """For each effect: its candidate, how it depends on that, and the offset of the store before it."""
    found, stored = [], -1
    for event in run.recording.events(Kind.STORE, Kind.EFFECT):
        if event.kind == Kind.STORE:
            stored = event.offset
        else:
            found.append((event.extra, Effect(event.length), stored))
    return found


def test_stores_and_calls_that_depend_on_candidates_are_effects(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    WORDS[0] = 3;
    unsigned long x = WORDS[0];             /* 1 */
    WORDS[8] = x + 1;
    WORDS[16 + 8 * (x & 1)] = 7;
    WORDS[0] = x;                           /* its own bytes: nothing that was not there before */
    persist(pm);
    WORDS[32] = x;                          /* guaranteed by now */
    WORDS[40] = 0x61;
    unsigned long letter = __atomic_exchange_n(&WORDS[40], 0x62, __ATOMIC_SEQ_CST); /* 2 */
    char text[2] = {(char)letter, '\n'};
    OK(write(1, text, 2));
    OK(write(1, pm + 320, 1));              /* 3: read by the kernel itself */
    return 0;
}
"""
    run = race(tmp_path, build(tmp_path, body), Plan(EVERYTHING | BoardFlag.TAINT, most_intra=1 << 30))
    assert [event.offset for event in run.recording.events(Kind.CANDIDATE)] == [0, 320, 320]
    told = effects(run)
    assert told[:2] == [(1, Effect.VALUE, 64), (1, Effect.ADDRESS, 192)]
    assert [(number, how) for number, how, _ in told[2:]] == [(2, Effect.OUTPUT), (3, Effect.OUTPUT)]
