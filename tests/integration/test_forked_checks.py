"""A check that is started once and forked for each state says what it would say if it were started for each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from powercut.image.scratch import ScratchPolicy
from powercut.oracle import forked_check
from powercut.oracle.command import CommandOracle
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.jobs import Job, Result
from powercut.search.local_executor import LocalExecutor
from tests.unit.plain_images import FILE, FOLDER, PlainImage, PlainTimeline, state

COUNT = 60
EXTRA = 7  # each so-many-th image has one more file, and a folder
PYTHON = """\
import json, os, sys
print(os.getcwd() == os.path.realpath(os.environ["POWERCUT_DIR"]))
number = int(open("number").read())
print(sorted(os.listdir(".")), open(os.environ["POWERCUT_ACKED"]).read(), len(open("big").read()))
open("left-behind", "w").write("x")
sys.exit(3 if number % 5 == 0 else 0)
"""
FIRST_LOOKS_FOR_EXTRA = """\
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int extra = access("extra", F_OK) == 0;
    char number[8] = "";
    if (read(open("number", O_RDONLY), number, sizeof(number) - 1) < 1) {
        return 9;
    }
    printf("%s %d\\n", number, extra);
    return extra && number[0] == '1';
}
"""
SHELL = 'read n < number; test -e extra && echo extra; grep -c acked "$POWERCUT_ACKED"; ls; exit $((n % 3 == 1))'
PERL = 'open(F, "number"); $n = <F>; opendir(D, "."); print sort(readdir(D)); exit($n % 4 == 2)'


def timeline() -> PlainTimeline:
    images = []
    for number in range(COUNT):
        image = PlainImage()
        image.add(1, 0, b"number", kind=FILE, content=b"%d" % number)
        image.add(2, 0, b"big", kind=FILE, content=bytes([number]) * (10_000 + number))
        if number % EXTRA == 3:
            image.add(3, 0, b"extra", kind=FILE, content=b"")
            image.add(4, 0, b"folder", kind=FOLDER, mode=0o755)
        images.append(image)
    return PlainTimeline(images)


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of all images."""

    verdicts: list[Verdict]
    forks: int
    disproved: list[str]

    @property
    def said(self) -> list[tuple[Outcome, int, str]]:
        return [(verdict.outcome, verdict.code, verdict.output) for verdict in self.verdicts]


