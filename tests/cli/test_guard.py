"""`powercut guard` and `heal` as an operator meets them: scripts, signals, wrong words, nobody to answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.kit import Ended, World, looks, wait_for
from tests.needs import needs_memory_tool, needs_pmdk

SOURCE = Path(__file__).parents[1] / "guard_programs" / "service.c"
LOG = Path(".powercut", "guard")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("guard") / "service"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, SOURCE, "-lpmemobj", "-lpmem", "-lpthread"], check=True)
    return program


@pytest.fixture
def operator(world: World) -> World:
    """A world whose service may change its data."""
    world.harmless = False
    return world


def script(world: World, name: str, *lines: str) -> str:
    path = world.here / name
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return f"./{name}"


def break_it(world: World, service: Path) -> Ended:
    """Run a service with a hard fault, as a script starts it."""
    start = script(world, "start.sh", f"'{service}' data/pool $1", "exit $?")
    return world.run("guard", "--", start, "fault")


@needs_pmdk
@needs_memory_tool
def test_a_service_that_a_script_starts_is_guarded_and_healed_and_all_is_undone(operator: World, service: Path) -> None:
    ended = break_it(operator, service)
    assert ended.code == 1
    assert "was killed by signal 11" in ended.err and f": check_flag at {SOURCE}:" in ended.err
    assert "powercut heal --plan -- COMMAND" in ended.err and "[hard-fault]" in ended.err
    sick = (operator.data / "pool").read_bytes()
    asked = operator.run("heal", "--", "./start.sh", "count")
    assert asked.code == 1 and "[not-confirmed]" in asked.err
    assert (operator.data / "pool").read_bytes() == sick
    assert operator.run("heal", "--yes", "--", "./start.sh", "count").code == 0
    assert subprocess.run([service, operator.data / "pool", "count"], capture_output=True).returncode == 0
    assert operator.run("heal", "--undo", str(LOG / "heal-1.json")).code == 0
    assert subprocess.run([service, operator.data / "pool", "count"], capture_output=True).returncode == -signal.SIGSEGV


@needs_pmdk
@needs_memory_tool
def test_a_restart_that_fails_for_another_reason_is_told_with_its_words(operator: World, service: Path) -> None:
    break_it(operator, service)
    sick = (operator.data / "pool").read_bytes()
    ended = operator.run("heal", "--yes", "--", "sh", "-c", "echo port in use; exit 1")
    assert ended.code == 1
    assert "\n  | port in use\nNo logged update led to it" in ended.out
    assert "[heal-other-fault]" in ended.err
    assert (operator.data / "pool").read_bytes() == sick


@needs_pmdk
def test_a_log_has_one_writer(operator: World, service: Path) -> None:
    process = operator.start("guard", "--", str(service), "data/pool", "rounds", "100000000", "1")
    wait_for(lambda: (operator.here / LOG / "1.segment").exists())
    second = operator.run("guard", "--", str(service), "data/other", "rounds", "1", "1")
    assert (second.code, second.err.split()[-1]) == (2, "[guard-running]")
    assert operator.run("heal", "--plan", "--", "true").err.split()[-1] == "[guard-running]"
    os.killpg(process.pid, signal.SIGINT)
    assert operator.finish(process, None).code == 0


def test_a_service_that_is_told_to_end_is_not_started_again(operator: World) -> None:
    start = script(operator, "start.sh", "trap 'exit 9' INT TERM", "touch up", "while :; do sleep 0.05; done")
    for number, told in ((signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)):
        process = operator.start("guard", "--", start)
        wait_for((operator.here / "up").exists)
        told(process.pid, number)
        ended = operator.finish(process, None)
        assert ended.code == 0
        assert "restarting" not in ended.err
        (operator.here / "up").unlink()


def test_a_service_that_does_not_pass_its_check_is_ended_with_all_that_it_started(operator: World) -> None:
    start = script(operator, "start.sh", "sleep 67", "true")
    ended = operator.run("guard", "--restarts", "0", "--check", "false", "--every", "0.2", "--", start)
    assert ended.code == 3
    assert "powercut: the service no longer passes its check\n" in ended.err
    assert "sleep 67" not in operator.running()


def test_a_file_that_a_program_maps_itself_keeps_its_history(operator: World) -> None:
    store = "import mmap; f = open('data/f', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:1] = b'X'"
    (operator.data / "f").write_bytes(bytes(4096))
    first = operator.run("guard", "--pool", "data/f", "--", sys.executable, "-c", store)
    assert "nothing of that was logged" in first.err and first.err.count("powercut:") == 1, "it calls no msync"
    ended = operator.run("guard", "--pool", "data/f", "--", sys.executable, "-c", store)
    assert ended.err == "powercut: HERE/data/f: logged 1 change made without guard or just before the service died\n"
    assert [path.name for path in (operator.here / LOG).glob("*.base")] == ["pool-1.base"]


def test_that_nothing_was_logged_is_said(world: World) -> None:
    ended = world.run("guard", "--", "true")
    assert ended.code == 0
    assert ended.err.endswith("[guard-nothing]\n")
    ended = world.run("guard", "--", "false")
    assert ended.code == 1
    assert "But no pool was logged, so the cause is not in a pool. [hard-fault]\n" in ended.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("guard",), "usage"),
        (("guard", "--restarts", "-1", "--", "touch", "ran"), "usage"),
        (("guard", "--every", "0", "--", "touch", "ran"), "usage"),
        (("guard", "--timeout", "nan", "--", "touch", "ran"), "usage"),
        (("guard", "--check", "a 'b", "--", "touch", "ran"), "bad-check"),
        (("guard", "--check", "nowhere", "--", "touch", "ran"), "no-such-program"),
        (("guard", "--", "nowhere"), "no-such-program"),
        (("guard", "--log", "check", "--", "touch", "ran"), "usage"),
        (("heal",), "usage"),
        (("heal", "--timeout", "-1", "--", "touch", "ran"), "usage"),
        (("heal", "--", "touch", "ran"), "no-guard-log"),
        (("heal", "--log", "data", "--", "touch", "ran"), "no-guard-log"),
        (("heal", "--undo", "data/f"), "no-guard-log"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs_or_is_made(
    world: World, words: tuple[str, ...], code: str
) -> None:
    before = sorted(world.here.rglob("*"))
    ended = world.run(*words)
    assert ended.code == (3 if code == "no-such-program" else 2)
    assert ended.err.endswith(f"[{code}]\n")
    assert sorted(world.here.rglob("*")) == before


def test_options_after_the_service_are_the_services(operator: World) -> None:
    ended = operator.run("guard", "echo", "--pool", "x")
    assert (ended.out, ended.code) == ("--pool x\n", 0)
    assert looks(operator.data)
