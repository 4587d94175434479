"""No report is lost, whatever ends the program; threads are checked each for itself; the engine has no data races."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import powercut
from powercut.assertions.build import compiler_flags
from tests.assertion_kit import PROGRAMS, build

ROOT = Path(__file__).resolve().parents[2]
SOURCE = PROGRAMS / "endings.c"
ENDINGS = {
    "exit": (0, 0),
    "_exit": (7, 0),
    "abort": (0, signal.SIGABRT),
    "kill": (0, signal.SIGKILL),
    "crash": (0, signal.SIGSEGV),
    "exec": (0, 0),
}


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


LAST, OF_THREADS = line_of("/* the last mistake"), line_of("/* the mistake of each thread")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(build(SOURCE, tmp_path_factory.mktemp("endings"), "-pthread"))


@pytest.fixture(scope="session")
def static_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(build(SOURCE, tmp_path_factory.mktemp("static"), "-pthread", "-static-pie"))


def alone(program: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it without powercut; standard error ends when the report is written."""
    environment = {**os.environ, **variables}
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60, env=environment, check=False)


def failing_lines(report: str) -> list[int]:
    return [int(line) for line in re.findall(r"^powercut: FAIL: .*?endings\.c:(\d+) asserts", report, re.MULTILINE)]


@pytest.mark.parametrize("how", ENDINGS)
def test_last_mistake_is_found_however_the_program_ends(program: str, how: str) -> None:
    checked = powercut.check_program([program, how])
    code, number = ENDINGS[how]
    assert (checked.code, checked.signal) == (code, number)
    assert [f.locations[0].line for f in checked.failures if f.pattern == "not-persistent"] == [LAST]
    assert checked.operations > 400_000


@pytest.mark.parametrize("how", ENDINGS)
def test_last_mistake_is_reported_by_the_program_alone(program: str, how: str) -> None:
    assert failing_lines(alone(program, how).stderr) == [LAST]


OPEN = ["checker-start-without-end", "not-ended", "start-without-end"]


@pytest.mark.parametrize("how", ["exit", "_exit", "_Exit", "quick_exit", "vfork"])
def test_what_is_open_at_the_end_is_found(program: str, how: str) -> None:
    checked = powercut.check_program([program, f"open-{how}"])
    assert sorted((finding.why, finding.count) for finding in checked.findings) == [(why, 1) for why in OPEN]
    assert sorted(re.findall(r"/([\w-]+)\]", alone(program, f"open-{how}").stderr)) == OPEN


def test_what_is_open_at_the_end_of_a_child_is_found(program: str) -> None:
    checked = powercut.check_program([program, "open-child"])
    begins = [finding for finding in checked.findings if finding.why != "checker-start-without-end"]
    assert sorted(finding.why for finding in begins) == ["not-ended", "not-ended", *["start-without-end"] * 2]


def test_what_is_open_in_a_static_program_is_found(static_program: str) -> None:
    assert sorted(re.findall(r"/([\w-]+)\]", alone(static_program, "open-_exit").stderr)) == OPEN


def test_more_threads_than_buffers_are_told_and_nothing_follows_from_it(program: str) -> None:
    checked = powercut.check_program([program, "crowd"])
    assert [(finding.why, finding.count) for finding in checked.findings] == [("threads", 300 - 256)]


def test_static_program_reports_too(static_program: str) -> None:
    assert failing_lines(alone(static_program, "abort").stderr) == [LAST]


@pytest.mark.parametrize("workers", [1, 3])
def test_four_threads_are_checked_each_for_itself(program: str, workers: int) -> None:
    checked = powercut.check_program([program, "threads"], workers=workers)
    (finding,) = checked.findings
    assert (finding.locations[0].line, finding.count) == (OF_THREADS, 4)
    assert checked.threads == 4
    assert checked.operations == 4 * (4 * 20000 + 2 + 2 + 2 + 1)  # two around, two of the mistake, its repair, the end


def test_threads_may_come_and_go(program: str) -> None:
    checked = powercut.check_program([program, "many-threads", "100"], workers=2)
    (finding,) = checked.findings
    assert (finding.count, checked.threads) == (600, 600)


def test_pools_and_exclusions_hold_for_all_threads(program: str) -> None:
    checked = powercut.check_program([program, "shared-ranges", "10"])
    outside = ("outside-pool", line_of("/* outside of the pool"))
    found = {(finding.why, finding.locations[0].line) for finding in checked.findings}
    assert found == {outside, ("not-flushed", OF_THREADS)}


def test_forked_child_is_checked_too(program: str) -> None:
    checked = powercut.check_program([program, "child"])
    assert [finding.locations[0].line for finding in checked.findings] == [LAST]


def test_small_buffer_holds_the_program_up_and_loses_nothing(program: str) -> None:
    small = powercut.check_program([program, "exit"], buffer=16)
    assert small.operations == powercut.check_program([program, "exit"]).operations
    assert [f.locations[0].line for f in small.failures if f.pattern == "not-persistent"] == [LAST]


def test_program_gets_its_results(program: str) -> None:
    ended = alone(program, "results")
    assert ended.stdout.split() == ["1", "1", "0", "not-persistent", "not-flushed", str(LAST), "last_mistake", "1"]
    assert "start-without-end" in ended.stderr  # which comes later


