"""Ctrl-C and termination at every stage: nothing is left running or lying about, and findings are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from tests.cli.kit import SAVE, World, looks, wait_for

SLOW = "sleep 0.3; . CHECK"
MANY = "for i in 1 2 3 4 5 6 7 8 9; do printf new > data/f.tmp; mv data/f.tmp data/f; echo saved; done"


def slow_check(world: World) -> str:
    (world.here / "slow").write_text(SLOW.replace("CHECK", str(world.here / "check")))
    return "sh slow"


def test_while_powercut_is_loaded(world: World) -> None:
    (world.here / "early").mkdir()
    (world.here / "early" / "click.py").write_text("raise KeyboardInterrupt")
    world.env["PYTHONPATH"] = str(world.here / "early")
    ended = world.run("--version")
    assert (ended.err, ended.code) == ("powercut: interrupted [interrupted]\n", 130)


def test_until_all_is_loaded_ctrl_c_just_ends_it(world: World) -> None:
    (world.here / "early").mkdir()
    (world.here / "early" / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    world.env["PYTHONPATH"] = str(world.here / "early")
    ended = world.run("--version")
    assert (ended.err, ended.code) == ("", -signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_recording(world: World, number: signal.Signals) -> None:
    before = looks(world.data)
    process = world.start("test", "--dir", "data", "--", "sh", "-c", f"{SAVE}; sleep 65; true")
    wait_for(lambda: "sleep 65" in world.running())
    os.killpg(process.pid, number)  # as the terminal does: the tracer and the program get it, too
    ended = world.finish(process, before)
    assert ended.err.splitlines()[-1] == "powercut: interrupted [interrupted]"
    assert "the program was still running. It must end by itself; let a server end after a few requests\n" in ended.err
    assert (ended.out, ended.code, world.runs()) == ("", 130, [])
    assert "sleep 65" not in world.running()


def test_while_recording_with_only_powercut_being_told(world: World) -> None:
    before = looks(world.data)
    process = world.start("record", "-o", "t", "--dir", "data", "--", "sh", "-c", "sleep 66; true")
    wait_for(lambda: "sleep 66" in world.running())
    process.send_signal(signal.SIGINT)
    assert world.finish(process, before).code == 130
    assert "sleep 66" not in world.running()
    assert sorted(path.name for path in world.here.iterdir()) == ["check", "data", "tmp"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_exploring_after_something_was_found(world: World, number: signal.Signals) -> None:
    before = looks(world.data)
    errors = world.here / "errors"
    check = ["--check", slow_check(world), "--json", "report.json"]
    with open(errors, "wb") as file:
        process = world.start("test", "--dir", "data", *check, "--", "sh", "-c", MANY, stderr=file)
        wait_for(lambda: "powercut: finding " in errors.read_text())
        os.killpg(process.pid, number)
        ended = world.finish(process, before)
    assert ended.code == 1  # findings are findings
    assert "\nInterrupted. Results so far are saved; continue with: powercut resume 0001\n" in ended.out
    report = json.loads((world.here / "report.json").read_text())
    assert report["interrupted"] is True
    assert report["findings"]
    assert world.run("replay", report["findings"][0]["id"]).code == 1


def test_while_exploring_before_anything_was_found(world: World) -> None:
    before = looks(world.data)
    seen = world.here / "seen"
    (world.here / "slow").write_text(f"echo >> {seen}; sleep 0.2")
    process = world.start("test", "--dir", "data", "--check", "sh slow", "--", "sh", "-c", MANY)
    wait_for(lambda: seen.exists() and seen.stat().st_size > 4)
    os.killpg(process.pid, signal.SIGINT)
    ended = world.finish(process, before)
    assert ended.code == 130
    assert ended.out.splitlines()[-1].startswith("No findings. ")
    assert world.runs() == ["0001"]


def test_while_the_final_state_is_checked(world: World) -> None:
    before = looks(world.data)
    process = world.start("test", "--dir", "data", "--check", "sleep 67", "--", "sh", "-c", SAVE)
    wait_for(lambda: "sleep 67" in world.running())
    os.killpg(process.pid, signal.SIGINT)
    ended = world.finish(process, before)
    assert (ended.err.splitlines()[-1], ended.code) == ("powercut: interrupted [interrupted]", 130)
    assert "sleep 67" not in world.running()


def test_what_a_killed_run_left_is_removed_by_the_next(world: World) -> None:
    process = world.start("test", "--dir", "data", "--", "sh", "-c", f"{SAVE}; sleep 68; true")
    wait_for(lambda: "sleep 68" in world.running())
    process.kill()
    process.wait()
    wait_for(lambda: "sleep 68" not in world.running())
    mine = [
        m for m in Path("/dev/shm").glob("powercut-*/.powercut-scratch") if str(process.pid) in m.read_text().split()
    ]
    assert world.test().code == 1
    assert not [marker for marker in mine if marker.exists()]


MOMENTS = 30  # of a run that takes about a second


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_at_any_moment(world: World, moment: int) -> None:
    """The kit looks at what must hold: no traceback, nothing left, the folder as it was, byte and time."""
    before = looks(world.data)
    number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[moment % 3]
    process = world.start("test", "--dir", "data", "--check", slow_check(world), "--", "sh", "-c", MANY)
    time.sleep(0.05 * moment)
    (os.killpg if moment % 2 else os.kill)(process.pid, number)
    ended = world.finish(process, before)
    assert ended.code in (1, 130, -number), ended  # findings, interrupted, or before it could answer
    wait_for(lambda: not world.running())


@pytest.mark.parametrize("files", [1, 300], ids=["copied", "layered"])
@pytest.mark.parametrize("moment", range(3))
def test_a_killed_run_leaves_the_folder_as_it_was_and_nothing_running(world: World, moment: int, files: int) -> None:
    for number in range(files):
        (world.data / f"{number:03}").write_text("x")
    before = looks(world.data)
    process = world.start("test", "--dir", "data", "--check", slow_check(world), "--", "sh", "-c", f"{MANY}; sleep 0.2")
    time.sleep(0.3 + 0.3 * moment)
    process.kill()
    process.communicate(timeout=20)
    wait_for(lambda: not world.running())
    assert looks(world.data) == before
    assert str(world.here) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("moment", range(6))
def test_at_any_moment_over_layers(world: World, moment: int) -> None:
    for number in range(300):
        (world.data / f"{number:03}").write_text("x")
    before = looks(world.data)
    number = (signal.SIGINT, signal.SIGTERM)[moment % 2]
    process = world.start("test", "--dir", "data", "--check", slow_check(world), "--", "sh", "-c", f"{MANY}; sleep 0.2")
    time.sleep(0.25 * (1 + moment))
    os.kill(process.pid, number)
    assert world.finish(process, before).code in (1, 130, -number)
    wait_for(lambda: not world.running())


def test_a_program_that_signals_its_group_ends_itself_alone(world: World) -> None:
    ended = world.test(workload=f"{SAVE}; kill -TERM 0")
    assert ended.code == 3 and "was killed by signal 15 (Terminated)" in ended.err


def test_a_python_function_that_signals_its_group_ends_itself_alone(world: World) -> None:
    (world.here / "whole.py").write_text(FUNCTION)
    done = subprocess.run([sys.executable, "whole.py"], cwd=world.here, env=world.env, capture_output=True, text=True)
    assert done.stdout == "the function was killed by signal 15\n", done.stderr


FUNCTION = """\
import os, signal
from powercut import explore
try:
    explore(lambda: (open("f", "w").write("x"), os.killpg(0, signal.SIGTERM)), dir="data", budget="5s")
