"""A signal that kills a program with threads is seen as such, with its place, in whatever translation of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.findings.places import Places
from powercut.race.board import BoardFlag, BoardMode, Plan
from powercut.trace.layout import Kind, Order

from .memory_kit import TOOL
from .race_kit import EVERYTHING, RaceRun, build, race

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

# A thread dies by a pointer that another one has stored and not made durable, while others spin on a lock it holds.
WILD = r"""
static void *runs(void *me) {
    for (int i = 0; i < 12; i++) {
        while (!__sync_bool_compare_and_swap(&WORDS[0], 0, 1)) ;
        WORDS[16] = WORDS[8] + i; persist(&WORDS[16]);
        if (i == 9) {
            WORDS[24] = 64;
            WORDS[32] = *(unsigned long *)(WORDS[24] + HOW); // DIES
        }
        WORDS[8]++;
        __sync_lock_release(&WORDS[0]);
    }
    return me;
}
int main(int argc, char **argv) {
    pthread_t threads[4];
    pm = map_file(argv[1], 4096, 0, NULL);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, runs, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""
FLAGS = EVERYTHING | BoardFlag.TAINT


def places_of_death(run: RaceRun) -> list[str]:
    trace = run.recording.trace
    orders = trace.of_kind(Kind.ORDER)
    stuck = orders[trace.at("extra", orders) == Order.STUCK].tolist()
    places = Places(trace)
    return [places.location(event, "dies", "").short for event in stuck]


@pytest.mark.parametrize("how", ["0", "(1ul << 63)"])
@pytest.mark.parametrize("mode", [BoardMode.FREE, BoardMode.DELAY])
def test_every_death_is_seen_with_its_place(tmp_path: Path, how: str, mode: BoardMode) -> None:
    program = build(tmp_path, WILD.replace("HOW", how), "-g", "-O1")
    lines = next(tmp_path.glob("*.c")).read_text().splitlines()
    where = next(number for number, line in enumerate(lines, 1) if line.endswith("// DIES"))
    for seed in (1, 2):
        run = race(tmp_path, program, Plan(FLAGS, mode, seed=seed), stacks=True)
        assert run.recording.trace.meta["exit"] == b"signaled 11"
        (place,) = places_of_death(run)
        assert place.endswith(f".c:{where}")
