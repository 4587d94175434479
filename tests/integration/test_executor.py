"""Every job gets exactly one verdict, whatever the check does to its image, its worker or the machine."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from powercut import _engine
from powercut.image.scratch import MARKER, ScratchError, ScratchPolicy, make_scratch
from powercut.image.snapshot_copy import CopyError, copy_tree
from powercut.oracle.callable import CallableOracle
from powercut.oracle.command import CommandOracle, substitute_path
from powercut.oracle.protocol import Oracle, Place
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.jobs import Job
from powercut.search.local_executor import LocalExecutor, WorkerError
from tests.unit.plain_images import FILE, PlainImage, PlainTimeline, state

VIEWS, WHY_NOT = _engine.can_enter_view()
COUNT = 40


def timeline() -> PlainTimeline:
    images = []
    for number in range(COUNT):
        image = PlainImage()
        image.add(1, 0, b"number", kind=FILE, content=b"%d" % number)
        image.add(2, 0, b"big", kind=FILE, content=bytes([number]) * 20000)
        images.append(image)
    return PlainTimeline(images)


@pytest.fixture(params=["view", "copy"])
def views(request: pytest.FixtureRequest) -> bool:
    if request.param == "view" and not VIEWS:
        pytest.skip(WHY_NOT)
    return bool(request.param == "view")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "original").write_text("the user's own")
    return folder


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    data = tmp_path / "data"
    assert not data.exists() or [p.name for p in data.iterdir()] == ["original"]
    children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    assert "scratch-test" not in children.stdout


def judge_all(
    oracle: Oracle, data: Path, views: bool, count: int = COUNT, timeout: float = 10.0, workers: int = 2
) -> dict[int, Verdict]:
    """Run jobs to their end; fails if a verdict is missing or doubled."""
    scratch = ScratchPolicy()
    verdicts: dict[int, Verdict] = {}
    with LocalExecutor([timeline(), timeline()], oracle, data, workers, timeout, scratch, views) as executor:
        jobs = [Job(number, number * 2 // count, state(number % COUNT)) for number in range(count)]
        deadline = time.monotonic() + 60
        while len(verdicts) < count:
            assert time.monotonic() < deadline
            ready = executor.capacity()
            executor.submit(jobs[:ready])
            del jobs[:ready]
            for result in executor.results(1.0):
                assert result.id not in verdicts
                verdicts[result.id] = result.verdict
        assert executor.results(0.05) == []
        place = executor._scratch.path
    assert not place.exists()
    return verdicts


def shell(script: str, timeout: float = 10.0) -> CommandOracle:
    return CommandOracle(["sh", "-c", script], timeout)


def outcomes(verdicts: dict[int, Verdict]) -> set[Outcome]:
    return {verdict.outcome for verdict in verdicts.values()}


def test_each_command_sees_its_own_state(data: Path, views: bool) -> None:
    script = 'printf "%s %s %s" "$(cat number)" "$(cat "$POWERCUT_ACKED")" "$(ls "$POWERCUT_DIR" | tr "\\n" ,)"'
    verdicts = judge_all(shell(script), data, views)
    for number, verdict in verdicts.items():
        assert verdict.passed
        assert verdict.output == f"{number} acked {number} big,number,"


def test_a_check_sees_that_the_machine_was_started_anew(data: Path) -> None:
    """lmdb-js and libmdbx trust what was not synced if this id is the one of the crash."""
    if not VIEWS:
        pytest.skip(WHY_NOT)
    path = Path("/proc/sys/kernel/random/boot_id")
    mine = path.read_text().strip()
    verdicts = judge_all(CommandOracle(["cat", str(path)], 10.0), data, True).values()
    [seen] = {verdict.output.strip() for verdict in verdicts}
    assert str(uuid.UUID(seen)) == seen != mine
    assert path.read_text().strip() == mine


def test_the_view_is_at_the_original_path(data: Path) -> None:
    if not VIEWS:
        pytest.skip(WHY_NOT)
    verdicts = judge_all(CommandOracle(["cat", f"{data}/number"], 10.0), data, True, count=4)
    assert [verdicts[n].output for n in range(4)] == ["0", "1", "2", "3"]


def test_the_path_is_substituted_where_views_are_not_possible(data: Path) -> None:
    oracle = CommandOracle(["cat", f"{data}/number"], 10.0)
    assert oracle.mentions(data)
    verdicts = judge_all(oracle, data, False, count=4)
    assert [verdicts[n].output for n in range(4)] == ["0", "1", "2", "3"]


def test_how_commands_end(data: Path, views: bool) -> None:
    endings = {
        "exit 0": (Outcome.PASS, 0),
        "exit 3": (Outcome.FAIL, 3),
        "exit 139": (Outcome.FAIL, 139),
        "kill -SEGV $$": (Outcome.CRASH, signal.SIGSEGV),
    }
    for script, (outcome, code) in endings.items():
        verdicts = judge_all(shell(script), data, views, count=2)
        assert {(v.outcome, v.code) for v in verdicts.values()} == {(outcome, code)}


def test_a_command_that_hangs(data: Path, views: bool) -> None:
    oracle = shell("trap '' TERM INT; echo before; sleep 60 & wait", timeout=0.3)
    verdicts = judge_all(oracle, data, views, count=2, timeout=0.3)
    assert outcomes(verdicts) == {Outcome.HANG}
    assert verdicts[0].output == "before\n"
    assert 0.3 <= verdicts[0].seconds < 5


def test_a_command_that_cannot_start(data: Path, views: bool) -> None:
    verdicts = judge_all(CommandOracle(["/no/such/program"], 10.0), data, views, count=2)
    assert outcomes(verdicts) == {Outcome.ERROR}
    assert "No such file" in verdicts[0].output


def test_output_of_any_kind_and_length(data: Path, views: bool) -> None:
    verdicts = judge_all(shell("head -c 3000000 /dev/urandom; printf '\\377\\000end'; exit 1"), data, views, count=2)
    assert verdicts[0].output.endswith("end")
    assert len(verdicts[0].output) <= 8192
    flood = judge_all(shell("yes", timeout=0.5), data, views, count=1, timeout=0.5)
    assert flood[0].outcome is Outcome.HANG
    assert flood[0].output.endswith("y\n")


def test_nothing_that_a_check_starts_survives_it(data: Path, views: bool) -> None:
    script = 'setsid sh -c "while :; do echo x >> number; done" & (sleep 60 &) ; test "$(cat number)" -lt 99'
    start = time.monotonic()
    verdicts = judge_all(shell(script), data, views, count=COUNT)
    assert time.monotonic() - start < 30
    assert outcomes(verdicts) <= {Outcome.PASS, Outcome.FAIL}
    clean = judge_all(shell('test "$(cat number)" -lt 99'), data, views, count=4)
    assert outcomes(clean) == {Outcome.PASS}


def test_checks_that_wreck_the_folder_see_whole_ones(data: Path, views: bool) -> None:
    script = """
        test "$(ls | wc -l)" = 2 && test "$(wc -c < big)" = 20000 && number=$(cat number) || exit 1
        case $((number % 4)) in
            0) rm -rf ./* ; mkdir -p a/b/c big ;;
            1) echo garbage >> number; truncate -s 5 big; chmod 0 big ;;
            2) mv big number; ln -s / big ;;
            3) chmod 0 . ; dd if=/dev/zero of=garbage bs=1M count=5 2>/dev/null ;;
        esac
        exit 0
    """
    assert outcomes(judge_all(shell(script), data, views)) == {Outcome.PASS}


# Functions as checks


def check_number(folder: Path) -> None:
    assert int((folder / "number").read_text()) < 3, "too high"


def test_a_function_judges(data: Path, views: bool) -> None:
    verdicts = judge_all(CallableOracle(check_number), data, views)
    assert [n for n, v in verdicts.items() if v.passed] == [0, 1, 2] or sorted(
        n for n, v in verdicts.items() if v.passed
    ) == [0, 1, 2]
    assert verdicts[5].outcome is Outcome.FAIL
    assert "too high" in verdicts[5].output


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [(None, Outcome.PASS), (True, Outcome.PASS), (False, Outcome.FAIL), (1, Outcome.ERROR), ("no", Outcome.ERROR)],
)
def test_answers(answer: Any, outcome: Outcome, tmp_path: Path) -> None:
    assert CallableOracle(lambda path: answer).judge(tmp_path, b"").outcome is outcome


def test_a_function_is_told_what_was_acknowledged(data: Path, views: bool) -> None:
    def check(folder: Path, acked: bytes) -> bool:
        return acked == b"acked " + (folder / "number").read_bytes()

    assert outcomes(judge_all(CallableOracle(check), data, views)) == {Outcome.PASS}


def exits(folder: Path) -> None:
    if int((folder / "number").read_text()) % 10 == 3:
        os._exit(0)


def crashes(folder: Path) -> None:
    if int((folder / "number").read_text()) % 10 == 3:
        ctypes.string_at(0)


def is_killed(folder: Path) -> None:
    if int((folder / "number").read_text()) % 10 == 3:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("check", [exits, crashes, is_killed])
def test_a_function_that_takes_the_worker_with_it(
    check: Callable[[Path], None], data: Path, views: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    verdicts = judge_all(CallableOracle(check), data, views)
    assert sorted(n for n, v in verdicts.items() if v.outcome is Outcome.CRASH) == [3, 13, 23, 33]
    assert sum(v.passed for v in verdicts.values()) == COUNT - 4


def test_a_function_that_hangs(data: Path, views: bool) -> None:
    def check(folder: Path) -> None:
        if (folder / "number").read_text() == "5":
            subprocess.run(["sleep", "60"])

    verdicts = judge_all(CallableOracle(check), data, views, count=10, timeout=0.5)
    assert [n for n, v in verdicts.items() if v.outcome is Outcome.HANG] == [5]
    assert sum(v.passed for v in verdicts.values()) == 9


def test_workers_killed_at_any_moment_lose_no_verdict(data: Path, views: bool) -> None:
    rng = random.Random(1)
    count = 2000
    verdicts: dict[int, Verdict] = {}
    with LocalExecutor([timeline()], CallableOracle(lambda _: None), data, 3, 10.0, ScratchPolicy(), views) as executor:
        executor.submit([Job(number, 0, state(number % COUNT)) for number in range(count)])
        kills = 0
        while len(verdicts) < count:
            for result in executor.results(0.01):
                assert result.id not in verdicts
                verdicts[result.id] = result.verdict
            if kills < 20 and executor._workers:
                os.kill(rng.choice(executor._workers).pid, signal.SIGKILL)
                kills += 1
    crashed = sum(v.outcome is Outcome.CRASH for v in verdicts.values())
    failed_to_build = sum(v.outcome is Outcome.ERROR for v in verdicts.values())
    assert crashed + failed_to_build <= kills
    assert sum(v.passed for v in verdicts.values()) == count - crashed - failed_to_build


# Beginnings and ends


def test_a_worker_that_cannot_start_says_why(data: Path) -> None:
    class Broken(CallableOracle):
        def open(self, place: Place) -> None:
            raise OSError("no way")

    with pytest.raises(WorkerError, match="no way"):
        judge_all(Broken(check_number), data, False)


def test_workers_that_die_between_jobs_are_not_replaced_for_ever(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("powercut.search.worker.unpack_jobs", lambda messages: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(WorkerError, match="again and again between two checks: signal 9"):
        judge_all(CallableOracle(check_number), data, False)


def test_closing_ends_everything_at_once(data: Path, views: bool) -> None:
    sleeper = f"sleep {4200 + os.getpid()}{int(views)}"  # told from those of tests that run at the same time
    executor = LocalExecutor([timeline()], shell(sleeper, 60.0), data, 2, 60.0, ScratchPolicy(), views)
    executor.submit([Job(number, 0, state(number)) for number in range(4)])
    executor.results(0.3)
    place = executor._scratch.path
    start = time.monotonic()
    executor.close()
    assert time.monotonic() - start < 5
    assert not place.exists()
    assert sleeper not in subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True).stdout


def test_a_killed_engine_leaves_nothing_running(data: Path, tmp_path: Path) -> None:
    program = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.integration.test_executor import *
e = LocalExecutor([timeline()], shell("sleep 4343", 60.0), Path({str(data)!r}), 2, 60.0, ScratchPolicy(), {VIEWS})
e.submit([Job(n, 0, state(n)) for n in range(4)])
print(e._scratch.path, flush=True)
e.results(60)
"""
    engine = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    place = Path(engine.stdout.readline().strip())
    time.sleep(0.5)
    engine.kill()
    engine.wait()
    engine.stdout.close()
    deadline = time.monotonic() + 5
    while "sleep 4343" in subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert place.exists() and (not VIEWS or [p.name for p in place.iterdir()] == [MARKER])
    make_scratch(ScratchPolicy(folder=place.parent), data, 1, False).remove()  # the next run cleans up
    assert not place.exists()


def test_scratch_folders_that_are_not_ours_stay(tmp_path: Path) -> None:
    foreign = tmp_path / "powercut-foreign"
    foreign.mkdir()
    (foreign / "precious").touch()
    scratch = make_scratch(ScratchPolicy(folder=tmp_path), Path("/nowhere"), 1, False)
    assert foreign.exists()
    (scratch.path / MARKER).unlink()
    scratch.remove()
    assert scratch.path.exists()


def test_scratch_in_the_data_folder_is_refused(data: Path) -> None:
    with pytest.raises(ScratchError, match="is inside the data folder"):
        make_scratch(ScratchPolicy(folder=data), data, 1, False)


def test_paths_are_replaced_only_as_a_whole() -> None:
    argv = ["/data", "--db=/data/x", "/database", "/my/data", "a:/data:b", "'/data'", "/data-2"]
    assert substitute_path(argv, Path("/data"), Path("/c")) == [
        "/c", "--db=/c/x", "/database", "/my/data", "a:/c:b", "'/c'", "/data-2",
    ]  # fmt: skip


# The copy for the recording


def test_a_copy_is_faithful(tmp_path: Path) -> None:
    source, target = tmp_path / "from", tmp_path / "to"
    (source / "sub").mkdir(parents=True)
    (source / "sub/file").write_bytes(b"content" * 1000)
    os.link(source / "sub/file", source / "link")
    (source / "soft").symlink_to("sub/file")
    (source / "skipped").touch()
    os.mkfifo(source / "pipe")
    with open(source / "sparse", "wb") as sparse:
        sparse.seek(50 << 20)
        sparse.write(b"end")
    (source / "sub/file").chmod(0o440)
    os.utime(source / "sub", ns=(1, 2))
    copied = copy_tree(source, target, lambda path: path.name == "skipped")
    assert sorted(p.name for p in target.rglob("*")) == ["file", "link", "soft", "sparse", "sub"]
    assert (target / "link").stat().st_ino == (target / "sub/file").stat().st_ino
    assert (target / "link").read_bytes() == b"content" * 1000
    assert (target / "link").stat().st_mode == (source / "link").stat().st_mode
    assert os.readlink(target / "soft") == "sub/file"
    assert (target / "sub").stat().st_mtime_ns == 2
    assert (target / "sparse").stat().st_size == (50 << 20) + 3
    assert (target / "sparse").stat().st_blocks * 512 < 1 << 20
    assert copied.left_out == [source / "pipe"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from/secret").write_text("x")
    (tmp_path / "from/secret").chmod(0)
    with pytest.raises(CopyError, match="secret"):
        copy_tree(tmp_path / "from", tmp_path / "to")