def judge(argv: list[str], data: Path, *, forks: bool = True, count: int = COUNT, timeout: float = 10.0) -> Judged:
    """Judge images one after the other."""
    oracle = CommandOracle(argv, timeout, forks=forks)
    results: dict[int, Result] = {}
    with LocalExecutor([timeline()], oracle, data, 1, timeout, ScratchPolicy(), False) as executor:
        executor.submit([Job(number, 0, state(number % COUNT)) for number in range(count)])
        deadline = time.monotonic() + 60
        while len(results) < count:
            assert time.monotonic() < deadline
            results.update((result.id, result) for result in executor.results(1.0))
    ordered = [results[number] for number in range(count)]
    disproved = [result.disproved for result in ordered if result.disproved]
    return Judged([result.verdict for result in ordered], sum(result.forked for result in ordered), disproved)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "dätä"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def worth_it(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Whether forks pay depends on what else the machine does; what they say must not."""
    if "gains_nothing" not in request.node.name:
        monkeypatch.setattr(forked_check, "WORTH", 1000.0)


def compiled(folder: Path, source: str, *flags: str) -> str:
    (folder / "check.c").write_text(source)
    program = folder / "check"
    subprocess.run(["gcc", "-O2", "-Wall", "-o", program, folder / "check.c", *flags], check=True)
    return str(program)


def script(folder: Path, text: str) -> str:
    path = folder / "check.py"
    path.write_text(text)
    return str(path)


def same_both_ways(argv: list[str], data: Path) -> Judged:
    """Judge with forks and without."""
    forked = judge(argv, data)
    assert forked.said == judge(argv, data, forks=False).said
    assert forked.disproved == []
    return forked


def test_python(data: Path, tmp_path: Path) -> None:
    assert same_both_ways([sys.executable, script(tmp_path, PYTHON)], data).forks > COUNT / 2


def test_forks_may_run_where_the_check_may(data: Path, tmp_path: Path) -> None:
    text = "import os\nos.listdir('.')\nprint(sorted(os.sched_getaffinity(0)))"
    judged = same_both_ways([sys.executable, script(tmp_path, text)], data)
    assert judged.forks > COUNT / 2
    assert {verdict.output for verdict in judged.verdicts} == {f"{sorted(os.sched_getaffinity(0))}\n"}


ENDS = {
    "registered": "import atexit; atexit.register(print, 'last')",
    "destroyed": "class A:\n def __del__(self): print('gone')\na = A()",
    "destroyed in a module": "import helper",
    "threads": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.02), print('thread'))).start()",
    "status": "sys.exit(40 + number)",
    "words": "sys.exit('wrong: %d' % number)",
    "raised": "raise ValueError(number)",
    "unwritten": "import io\nsys.stdout = io.TextIOWrapper(open('/dev/full', 'wb'))\nprint(number)",
    "closed": "sys.stdout.close()",
    "a thread goes on": "import threading, time\nthreading.Thread(target=time.sleep, args=[9], daemon=True).start()",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_python_program_is_as_in_life(data: Path, tmp_path: Path, end: str) -> None:
    (tmp_path / "helper.py").write_text("class A:\n def __del__(self): print('gone')\na = A()")
    start = "import sys\nnumber = int(open('number').read()) % 3\nprint('first')\n"
    judged = judge([sys.executable, script(tmp_path, start + ENDS[end])], data, count=12)
    started = judge([sys.executable, str(tmp_path / "check.py")], data, forks=False, count=12)
    assert judged.said == started.said
    assert judged.forks > 0


def test_temporary_files_of_python_forks_are_removed(data: Path, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    text = f"""\
import os, tempfile
names = os.listdir(".")
file = tempfile.NamedTemporaryFile(dir="{tmp_path}/temporary")
folder = tempfile.TemporaryDirectory(dir="{tmp_path}/temporary")
open(folder.name + "/some", "w").close()
def judge():
    another = tempfile.NamedTemporaryFile(dir="{tmp_path}/temporary")
    raise ValueError
judge()
"""
    assert judge([sys.executable, script(tmp_path, text)], data, count=12).forks > 0
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_python_fork_does_not_take_the_interpreter_apart(data: Path, tmp_path: Path) -> None:
    text = (
        "import gc, os\nos.listdir('.')\nclass A:\n def __del__(self): print('freed')\na = A()\na.a = a\ngc.disable()"
    )
    judged = judge([sys.executable, script(tmp_path, text)], data, count=12)
    assert [verdict.output for verdict in judged.verdicts].count("") == judged.forks > 0


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_c_that_first_looks_for_what_some_images_have(data: Path, tmp_path: Path, flags: list[str]) -> None:
    assert same_both_ways([compiled(tmp_path, FIRST_LOOKS_FOR_EXTRA, *flags)], data).forks > COUNT / 2


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_shells(data: Path, shell: str) -> None:
    assert same_both_ways([shell, "-c", SHELL], data).forks > 0


def test_perl(data: Path) -> None:
    assert same_both_ways(["perl", "-e", PERL], data).forks > COUNT / 2


def test_a_shim_that_starts_processes_before_the_check(data: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, FIRST_LOOKS_FOR_EXTRA)
    shim = tmp_path / "shim"
    shim.write_text(f'#!/bin/bash\nset -e\nreal=$(echo {program} | cat)\necho $$ >/dev/null\nexec "$real"\n')
    shim.chmod(0o755)
    assert same_both_ways([str(shim)], data).forks > COUNT / 2


def test_each_fork_knows_its_own_number(data: Path) -> None:
    judged = judge(["sh", "-c", "echo $$; cat number >/dev/null"], data)
    assert judged.forks > 0
    assert len({verdict.output for verdict in judged.verdicts}) == COUNT


def test_files_outside_are_written_by_each_fork(data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = f"log = open({str(log)!r}, 'a')\nlog.write(open('number').read() + ' ')\n"
    judge([sys.executable, script(tmp_path, text)], data)
    assert set(log.read_text().split()) == {str(number) for number in range(COUNT)}


def test_files_that_are_half_read_before_the_fork_go_on_from_there(data: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("".join(f"{n:5}\n" for n in range(40_000)))
    text = f"""\
import os
words = os.open({str(tmp_path / "words")!r}, os.O_RDONLY)
os.read(words, 600)
number = int(open("number").read())
os.lseek(words, number, os.SEEK_CUR)
print(os.read(words, 30))
"""
    assert same_both_ways([sys.executable, script(tmp_path, text)], data).forks > COUNT / 2


def test_a_check_that_kills_whom_it_finds(data: Path) -> None:
    """It ends the process that is forked, and its own group; nothing but its own verdict may come of that."""
    text = "read n < number; test $n = 30 && kill -9 $(ps -o pid= --ppid $PPID | grep -v $$); exit 0"
    judged = judge(["sh", "-c", text], data)
    assert {verdict.outcome for verdict in judged.verdicts} <= {Outcome.PASS, Outcome.CRASH}
    assert sum(not verdict.passed for verdict in judged.verdicts) <= 1


def test_words_that_wait_in_a_pipe_are_for_each_fork(data: Path) -> None:
    """A pipe that is half read when the check looks at the data would be read by one fork only."""
    text = "exec 0<<< $'one\\ntwo'; read first; read n < number; read second; echo $n $first $second; exit $((n % 2))"
    judged = same_both_ways(["bash", "-c", text], data)
    assert all(verdict.output.endswith(" one two\n") for verdict in judged.verdicts)


def test_hangs_and_crashes(data: Path, tmp_path: Path) -> None:
    text = "import os, time\nn = int(open('number').read())\nn == 40 and time.sleep(60)\nn == 41 and os.abort()\n"
    judged = judge([sys.executable, script(tmp_path, text)], data, timeout=1.0)
    assert judged.forks > COUNT / 2
    assert judged.verdicts[40].outcome is Outcome.HANG
    assert judged.verdicts[41].outcome is Outcome.CRASH
    assert sum(verdict.passed for verdict in judged.verdicts) == COUNT - 2


def test_what_a_check_leaves_running_is_ended(data: Path, tmp_path: Path) -> None:
    text = "import subprocess\nopen('number').read()\nsubprocess.Popen(['sleep', '1234.75'])\n"
    assert judge([sys.executable, script(tmp_path, text)], data).forks > 0
    assert "1234.75" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


def test_threads_are_not_lost(data: Path, tmp_path: Path) -> None:
    """A fork would have but one of them, so it must come before the first is started."""
    text = """\
import threading
found = []
go = threading.Event()
def look():
    go.wait()
    found.append(open("number").read())
thread = threading.Thread(target=look)
thread.start()
go.set()
thread.join()
print(found)
"""
    same_both_ways([sys.executable, script(tmp_path, text)], data)


def test_a_check_that_always_says_something_else_when_forked_is_noticed(data: Path, tmp_path: Path) -> None:
    """It has a limit of its own, which begins before it looks at the data."""
    text = "import time\nbegun = time.monotonic()\nopen('number').read()\nassert time.monotonic() < begun + 0.2\n"
    judged = judge([sys.executable, script(tmp_path, text)], data, count=400)
    assert judged.disproved == ["fail when it is forked, pass when it is started"]
    assert all(verdict.passed for verdict in judged.verdicts)


def test_a_check_that_is_not_deterministic_is_not_forked_any_more(data: Path, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    text = f"""\
import os
open("number").read()
with open({str(counter)!r}, "a+") as counter:
    counter.write("x")
    raise SystemExit(counter.tell() % 7 == 0)
"""
    judged = judge([sys.executable, script(tmp_path, text)], data)
    assert judged.disproved == []
    assert judged.forks < COUNT / 2


def test_a_check_that_gains_nothing_is_not_forked(data: Path) -> None:
    judged = judge(["sh", "-c", "sleep 0.1"], data, count=forked_check.TRIAL + 10)
    assert 0 < judged.forks <= forked_check.TRIAL


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not there")
def test_a_check_with_threads_of_its_runtime(data: Path) -> None:
    code = "const n = +require('fs').readFileSync('number'); console.log(n); process.exit(n % 2)"
    judged = judge(["node", "-e", code], data, count=20)
    assert [verdict.code for verdict in judged.verdicts] == [n % 2 for n in range(20)]


def test_a_recursive_lock_that_is_held_while_the_check_looks(data: Path, tmp_path: Path) -> None:
    """Its owner is known by the number of a thread, and a fork has another one. SQLite opens databases like that."""
    source = """\
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    pthread_mutex_t lock;
    pthread_mutexattr_t kind;
    char number[8] = "";
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
    pthread_mutex_lock(&lock);
    int read_some = read(open("number", O_RDONLY), number, 7) > 0;
    pthread_mutex_lock(&lock);
    return !read_some || atoi(number) % 3 == 0;
}
"""
    assert same_both_ways([compiled(tmp_path, source, "-pthread")], data).forks > COUNT / 2
