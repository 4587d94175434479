"""Kept verdicts: found by content, by nobody else's; never wrong, whatever happens to their file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import powercut
from powercut.oracle.fingerprint import fingerprint
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search import verdict_cache as kept_module
from powercut.search.cache_check import EVERY, FIRST, CacheCheck, CheckChangedError
from powercut.search.verdict_cache import NAME, VerdictCache

PASS = Verdict(Outcome.PASS, 0, "", 0.25)
FAIL = Verdict(Outcome.FAIL, 3, "f holds öld \udcff", 0.25)
CRASH, HANG = Verdict(Outcome.CRASH, 11, "", 1.0), Verdict(Outcome.HANG, 0, "", 10.0)
CHECK = b"c" * 16


class Store:
    """Kept verdicts in a folder, and what was said about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []

    def open(self, check: bytes = CHECK, *, use: bool = True) -> VerdictCache:
        return VerdictCache(self.folder, check, self.said.append, use=use)

    def fill(self, count: int) -> None:
        """Verdicts of `count` images; every third is refused."""
        kept = self.open()
        for number in range(count):
            kept.keep((number, b"told"), expected(number))
        kept.close()

    def read(self, count: int) -> dict[int, Verdict]:
        kept = self.open()
        found = {number: kept.find((number, b"told")) for number in range(count)}
        kept.close()
        return {number: verdict for number, verdict in found.items() if verdict is not None}


def expected(number: int) -> Verdict:
    return Verdict(Outcome.FAIL, number % 7 + 1, f"image {number}", 0.5) if number % 3 == 0 else PASS


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "output").mkdir()
    return Store(tmp_path / "output")


def test_a_verdict_is_found_by_all_that_it_depends_on(store: Store) -> None:
    kept = store.open()
    kept.keep((1, b"told"), FAIL)
    kept.keep((2, b"told"), PASS)
    kept.close()
    again = store.open()
    assert again.find((1, b"told")) == FAIL
    assert again.find((2, b"told")) == PASS
    assert again.find((3, b"told")) is None
    assert again.find((1, b"told more")) is None
    assert store.open(b"d" * 16).find((1, b"told")) is None
    assert store.open(use=False).find((1, b"told")) is None
    assert store.said == []


def test_what_is_kept_without_using_replaces_what_was_kept(store: Store) -> None:
    store.fill(3)
    fresh = store.open(use=False)
    fresh.keep((0, b"told"), PASS)
    fresh.close()
    assert store.read(1) == {0: PASS}


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to look like one" * 100])
def test_a_file_that_is_none_is_said_and_made_anew(store: Store, content: bytes) -> None:
    (store.folder / NAME).write_bytes(content)
    store.fill(10)
    assert len(store.said) == bool(content)
    assert all(f"{NAME} is damaged" in text for text in store.said)
    assert store.read(10) == {number: expected(number) for number in range(10)}


def test_damage_anywhere_never_gives_a_wrong_verdict(store: Store) -> None:
    store.fill(60)
    path = store.folder / NAME
    whole = path.read_bytes()
    lost = 0
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        found = store.read(60)
        assert all(verdict == expected(number) for number, verdict in found.items()), place
        lost += len(found) < 60
    assert lost > 10  # the damage was seen
    for length in range(0, len(whole), 4096 * 3 + 5):
        path.write_bytes(whole[:length])
        assert all(verdict == expected(number) for number, verdict in store.read(60).items()), length


def test_a_file_that_cannot_be_used_is_said_once_and_done_without(store: Store) -> None:
    (store.folder / NAME).mkdir()
    kept = store.open()
    kept.keep((1, b"told"), PASS)
    kept.flush()
    assert kept.find((1, b"told")) is None
    kept.close()
    assert len(store.said) == 1
    assert store.said[0].startswith("cannot cache verdicts in ")


def test_the_file_stays_below_its_bound_and_forgets_the_oldest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = 400_000
    monkeypatch.setattr(kept_module, "MOST_BYTES", bound)
    clock = iter(range(10**6, 10**8, 100))
    monkeypatch.setattr(kept_module.time, "time", lambda: next(clock))
    kept = store.open()
    for number in range(4000):
        kept.keep((number, b"told"), Verdict(Outcome.FAIL, 1, "x" * 200, 0.5))
        if number % 100 == 99:
            kept.flush()
    kept.close()
    assert (store.folder / NAME).stat().st_size < 1.5 * bound
    found = store.read(4000)
    assert 500 < len(found) < 3000
    assert set(range(min(found) + 100, 4000)) <= found.keys(), "those that were kept last are still there"


WRITER = """\
import sys
from pathlib import Path
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.verdict_cache import VerdictCache
first, last = int(sys.argv[2]), int(sys.argv[3])
kept = VerdictCache(Path(sys.argv[1]), b"c" * 16, lambda text: sys.exit(text))
for number in range(first, last):
    fail = Verdict(Outcome.FAIL, number % 7 + 1, f"image {number}", 0.5)
    kept.keep((number, b"told"), fail if number % 3 == 0 else Verdict(Outcome.PASS, 0, "", 0.25))
    if number % 20 == 19:
        kept.flush()
        print(number, flush=True)
kept.close()
"""


