"""The programs of corpus/race/published: right without a seeded race, and one race of each is found.

bench/race_programs.py looks for all of them, and for bugs that are none, with more time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import POWERCUT
from memory_cases import ENVIRONMENT
from race_programs import BuiltProgram, RaceProgram, SeededRace, build_program, marked_lines, race_programs

from powercut.native_programs import why_no_memory_tool
from powercut.race.client import free_port, with_port
from powercut.race.grammar import load_grammar
from powercut.race.seeds import Mutator
from tests.needs import needs_pmdk

QUICKEST = "locks-kept"  # of the races of each program
COMMANDS = 24  # of a run's seed
MARKS = {
    "inter-thread": {"stored": "WRITE", "read": "READ", "effect": "EFFECT"},
    "intra-thread": {"stored": "WRITE", "read": "READ", "effect": "EFFECT"},
    "synchronization": {"taken": "LOCK"},
    "deadlock": {"waits": "LOCK"},
}

needs_tracer = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")
every_program = pytest.mark.parametrize(
    "program",
    [pytest.param(program, marks=[needs_pmdk] if program.libraries else []) for program in race_programs()],
    ids=lambda program: program.name,
)
every_race = pytest.mark.parametrize(
    "seeded",
    [race for program in race_programs() for race in program.races],
    ids=lambda race: f"{race.program}-{race.name}",
)


def carry_out(built: BuiltProgram, seed: bytes) -> str:
    environment = {**os.environ, **ENVIRONMENT}
    with contextlib.ExitStack() as stack:
        command = built.workload if built.client is None else stack.enter_context(served(built))
        done = subprocess.run(command, input=seed, capture_output=True, env=environment, timeout=60)
        assert done.returncode == 0, done.stderr
    check = shlex.split(built.check)
    judged = subprocess.run(check, cwd=built.data, capture_output=True, text=True, env=environment, timeout=60)
    assert judged.returncode == 0, judged.stdout
    return done.stdout.decode()


@contextlib.contextmanager
def served(built: BuiltProgram) -> Iterator[list[str]]:
    """The command of the client, while the server runs."""
    port = free_port()
    with subprocess.Popen(with_port(built.workload, port)) as server:
        try:
            wait_until_it_listens(port)
            yield with_port(shlex.split(built.client or ""), port)
        finally:
            server.terminate()


def wait_until_it_listens(port: int) -> None:
    end = time.monotonic() + 20
    while f":{port:04X} 00000000:0000 0A" not in Path("/proc/net/tcp").read_text():
        assert time.monotonic() < end
        time.sleep(0.01)


def race(program: RaceProgram, built: BuiltProgram, *options: str) -> list[dict[str, Any]]:
    """The findings of a `powercut race` with one short seed that are bugs."""
    folder, grammar = built.data.parent, load_grammar(program.grammar)
    (folder / "seeds").mkdir()
    lines = Mutator(grammar, 7).first().text(grammar).splitlines(keepends=True)
    (folder / "seeds" / "short").write_bytes(b"".join(lines[:COMMANDS]))
    judges = ["--recovery", built.recovery, "--check", built.check, "--json", "report.json"]
    judges += ["--client", built.client] if built.client is not None else []
    command = [str(POWERCUT), "race", "--dir", str(built.data), "--seeds", "seeds", *judges, *options]
    done = subprocess.run([*command, "--", *built.workload], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    candidates = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("powercut: candidate")]
    assert len(set(candidates)) == len(candidates)
    findings = json.loads((folder / "report.json").read_text())["findings"]
    return [finding for finding in findings if finding["severity"] == "error"]


@every_program
def test_without_a_race_commands_of_threads_leave_a_whole_pool(program: RaceProgram, tmp_path: Path) -> None:
    built, grammar = build_program(program, None, tmp_path), load_grammar(program.grammar)
    mutator = Mutator(grammar, 7)
    kept = [mutator.first()]
    for _ in range(5):
        kept.append(mutator.next(kept))
    kept.append(mutator.populate(mutator.populate(kept[0])))
    for seed in kept:
        text = seed.text(grammar)
        assert grammar.refusals(text.count(b"\n"), carry_out(built, text).encode()).refused == 0


@needs_tracer
@every_program
def test_a_seeded_race_is_found_at_its_lines(program: RaceProgram, tmp_path: Path) -> None:
    (seeded,) = [race for race in program.races if race.name == QUICKEST]
    (found,) = race(program, build_program(program, seeded.name, tmp_path), "--max-findings", "1")
    assert found["kind"] == seeded.kind
    for place in found["locations"]:
        marked = marked_lines(program.name, MARKS[seeded.kind][place["role"]], seeded.name)
        assert (Path(place["file"]).name, place["line"]) in marked, found


@every_race
def test_lines_that_a_finding_must_name_are_marked(seeded: SeededRace, tmp_path: Path) -> None:
    for mark in MARKS[seeded.kind].values():
        assert marked_lines(seeded.program, mark, seeded.name)