def test_quiet_program_prints_nothing(program: str) -> None:
    assert alone(program, "quiet").stderr == ""


def test_program_without_standard_descriptors_is_checked(program: str, tmp_path: Path) -> None:
    """What powercut opens must not become the standard error of anybody."""
    trace = tmp_path / "out"
    script = f"exec '{program}' results 10 <&- >'{trace}' 2>&-"
    assert subprocess.run(["sh", "-c", script], timeout=60, check=False).returncode == 0
    assert trace.read_text().split()[3:5] == ["not-persistent", "not-flushed"]


def test_helper_is_no_child_of_the_program(program: str) -> None:
    assert alone(program, "no-helper").returncode == 0


def test_environment_chooses_model_and_workers(program: str) -> None:
    report = alone(program, "exit", POWERCUT_MODEL="hops", POWERCUT_WORKERS="3").stderr
    assert "but no fence followed" in report
    assert "(model hops)" in report
    wrong = alone(program, "exit", POWERCUT_MODEL="z80", POWERCUT_WORKERS="no", POWERCUT_BUFFER="0").stderr
    assert [code for code in ("unknown-model", "bad-number") if f"[{code}]" in wrong] == ["unknown-model", "bad-number"]
    assert failing_lines(wrong) == [LAST]


def test_program_goes_on_when_its_checker_is_killed(program: str) -> None:
    process = subprocess.Popen([program, "exit", "3000000"], stderr=subprocess.PIPE, text=True)
    helper = wait_for_helper(process.pid)
    os.kill(helper, signal.SIGKILL)
    _, report = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "[checker-gone]" in report


def wait_for_helper(pid: int) -> int:
    """The process that has the program's name for its memory and is called powercut-check."""
    session = None
    while session is None:
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, rest = entry.read_text().split("(", 1)[1].rsplit(")", 1)
                executable = os.readlink(entry.parent / "exe")
            except (OSError, IndexError):
                continue
            same = executable == os.readlink(f"/proc/{pid}/exe")
            if name == "powercut-check" and same and rest.split()[0] != "Z":
                session = int(entry.parent.name)
    return session


@pytest.mark.slow
def test_engine_has_no_data_races(tmp_path: Path) -> None:
    """Rings, workers and findings under ThreadSanitizer, with the checking in the program's own process."""
    runtime = ROOT / "native" / "runtime"
    sources = [path for folder in (".", "engine", "program") for path in sorted((runtime / folder).glob("*.c"))]
    sources += [
        runtime / "checker" / "drain.c",
        runtime / "checker" / "trace_file.c",
        runtime / "instrument" / "watch.c",
    ]
    program = tmp_path / "raced"
    flags = ["-g", "-fsanitize=thread", "-DPOWERCUT", f"-I{runtime}", f"-I{runtime / 'include'}", "-pthread"]
    subprocess.run(["cc", *flags, *map(str, sources), str(SOURCE), "-o", str(program)], check=True)
    options = "exitcode=66 halt_on_error=0"
    ended = alone(
        str(program), "threads", "5000", POWERCUT_CHECKER="thread", POWERCUT_WORKERS="3", TSAN_OPTIONS=options
    )
    assert "WARNING: ThreadSanitizer" not in ended.stderr
    assert ended.returncode == 0
    assert failing_lines(ended.stderr) == [OF_THREADS]


def test_headers_need_no_library(tmp_path: Path) -> None:
    """Without POWERCUT they compile to nothing, as C and as C++, without a warning."""
    include = next(flag for flag in compiler_flags() if flag.startswith("-I"))
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-parameter", include]
    for name, compiler in (
        ("figures", "cc"),
        ("misses", "cc"),
        ("wrong_use", "cc"),
        ("endings", "cc"),
        ("original", "cc"),
    ):
        target = tmp_path / name
        subprocess.run([compiler, *strict, str(PROGRAMS / f"{name}.c"), "-o", str(target), "-pthread"], check=True)
        assert "pc_" not in subprocess.run(["nm", "-u", str(target)], capture_output=True, text=True, check=True).stdout
    plus = (
        "#include <pmtest.h>\nint main() { PMTest_INIT(); PMTest_START; int a = 0; isPersist(&a, sizeof a); return a; }"
    )
    (tmp_path / "plus.cc").write_text(plus)
    subprocess.run(["c++", *strict, str(tmp_path / "plus.cc"), "-o", str(tmp_path / "plus")], check=True)
    assert subprocess.run([str(tmp_path / "plus")], check=False).returncode == 0


def test_cplusplus_program_is_checked(tmp_path: Path) -> None:
    source = tmp_path / "plus.cc"
    source.write_text(
        "#include <pmtest.h>\nint main() {\n  static int a;\n  PMTest_INIT();\n  PMTest_START();\n"
        "  PMTest_assign(&a, 4);\n  isPersist(&a, 4);\n  PMTest_END;\n}\n"
    )
    checked = powercut.check_program([str(build(source, tmp_path, compiler="c++"))])
    assert [(f.why, f.locations[0].line) for f in checked.findings] == [("not-flushed", 7)]