except Exception as error:
    print("the function was killed by signal 15" if "signal 15 (Terminated)" in str(error) else error)
"""


@pytest.mark.parametrize("ignored", ["INT", "INT TERM HUP QUIT", "PIPE USR1 ALRM", "CHLD"])
def test_signals_that_were_ignored_at_the_start_stay_ignored_and_do_no_harm(world: World, ignored: str) -> None:
    run = f"trap '' {ignored}; exec {sys.executable} -m powercut test --dir data --check 'sh check' -- sh -c '{SAVE}'"
    done = subprocess.run(["sh", "-c", run], cwd=world.here, env=world.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "2 findings." in done.stdout, done.stderr


def test_the_command_is_interrupted_without_a_traceback_from_its_first_line_on(world: World) -> None:
    command = Path(sysconfig.get_path("scripts")) / "powercut-python"
    early = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    loaded = command.read_text().replace("import sys\n", f"import sys\n{early}\n", 1)
    done = subprocess.run([sys.executable, "-c", loaded], env=world.env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_is_interrupted_without_a_traceback_while_python_starts(
    world: World, number: signal.Signals
) -> None:
    (world.here / "early").mkdir()
    (world.here / "early" / "sitecustomize.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    world.env["PYTHONPATH"] = str(world.here / "early")
    command = [Path(sysconfig.get_path("scripts")) / "powercut", "--version"]
    done = subprocess.run(command, env=world.env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")


def test_what_the_command_starts_has_nothing_held_back(world: World) -> None:
    (world.here / "look.py").write_text(LOOK)
    command = [Path(sysconfig.get_path("scripts")) / "powercut", "record", "-o", "t", "--dir", "data"]
    link = world.here / "linked"
    link.symlink_to(command[0])
    command = [link, *command[1:], "--", sys.executable, "look.py"]
    done = subprocess.run(command, cwd=world.here, env=world.env, capture_output=True, text=True)
    assert (done.returncode, (world.here / "seen").read_text()) == (0, "set() None"), done.stderr


LOOK = """\
import os, signal
open("data/new", "w").write("x")
open("seen", "w").write(f"{signal.pthread_sigmask(signal.SIG_BLOCK, [])} {os.environ.get('POWERCUT_HOLDS_INTERRUPTS')}")
"""


def test_a_limit_on_file_sizes_is_named(world: World) -> None:
    small = f"ulimit -f 1; exec {sys.executable} -m powercut test --dir data -- sh -c '{SAVE}'"
    done = subprocess.run(["sh", "-c", small], cwd=world.here, env=world.env, capture_output=True, text=True)
    assert done.returncode == 3 and "ulimit -f" in done.stderr, done.stderr
