"""`powercut try`: a fix that is put in by the tracer, what becomes of the finding, and what cannot be tried."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import powercut
from powercut.errors import PowercutError, UsageError
from powercut.findings.finding import TriedOutcome
from powercut.native_programs import memory_tool
from powercut.testing.try_fix import try_fix
from tests.cli.kit import Ended, World

SAVE = """\
import os
def save():
    with open("data/f.tmp", "w") as file:
        file.write("new")
    os.replace("data/f.tmp", "data/f")
    print("saved")
save()
"""
LOG = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int text, mark;
static void put(int fd, const char *what) {
    if (write(fd, what, strlen(what)) < 0) _exit(9);
}
static void *writer(void *unused) {
    put(text, "content");
    return unused;
}
int main(void) {
    pthread_t thread;
    text = open("data/text", O_CREAT | O_WRONLY, 0600);
    mark = open("data/mark", O_CREAT | O_WRONLY, 0600);
    sync();
    pthread_create(&thread, NULL, writer, NULL);
    pthread_join(thread, NULL);
    put(mark, "done");
    return 0;
}
"""
LOG_CHECK = 'case "$(cat mark)" in "") ;; *) [ "$(cat text)" = content ] || { echo "text is lost"; exit 1; } ;; esac'
POOL = r"""
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
static void persist(void *at) { __asm__ volatile("clflush (%0); sfence" ::"r"(at) : "memory"); }
int main(void) {
    int fd = open("data/pool", O_CREAT | O_RDWR, 0600);
    if (ftruncate(fd, 4096) != 0) return 9;
    sync();
    uint64_t *pool = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 1; i <= 2; i++) {
        pool[8 * i] = 42;
        pool[0] = (uint64_t)i;
        persist(pool);
    }
    return 0;
}
"""
POOL_CHECK = """\
import struct, sys
try:
    words = struct.unpack("<512Q", open("pool", "rb").read().ljust(4096, bytes(1)))
except FileNotFoundError:
    sys.exit(0)
sys.exit(any(words[8 * i] != 42 for i in range(1, words[0] + 1)))
"""


@dataclass(frozen=True)
class Saved:
    """A run of a program that syncs nothing, with the ids of its findings: lost content, a lost name that was told."""

    world: World
    content: str
    name: str

    @property
    def run(self) -> Path:
        return self.output / "runs/0001"

    @property
    def output(self) -> Path:
        return self.world.here / ".powercut"

    def change(self, **change: object) -> None:
        """Change the finding of the content in the saved run; `fix` only in part."""
        run = json.loads((self.run / "run.json").read_text())
        (finding,) = [finding for finding in run["findings"] if finding["id"] == self.content]
        fix = {**finding["fix"], **change.pop("fix", {})}  # type: ignore[dict-item]
        finding.update({**change, "fix": fix})
        (self.run / "run.json").write_text(json.dumps(run))

    def refused(self) -> PowercutError:
        with pytest.raises(PowercutError) as caught:
            try_fix(self.output, self.content)
        return caught.value


