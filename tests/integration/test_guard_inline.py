"""The guard on programs built by `powercut cc`, which flush by instructions of their own: all of it is in the log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import powercut
from powercut.assertions.build import linker_flags
from powercut.guard.endings import place_calls
from powercut.guard.history import History
from powercut.guard.log import CHANGES, GuardLog
from powercut.guard.supervise import Supervisor, Watch
from powercut.heal.session import Restart, Session
from powercut.trace.symbols import Symbolizer, user_frame
from tests.needs import needs_memory_tool

POWERCUT = Path(sys.executable).with_name("powercut")
SOURCE = Path(__file__).parents[1] / "guard_programs" / "raw.c"
POOL_BYTES = 8192
ROUNDS = 200
CUT_ROUNDS, STATES = 3, 40
DONE, SWAPPED = 16, 64 + 256 + 64  # offsets in the pool
OF_A_ROUND = 7  # lines that a round makes durable: 4 of text, one stored around the cache, two counters


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The service with libpowercut as a shared library, with it inside, and so with libpmem."""
    folder = tmp_path_factory.mktemp("inline")
    options = ["-g", "-O1", "-pthread", SOURCE]
    subprocess.run([POWERCUT, "cc", *options, "-o", folder / "shared"], check=True)
    subprocess.run([POWERCUT, "cc", *options, "-c", "-o", folder / "raw.o"], check=True)
    subprocess.run(["gcc", folder / "raw.o", "-o", folder / "inside", *linker_flags(static=True)], check=True)
    pmem = [folder / "raw.o", "-Wl,--no-as-needed", "-lpmem", *linker_flags(static=True)]
    if Path("/usr/include/libpmem.h").exists():
        subprocess.run(["gcc", "-o", folder / "libpmem", *pmem], check=True)
    return {name: folder / name for name in ("shared", "inside", "libpmem")}


class Raw:
    """A service on a file that it maps itself."""

    def __init__(self, program: Path, folder: Path) -> None:
        (folder / "data").mkdir()
        self.program, self.pool, self.log = program, folder / "data" / "a pool", folder / "log"
        self.pool.write_bytes(bytes(POOL_BYTES))

    def guard(self, *words: object) -> None:
        command = [str(self.program), str(self.pool), *map(str, words)]
        Supervisor(command, self.log, [self.pool], Watch(), print).run(restarts=1)

    def history(self) -> History:
        log = GuardLog(self.log)
        return History(log, log.pools[1])

    def count(self) -> list[str]:
        done = subprocess.run([self.program, self.pool, "count"], capture_output=True, text=True, check=True)
        return done.stdout.split()


@pytest.mark.parametrize("how", ["shared", "inside"])
def test_the_log_has_each_line_that_was_flushed_and_where(programs: dict[str, Path], tmp_path: Path, how: str) -> None:
    raw = Raw(programs[how], tmp_path)
    raw.guard("rounds", ROUNDS, 4)
    history = raw.history()
    assert list(history.differences()) == []
    assert len(history.log.of_kind(*CHANGES)) == 4 * ROUNDS * OF_A_ROUND
    sites = sorted(set(history.log.records["site"][history.changes].tolist()))
    places = (place.split("+") for place in place_calls(history.log, sites))
    frames = Symbolizer().resolve((path, int(offset, 16) - 1) for path, offset in places)
    lines = SOURCE.read_text().splitlines()
    named = {lines[frame.line - 1] for stack in frames.values() if (frame := user_frame(stack)) and frame.line}
    assert {mark for line in named for mark in ("SITE: flush", "SITE: stream") if mark in line} == {
        "SITE: flush",
        "SITE: stream",
    }


@pytest.mark.parametrize("words", [("kill", 30), ("mixed",)], ids=["killed behind a fence", "to and fro"])
def test_the_log_knows_whatever_a_fence_made_durable(
    programs: dict[str, Path], tmp_path: Path, words: tuple[object, ...]
) -> None:
    raw = Raw(programs["shared"], tmp_path)
    raw.guard(*words)
    assert list(raw.history().differences()) == []


@needs_memory_tool
def test_one_bad_word_is_taken_back_out_of_a_line_that_others_wrote_to(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    raw = Raw(programs["shared"], tmp_path)
    raw.guard("rounds", ROUNDS, 4)
    raw.guard("fault")
    restart = Restart([str(raw.program), str(raw.pool), "count"], raw.pool.parent, timeout=5)
    session = Session(raw.log, None, restart, print)
    plan, first = session.plan()
    assert first.how == "signaled"
    place = session.place(plan.steps[0].cause)
    assert place is not None and place.line is not None
    assert "SITE: bad" in SOURCE.read_text().splitlines()[place.line - 1]
    healing = session.heal(plan)
    assert healing is not None and len(healing.records) == 1
    session.change(healing)
    assert raw.count() == [str(ROUNDS + 5)] * 4, "what was counted behind the flag, in its line, is still there"


@needs_memory_tool
@pytest.mark.skipif(not Path("/usr/include/libpmem.h").exists(), reason="libpmem-dev is not there")
def test_a_power_cut_never_leaves_the_log_behind_a_fence(
    programs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A counter is stored after the fence that made another one durable: the log knows the other whenever it is there.

    Log and pool lie in one folder, in persistent memory.
    """
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    raw = Raw(programs["libpmem"], tmp_path)
    raw.log = raw.pool.parent / "log"
    environment = Supervisor([], raw.log, [raw.pool], Watch(), print)._environment()
    given = [f"{name}={value}" for name, value in environment.items() if name != "LD_PRELOAD"]
    start = f'LD_PRELOAD=\'{environment["LD_PRELOAD"]}\' exec "$0" "$1" rounds {CUT_ROUNDS} 1'
    met = tmp_path / "met"

    def check(folder: Path) -> None:
        content = raw.pool.read_bytes()
        after = int.from_bytes(content[SWAPPED : SWAPPED + 8], "little")
        if after:
            known = int.from_bytes(raw.history().content(DONE, DONE + 8), "little")
            assert known >= after, (known, after)
            with met.open("a") as file:
                file.write(f"{after}\n")

    run = powercut.explore(
        ["env", *given, "sh", "-c", start, str(raw.program), str(raw.pool)],
        check, dir=raw.pool.parent, tracer="memory", memory="px86", max_states=STATES, cache=False, lint=False,
    )  # fmt: skip
    assert not run.findings and run.states["tested"] >= STATES, run.findings
    assert len(set(met.read_text().split())) > 1
