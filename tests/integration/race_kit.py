"""What the tests of race mode share: programs with threads on a mapped file, and runs with a board."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from powercut.race.board import Board, BoardFlag, Plan, Results, Site
from powercut.trace.reader import Trace

from .memory_kit import MAPPED, TOOL
from .tracer_kit import Recording, compile_c, tracer

EVERYTHING = BoardFlag.LOADS | BoardFlag.CANDIDATE | BoardFlag.ORDER | BoardFlag.ALIASES
COUNTED = BoardFlag.CANDIDATE | BoardFlag.ALIASES

THREADED = (
    MAPPED
    + r"""
#include <semaphore.h>
static unsigned char *pm;
#define WORDS ((volatile unsigned long *)pm)
static inline void clwb(volatile void *at) { __asm__ volatile("clwb %0" : "+m"(*(volatile char *)at) :: "memory"); }
static inline void persist(volatile void *at) { clwb(at); fence(); }
static void run_both(void *(*one)(void *), void *(*two)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
"""
)

# Figure 1 of the paper: x is read between its store and its flush, and y is made of it.
FIGURE_1 = r"""
static void *writer(void *unused) { WORDS[0] = 42; persist(pm); return NULL; }
static void *reader(void *unused) { WORDS[8] = WORDS[0] + 1; persist(&WORDS[8]); return NULL; }
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    run_both(writer, reader);
    return 0;
}
"""


@dataclass
class RaceRun:
    """A run in race mode."""

    recording: Recording
    results: Results

    def shared_sites(self, offset: int) -> tuple[list[Site], list[Site]]:
        """The sites that load and that store a shared word."""
        (word,) = [row for row in self.results.shared if row["offset"] == offset]
        return tuple(  # type: ignore[return-value]
            [self.results.site(int(number)) for number in word[f"{kind}_sites"][: word[f"{kind}_count"]]]
            for kind in ("load", "store")
        )


def build(folder: Path, body: str, *flags: str, language: str = "c") -> str:
    """Compile a program of this text."""
    return compile_c(folder, (THREADED if language == "c" else "") + body, *flags, language=language)


def race(folder: Path, program: str, plan: Plan, *, stacks: bool = False, versions: bool = True) -> RaceRun:
    """Run a program on a new file of the data folder, in race mode.

    Without `versions`, blocks of code have one translation: an option of the tool that its tracer has no name for, so
    it stands where boards do (0 is an open file).
    """
    data, output = folder / "data", folder / "run.trace"
    data.mkdir(exist_ok=True)
    (data / "pm").unlink(missing_ok=True)
    with Board(plan) as board:
        options = ["--output", str(output), "--dir", str(data), "--memory-tool", str(TOOL)]
        options += [] if stacks else ["--no-stacks"]
        options += [] if versions else ["--board", "versions=0"]
        command = [tracer(), *options, "--board", f"race={board.descriptor}", "--", program, "pm"]
        given = [board.descriptor]
        run = subprocess.run(command, cwd=data, capture_output=True, text=True, timeout=60, check=True, pass_fds=given)
        return RaceRun(Recording(run.returncode, Trace.open(output), data, run.stderr), board.read())