@pytest.fixture(scope="module")
def tested_once(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    world = World.make(tmp_path_factory.mktemp("saved").resolve())
    (world.here / "save.py").write_text(SAVE)
    found = {one["kind"]: one for one in findings_of(world, [sys.executable, "save.py"], "sh check", "--fs", "xfs")}
    return Saved(world, found["unpersisted"]["id"], found["durability"]["id"])


@pytest.fixture
def saved(tested_once: Saved) -> Iterator[Saved]:
    """The same run for each test, as it was."""
    kept = {path: path.read_bytes() for path in (tested_once.run / "run.json", tested_once.run / "plan.json")}
    yield tested_once
    for path, content in kept.items():
        path.write_bytes(content)
    (tested_once.world.here / "save.py").write_text(SAVE)


def findings_of(world: World, program: list[str], check: str, *options: str) -> list[dict[str, Any]]:
    ended = world.run("test", "--dir", "data", "--check", check, "--json", "run.json", *options, "--", *program)
    assert ended.code == 1, ended.err
    found: list[dict[str, Any]] = json.loads((world.here / "run.json").read_text())["findings"]
    return found


def compiled(world: World, source: str) -> list[str]:
    (world.here / "program.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "program.c", "-o", "program", "-pthread"], cwd=world.here, check=True)
    return ["./program"]


def said(ended: Ended) -> str:
    return ended.out.splitlines()[0]


def test_a_finding_is_gone_with_its_fix_and_others_remain(saved: Saved) -> None:
    world, content, name = saved.world, saved.content, saved.name
    ended = world.run("try", content[:4], "--json", "tried.json")
    assert ended.code == 0, ended.err
    assert said(ended) == f"{content}  tried: gone"
    assert "sync added once, " in ended.out
    assert f"Other findings that remain:\n  {name}  The program printed 'saved'" in ended.out
    shown = world.run("show", content, "--no-diff").out
    assert "(verified in the model; tried: gone)" in " ".join(shown.split())
    document = json.loads((world.here / "tried.json").read_text())
    run = f"0001/tried/{content}"
    assert (document["finding"], document["tried"]["outcome"], document["tried"]["run"]) == (content, "gone", run)
    assert document["findings"][0]["replay"] == f"powercut replay {run}/{name}"
    assert f"{name}  acknowledged but lost" in world.run("show", run).out
    listed = [line.split() for line in world.run("show", f".powercut/runs/{run}/trace").out.splitlines()]
    (added,) = (words for words in listed if "(added" in words)
    assert added[2:] == ["fdatasync", "f.tmp", "(added", "by", "powercut)", "[HERE/save.py:5]"]
    assert world.runs() == ["0001"]


def test_a_sync_of_the_directory_in_front_of_what_is_said(saved: Saved) -> None:
    assert try_fix(saved.output, saved.name).gone
    ended = saved.world.run("try", saved.name, "--run", "1")  # as often as you like
    assert said(ended) == f"{saved.name}  tried: gone"
    report = json.loads(saved.world.run("report", "1", "--json", "-").out)
    tried = {finding["id"]: finding["tried"] for finding in report["findings"]}
    assert tried[saved.name]["run"] == f"0001/tried/{saved.name}-2"
    assert tried[saved.content] is None


def test_a_fix_that_does_not_help(saved: Saved) -> None:
    run = json.loads((saved.run / "run.json").read_text())
    (name,) = [finding for finding in run["findings"] if finding["id"] == saved.name]
    saved.change(fix={"syncs": name["fix"]["syncs"]})  # the directory, not the file
    ended = saved.world.run("try", saved.content)
    assert (ended.code, said(ended)) == (1, f"{saved.content}  tried: still there")
    assert "lost:         HERE/save.py:3 in save" in ended.out
    assert saved.name not in ended.out
    assert "tried: still there" in saved.world.run("show", saved.content, "--no-diff").out


def test_a_search_that_ends_too_early_says_so(saved: Saved) -> None:
    saved.change(reached=1000)
    ended = saved.world.run("try", saved.content, "--max-states", "1", "--check", "true")
    assert ended.code == 4
    assert said(ended).startswith(f"{saved.content}  tried: not seen again in ")
    assert "the first run had covered 1,000 when it found it: give a larger --budget" in ended.out
    saved.change(reached=1)
    assert try_fix(saved.output, saved.content, changes={"max_states": 1, "check": "true"}).gone


def test_what_cannot_be_tried_is_said_before_the_program_runs(saved: Saved) -> None:
    ended = saved.world.run("try", "ffffffff")
    assert (ended.code, "[no-finding]" in ended.err) == (2, True)
    saved.change(fix={"syncs": [], "by": "check"})
    ended = saved.world.run("try", saved.content)
    why = "it changes the order of calls; only you can do that in the program"
    assert ended.code == 2
    assert ended.err == f"powercut: the fix of {saved.content} cannot be tried: {why}. [no-sync-to-try]\n"
    before = sorted(saved.run.rglob("*"))
    saved.change(fix={"syncs": [], "by": "model"})
    assert "the fix is general advice, not a sync" in str(saved.refused())
    saved.change(fix={"syncs": [{"what": "file", "of": 100_000, "at": 1}]})
    assert saved.refused().slug == "broken-run"
    saved.change(fix={"syncs": [{"what": "file", "of": 0, "at": 0}]})  # no call of the program
    assert saved.refused().slug == "no-stacks"
    (saved.run / "plan.json").unlink()
    assert saved.refused().slug == "not-resumable"
    assert isinstance(saved.refused(), UsageError)
    assert sorted(saved.run.rglob("*")) == [
        path for path in before if path.name != "plan.json" or path.parent != saved.run
    ]


def test_another_program_does_not_come_by(saved: Saved) -> None:
    before = sorted(saved.run.rglob("*"))
    (saved.world.here / "save.py").write_text(SAVE.replace("def save():", "\n\ndef save():"))
    ended = saved.world.run("try", saved.content)
    assert (ended.code, "[fix-not-reached]" in ended.err) == (3, True)
    assert sorted(saved.run.rglob("*")) == before


def test_programs_without_lines_are_known_by_their_stacks(world: World) -> None:
    ended = world.test()
    assert "fsync on the directory (the data folder) before" in " ".join(ended.out.split())
    assert try_fix(world.here / ".powercut", ended.out[:8]).gone


def test_threads_that_share_a_helper_of_a_c_program(world: World) -> None:
    (world.here / "check").write_text(LOG_CHECK)
    (found,) = findings_of(world, compiled(world, LOG), "sh check", "--fs", "ext4-ordered")
    trial = try_fix(world.here / ".powercut", found["id"])
    assert (trial.gone, trial.tried.put_in) == (True, 1)


@pytest.mark.skipif(memory_tool() is None, reason="powercut was built without Valgrind")
def test_lines_of_persistent_memory(world: World) -> None:
    (world.here / "pool.py").write_text(POOL_CHECK)
    check = f"{sys.executable} {world.here}/pool.py"
    found = findings_of(world, compiled(world, POOL), check, "--fs", "xfs", "--tracer", "memory")[0]
    assert "clwb" in found["fix"]["text"]
    trial = try_fix(world.here / ".powercut", found["id"])
    assert (trial.gone, trial.tried.put_in) == (True, 2)


def test_from_python_with_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "f").write_text("old")
    monkeypatch.chdir(tmp_path)

    def work() -> None:
        (data / "f.tmp").write_text("new")
        (data / "f.tmp").replace(data / "f")

    def check(folder: Path) -> None:
        assert (folder / "f").read_text() in ("old", "new")

    (finding,) = powercut.explore(work, check, dir=data, fs="xfs").findings
    with pytest.raises(UsageError) as caught:
        try_fix(tmp_path / ".powercut", finding.id)
    assert caught.value.slug == "python-check"
    with pytest.raises(UsageError) as caught:
        try_fix(tmp_path / ".powercut", finding.id, check=check)
    assert caught.value.slug == "python-workload"
    trial = try_fix(tmp_path / ".powercut", finding.id, workload=work, check=check)
    assert (trial.gone, trial.findings, trial.tried.put_in) == (True, [], 1)
    assert trial.tried.outcome is TriedOutcome.GONE