def writer(folder: Path, first: int, last: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(folder), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_two_runs_at_the_same_time_lose_nothing(store: Store) -> None:
    processes = [writer(store.folder, 0, 400), writer(store.folder, 300, 700)]
    for process in processes:
        assert process.communicate(timeout=60)[1] == b""
    assert store.read(700) == {number: expected(number) for number in range(700)}
    assert store.said == []


def test_a_killed_run_loses_no_more_than_what_it_had_not_written(store: Store) -> None:
    process = writer(store.folder, 0, 10**9)
    assert process.stdout is not None
    written = 0
    while written < 200:
        written = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    rest = process.communicate()[0].split()
    written = int(rest[-1]) if rest else written
    found = store.read(written + 40)
    assert store.said == []
    assert all(found[number] == expected(number) for number in range(written + 1))


def test_what_was_written_survives_a_power_cut(store: Store) -> None:
    """powercut on its own file: whatever a cut leaves, it holds all that was said to be written, and nothing wrong."""

    def check(folder: Path, acked: bytes) -> None:
        crashed = Store(folder)
        written = max(map(int, acked.split()), default=-1)
        found = crashed.read(120)
        assert crashed.said == []
        assert all(verdict == expected(number) for number, verdict in found.items())
        assert set(range(written + 1)) <= found.keys()

    command, output = [sys.executable, "-c", WRITER, str(store.folder), "0", "100"], store.folder.parent / "out"
    run = powercut.explore(command, check, dir=store.folder, output=output, max_states=150, lint=False)
    assert run.findings == [] and run.states["tested"] == 150


# What is recalled


def recall(store: Store, **options: bool) -> CacheCheck:
    return CacheCheck(store.open(), **options)


def test_only_what_is_sure_is_kept(store: Store) -> None:
    before: list[tuple[Verdict, Verdict | None]] = [
        *((PASS, None), (FAIL, None), (CRASH, None), (HANG, None)),
        *((CRASH, CRASH), (HANG, HANG), (PASS, CRASH), (FAIL, HANG), (HANG, CRASH)),
    ]
    kept = store.open()
    learning = CacheCheck(kept)
    for number, (verdict, first) in enumerate(before):
        learning.learn((number, b"told"), verdict, first)
    kept.close()
    again = recall(store, resumed=True)
    found = [number for number in range(len(before)) if again.find((number, b"told")) is not None]
    assert found == [0, 1, 4, 5]


def test_some_of_what_is_known_is_asked_for_again_and_all_of_it_in_no_resumed_run(store: Store) -> None:
    count = 3 * EVERY * 2
    store.fill(count)
    asked = [number for number in range(count) if (again := recall(store)).find((number, b"told")) is not None]
    assert asked == [], "each run asks for its first ones"
    again = recall(store)
    known = [number for number in range(count) if again.find((number, b"told")) is not None]
    passes = sum(number % 3 != 0 for number in range(count))
    assert len(known) == count - 2 * FIRST - passes // EVERY - (count - passes) // EVERY + 2
    resumed = recall(store, resumed=True)
    assert all(resumed.find((number, b"told")) == expected(number) for number in range(count))


def test_a_check_that_changed_its_mind_is_noticed(store: Store) -> None:
    store.fill(1)
    again = recall(store)
    assert again.find((0, b"told")) is None
    with pytest.raises(CheckChangedError):
        again.learn((0, b"told"), PASS, None)


# Which check it is


def test_a_check_is_known_by_its_words_files_and_settings(tmp_path: Path) -> None:
    folder = tmp_path / "with a space ü"
    (folder / "package").mkdir(parents=True)
    script, module, other = folder / "check.py", folder / "package" / "store.py", folder / "notes.txt"
    for path in (script, module, other):
        path.write_text("first")
    argv, facts = ["/bin/sh", str(script), str(other), "--flag"], {"timeout": 10.0}
    prints = [fingerprint(argv, {}, facts)]

    def is_new() -> bool:
        prints.append(fingerprint(argv, {}, facts))
        return prints[-1] not in prints[:-1]

    assert not is_new()
    (folder / "more.txt").write_text("nobody's")
    assert not is_new()
    other.write_text("second")
    assert is_new()
    script.write_text("second")
    assert is_new()
    module.write_text("second")
    assert is_new(), "what it may import"
    argv.append("--more")
    assert is_new()
    facts["timeout"] = 5.0
    assert is_new()
    assert fingerprint(argv, {"PYTHONPATH": "/x"}, facts) not in prints
    assert fingerprint(argv, {"COLUMNS": "80"}, facts) in prints


def test_files_inside_of_words_count(tmp_path: Path) -> None:
    script = tmp_path / "verify"
    argv = ["sh", "-c", f"exec {script} --quick", f"--config={tmp_path}/settings", "x" * 5000, "a\0b"]
    seen = set()
    for content in ("one", "two"):
        script.write_text(content)
        seen.add(fingerprint(argv, {}, {}))
        (tmp_path / "settings").write_text(content)
        seen.add(fingerprint(argv, {}, {}))
    assert len(seen) == 4


def test_the_libraries_of_a_program_count(tmp_path: Path) -> None:
    library, program = tmp_path / "librule.so", tmp_path / "check"

    def build(answer: int) -> None:
        (tmp_path / "rule.c").write_text(f"int rule(void) {{ return {answer}; }}")
        subprocess.run(["cc", "-shared", "-o", library, tmp_path / "rule.c"], check=True)

    build(0)
    (tmp_path / "main.c").write_text("int rule(void); int main(void) { return rule(); }")
    subprocess.run(["cc", "-o", program, tmp_path / "main.c", library, f"-Wl,-rpath,{tmp_path}"], check=True)
    before = [fingerprint([str(program)], os.environ, {}) for _ in range(2)]
    build(1)
    assert before[0] == before[1] != fingerprint([str(program)], os.environ, {})
