"""Signal handlers may record, assert and ask at any moment: nothing hangs, and every record is whole and in its place.

The handler comes after every single instruction of what the program does, so that there is no moment that it misses;
and at 10 kHz. What was recorded is judged by the twin of the rules.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness import POWERCUT

import powercut
from tests.assertion_kit import CODES, PROGRAMS, build
from tests.models.assertion_twin import Twin

SOURCE = PROGRAMS / "signals.c"
OUTER = {"outer write": "w", "outer flush": "f", "outer fence": ".", "outer second": "W", "outer assertion": "a"}
INNER = {"inner write": "w", "inner flush": "f", "inner fence": ".", "inner assertion": "a"}
ROUNDS, HANDLED = ("w.Waa", *["wf.Waa"] * 7), ("w.a", *["wf.a"] * 7)  # one mistake in eight
FIRST = "".join(ROUNDS[:2])  # before the signals
Record = tuple[str, int, int, int]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(build(SOURCE, tmp_path_factory.mktemp("signals"), "-O2"))


def records(path: Path) -> list[Record]:
    """(operation, line, address, size) of the records of a saved trace of one thread, in their order."""
    data, at, words = path.read_bytes(), 8, []
    while (head := struct.unpack_from("<4I", data, at))[0] != 0xFFFFFFFF:
        words += struct.iter_unpack("<QQ", data[at + 16 : at + 16 + 16 * head[2]])
        at += 16 + 16 * head[2]
    lines = [struct.unpack_from("<4IQ", data, at + 16 + 24 * site)[2] for site in range(head[1])]
    names = ["", *CODES]
    return [(names[word & 0x7F], lines[word >> 8 & 0xFFFFFF], address, word >> 32) for word, address in words]


def told_by_twin(taken: list[Record]) -> dict[tuple[str, str, int], int]:
    """How often each kind and reason must be found on which line."""
    operations, lines, first = [], [], ()
    for name, line, address, size in taken:
        if name == "first":
            first = (address, size)
        elif name not in ("inside", "forget_ranges"):
            order = name == "is_ordered_before"
            operations.append(("order", *first, address, size) if order else (name, address, size) if size else (name,))
            lines.append(line)
    return Counter((kind, why, lines[at]) for kind, why, at in Twin("x86").run(operations))


def letters(taken: list[Record], marks: dict[str, str]) -> str:
    """A letter for each record that one of the marked lines made."""
    text = enumerate(SOURCE.read_text().splitlines(), 1)
    of_line = {n: letter for n, line in text for mark, letter in marks.items() if f"/* {mark} */" in line}
    return "".join(of_line.get(line, "") for _, line, _, _ in taken)


def is_repeated(text: str, parts: tuple[str, ...]) -> bool:
    whole = "".join(parts)
    return (whole * (len(text) // len(whole) + 1))[: len(text)] == text


def judge(program: str, folder: Path, *words: str, buffer: int = 1 << 15) -> list[Record]:
    """Run it; what is found is what the twin says of what was recorded, and each handler's records are whole."""
    trace = folder / "trace"
    checked = powercut.check_program([program, *words], trace=trace, timeout=100, buffer=buffer)
    assert (checked.code, checked.signal, checked.stopped) == (0, 0, "")
    taken = records(trace)
    assert {(f.pattern, f.why, f.locations[0].line): f.count for f in checked.findings} == told_by_twin(taken)
    assert is_repeated(letters(taken, INNER), HANDLED)
    return taken


@pytest.mark.parametrize("buffer", [16, 1 << 15])
def test_handler_after_each_instruction(program: str, tmp_path: Path, buffer: int) -> None:
    taken = judge(program, tmp_path, "step", "24", buffer=buffer)
    assert is_repeated(letters(taken, OUTER).removeprefix(FIRST), ROUNDS)
    assert len(letters(taken, OUTER)) == len(FIRST) + 24 * 6 - 3
    inside = sum(name == "inside" for name, *_ in taken)
    assert inside > 100, "no handler interrupted a record"


def test_handler_asks_for_results(program: str, tmp_path: Path) -> None:
    taken = judge(program, tmp_path, "results", "4")
    assert is_repeated(letters(taken, OUTER).removeprefix(FIRST), ROUNDS)


def test_handler_jumps_out_of_a_record(program: str, tmp_path: Path) -> None:
    """What it jumped out of is lost; nothing else is, however often it happens."""
    judge(program, tmp_path, "jump", "100")


def test_handlers_at_10_khz(program: str, tmp_path: Path) -> None:
    taken = judge(program, tmp_path, "rate", "100", "100000")
    assert is_repeated(letters(taken, OUTER).removeprefix(FIRST), ROUNDS)
    assert len(letters(taken, OUTER)) == len(FIRST) + 100_000 * 6 - 12_500


def test_threads_that_are_signalled_more_often_lose_no_count(program: str, tmp_path: Path) -> None:
    """Each has a timer of its own, whose signals become one while it waits for a processor."""
    report = tmp_path / "report.json"
    words = [POWERCUT, "check", "--json", report, "--", program, "threads", "4", "50", "1"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    handled, mistakes, of_rounds, *_ = ended.stdout.splitlines()[0].split()
    told = {
        finding["locations"][0]["function"]: finding["count"] for finding in json.loads(report.read_text())["findings"]
    }
    assert int(handled) > 1000
    assert told == {"on_signal": int(mistakes), "rounds": int(of_rounds)}


def test_checking_thread_takes_no_signals(program: str) -> None:
    """A handler that ran there would wait for room that only this thread makes."""
    environment = {**os.environ, "POWERCUT_CHECKER": "thread", "POWERCUT_BUFFER": "16"}
    words = [program, "blocked", "100", "3000"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment, check=True)
    assert ended.stdout == "0 0\n"
