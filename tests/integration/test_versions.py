"""The translations that a block of code has in race mode tell the same, whichever runs.

Before: random programs whose threads run one after the other, so that nothing depends on time. They store to a mapped
file, flush and fence some of it, load it again, and move what they loaded through registers, the stack, the heap and
other words of the file, in loops: so labels come, go and are over at places that are executed again without any. After:
with code that is left for another translation when something happens, everything in the trace and on the board is what
it is with code that follows labels all the time (`--versions=0`).
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from powercut.race.board import BoardFlag, Plan
from powercut.trace.layout import Kind

from .memory_kit import TOOL
from .race_kit import EVERYTHING, RaceRun, build, race

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

THREADS, ROUNDS, STEPS = 3, 4, 40
TOLD = (Kind.LOAD, Kind.STORE, Kind.CANDIDATE, Kind.EFFECT, Kind.FLUSH, Kind.FENCE)
COUNTS = ("loads", "stores", "inter", "intra", "inter_dropped", "intra_dropped")

# What can be between the file and the rest of memory; `a`, `b` and `c` are numbers of words.
STEP_FORMS = (
    "WORDS[{a}] = {b};",
    "WORDS[{a}] = here[{b}] + heap[{c}];",
    "here[{a}] = WORDS[{b}];",
    "heap[{a}] = WORDS[{b}] + here[{c}];",
    "here[{a}] = heap[{b}]; heap[{c}] = 7;",
    "here[{a}] = 0;",
    "WORDS[{a}] = heap[here[{b}] & 15];",
    "WORDS[8 + (heap[{a}] & 7)] = {b};",
    "if (here[{a}] & 1) WORDS[{b}] = {c};",
    "here[{a}] = added(here[{b}], WORDS[{c}]);",
    "memcpy((void *)&WORDS[{a}], (void *)&heap[{b} & 7], 64);",
    "memcpy((void *)&here[{a} & 7], (void *)&WORDS[{b}], 48);",
    "heap[{a}] = __atomic_fetch_add(&WORDS[{b}], here[{c}], __ATOMIC_SEQ_CST);",
    "here[{a}] = __atomic_exchange_n(&heap[{b}], 3, __ATOMIC_SEQ_CST);",
    "kept += WORDS[{a}];",
    "kept = {b};",
    "WORDS[{a}] = kept;",
    "clwb(&WORDS[{a}]);",
    "persist(&WORDS[{a}]);",
    "fence();",
    # what does something before it loads or stores, or several of it
    'asm volatile("push (%0); pop (%1)" :: "r"(&WORDS[{a}]), "r"(&here[{b}]) : "memory");',
    'asm volatile("push (%0); pop (%1)" :: "r"(&heap[{a}]), "r"(&WORDS[{b}]) : "memory");',
    'asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(some) :: "memory");',
    'asm volatile("repe cmpsb" : "+S"(from), "+D"(to), "+c"(some) :: "memory", "cc");',
    'asm volatile("push %%rbp; mov %%rsp, %%rbp; sub $16, %%rsp; mov (%0), %%rax; mov %%rax, -8(%%rbp);"'
    ' "mov -8(%%rbp), %%rdx; mov %%rdx, (%1); leave" :: "r"(&WORDS[{a}]), "r"(&heap[{b}]) : "rax", "rdx", "memory");',
    'asm volatile("fldt (%0); fstpt (%1)" :: "r"(&WORDS[{a}]), "r"(&heap[{b} & 7]) : "memory");',
)


def random_step(dice: random.Random) -> str:
    a, b, c = (dice.randrange(16) for _ in range(3))
    start = f"from = (void *)&WORDS[{a}]; to = (void *)&heap[{b} & 7]; some = {c} + 1; "
    return start + dice.choice(STEP_FORMS).format(a=a, b=b, c=c)


def random_program(seed: int) -> str:
    dice = random.Random(seed)
    threads = ["\n        ".join(random_step(dice) for _ in range(STEPS)) for _ in range(THREADS)]
    functions = (
        f"""static void *thread_{i}(void *unused) {{
    volatile unsigned long here[24] = {{0}};
    register unsigned long kept asm("r15") = 0;
    for (unsigned long round = 0; round < {ROUNDS}; round++) {{
        void *from, *to; unsigned long some;
        {text}
    }}
    here[0] = kept;
    return NULL;
}}"""
        for i, text in enumerate(threads)
    )
    calls = "".join(f"pthread_create(&id, NULL, thread_{i}, NULL); pthread_join(id, NULL);\n" for i in range(THREADS))
    return f"""
#include <string.h>
static volatile unsigned long *heap;
static __attribute__((noinline)) unsigned long added(unsigned long a, unsigned long b) {{ return a + b; }}
{"".join(functions)}
int main(int argc, char **argv) {{
    pthread_t id;
    pm = map_file(argv[1], 4096, 0, NULL);
    heap = calloc(24, 8);
    {calls}
    return 0;
}}
"""


def told(run: RaceRun) -> list[tuple[int, ...]]:
    threads: dict[int, int] = {}
    return [
        (event.kind, event.offset, event.length, event.flags, event.extra, threads.setdefault(event.tid, len(threads)))
        for event in run.recording.events(*TOLD)
    ]


@pytest.mark.parametrize(
    ("seed", "most", "taint"), [(1, 1 << 30, BoardFlag.TAINT), (3, 2, BoardFlag.TAINT), (4, 1 << 30, BoardFlag(0))]
)
def test_every_translation_tells_the_same(tmp_path: Path, seed: int, most: int, taint: BoardFlag) -> None:
    program = build(tmp_path, random_program(seed), "-O1", "-fno-omit-frame-pointer", "-mno-red-zone")
    plan = Plan(EVERYTHING | taint, most_inter=most, most_intra=most)
    all_the_time = race(tmp_path, program, plan, versions=False)
    expected = told(all_the_time)
    as_needed = race(tmp_path, program, plan)
    assert told(as_needed) == expected
    assert as_needed.results.candidates.tolist() == all_the_time.results.candidates.tolist()
    for name in COUNTS:
        assert getattr(as_needed.results, name) == getattr(all_the_time.results, name), name
    assert as_needed.recording.trace.meta["exit"] == b"exited 0"
    kinds = [row[0] for row in expected]
    assert kinds.count(Kind.CANDIDATE) > 20 and (not taint or kinds.count(Kind.EFFECT) > 20), "the test shows little"
