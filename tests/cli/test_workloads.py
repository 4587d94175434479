"""Programs that cannot be started, fail, write nothing, linger, or have odd names."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.kit import SAVE, World

RECORDING = "powercut: recording in a private copy of HERE/data\n"


def make_executable(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    path.chmod(0o755)


CANNOT_START = {
    "nosuchprogram": "cannot find the program 'nosuchprogram'. Is it in your PATH? [no-such-program]",
    "check": "cannot find the program 'check'. Did you mean ./check? [no-such-program]",
    "./nosuch": "cannot find the program './nosuch'. [no-such-program]",
    "sh -c true": "cannot find the program 'sh -c true'. Give the program and its arguments as separate words, "
    "not in one pair of quotes. [no-such-program]",
    "x" * 300: f"cannot find the program '{'x' * 300}'. Is it in your PATH? [no-such-program]",
    "./data": "'./data' is a folder, not a program. [no-such-program]",
    "./check": "'./check' is not executable. Make it executable with chmod +x, or put its interpreter in front. "
    "[not-executable]",
    "./interpreter": "cannot run './interpreter'. Does the interpreter in its first line exist, and is the program "
    "built for this machine? [not-executable]",
    "": "cannot find the program ''. Is it in your PATH? [no-such-program]",
}


@pytest.mark.parametrize("name", CANNOT_START)
def test_programs_that_cannot_be_started(world: World, name: str) -> None:
    make_executable(world.here / "interpreter", b"#!/nosuch/interpreter\n")
    ended = world.run("test", "--dir", "data", "--", name)
    said = RECORDING if name == "./interpreter" else ""  # the kernel alone knows that this one cannot be run
    assert (ended.err, ended.out, ended.code) == (f"{said}powercut: {CANNOT_START[name]}\n", "", 3)
    assert world.runs() == []


FAILS = {
    "echo never mind; echo some words >&2; exit 7": "exited with status 7. It must exit with 0 when there is no power "
    "cut. Its last output:\nsome words [workload-failed]",
    "echo only this; exit 1": "exited with status 1. It must exit with 0 when there is no power cut. Its last output:\n"
    "only this [workload-failed]",
    "exit 1": "exited with status 1. It must exit with 0 when there is no power cut. [workload-failed]",
    "kill -SEGV $$": "was killed by signal 11 (Segmentation fault). It must exit with 0 when there is no power cut. "
    "[workload-failed]",
    r"printf '\033[2Jgone\377\000' >&2; exit 1": "exited with status 1. It must exit with 0 when there is no power "
    "cut. Its last output:\n�[2Jgone�� [workload-failed]",
}


@pytest.mark.parametrize("script", FAILS)
def test_programs_that_fail_are_shown_with_their_last_words(world: World, script: str) -> None:
    ended = world.test(workload=script)
    assert ended.err == f"{RECORDING}powercut: the program {f'sh -c {script}'!r} {FAILS[script]}\n"
    assert (ended.out, ended.code) == ("", 3)


def test_only_the_last_words_are_shown(world: World) -> None:
    ended = world.test(workload="seq 100000 >&2; exit 1")
    assert ended.code == 3
    assert len(ended.err.splitlines()) == 22
    assert ended.err.endswith("\n99999\n100000 [workload-failed]\n")


def test_a_program_that_writes_nothing(world: World) -> None:
    ended = world.test(workload="echo saved")
    assert ended.err == (
        f"{RECORDING}powercut: the program changed nothing in HERE/data. Is --dir the folder it writes to? "
        "[nothing-written]\n"
    )
    assert ended.code == 3


def test_a_daemon_that_lingers_is_ended_and_named(world: World) -> None:
    ended = world.test(workload=f"{SAVE}; (setsid sleep 61 &)")
    assert "killed processes that were still running in the background 2 s after the program ended" in ended.err
    assert ended.code == 1
    assert "sleep 61" not in world.running()


def test_a_program_reads_nothing_from_our_input(world: World) -> None:
    before = time.monotonic()
    ended = world.test(workload=f"cat > data/input; {SAVE}")
    assert ended.code == 1
    assert time.monotonic() - before < 30


def test_a_program_that_prints_binary(world: World) -> None:
    ended = world.test(workload=rf"printf '\377\000\033[2J\n'; {SAVE}; printf '\377\033[2J'")
    assert ended.code == 1
    assert "\x1b" not in ended.out + ended.err


def test_odd_names_everywhere(world: World) -> None:
    """Spaces, quotes, newlines and letters of other alphabets in folder, program and file names."""
    folder = world.here / "d x\né\"q'"
    folder.mkdir()
    (folder / "f").write_text("old")
    program = world.here / 'sa ve "1.sh'
    program.write_text('printf new > "$1/ü\n☃"; mv "$1/ü\n☃" "$1/f"; echo saved')
    ended = world.run("test", "--dir", folder.name, "--check", "sh check", "--", "sh", program.name, folder.name)
    assert ended.code == 1, ended.err
    assert "the rename of ü" in ended.out
    assert (folder / "f").read_text() == "old"
    assert list(folder.iterdir()) == [folder / "f"]


def test_names_that_are_not_utf_8(world: World) -> None:
    folder = os.fsencode(world.here) + b"/d\xff"
    os.mkdir(folder)
    with open(folder + b"/f", "wb") as file:
        file.write(b"old")
    script = b"printf new > d\xff/t\xfe; mv d\xff/t\xfe d\xff/f; echo saved"
    found = world.run("test", "--dir", b"d\xff", "--check", "sh check", "--json", "report", "--", "sh", "-c", script)
    assert found.code == 1, found.err
    assert world.run("show").code == 0
    name = found.out.split()[0]
    assert world.run("show", name).code == 0
    assert world.run("replay", name).code == 1
    assert b"\\udcff" in (world.here / "report").read_bytes()


def test_the_line_of_the_program_is_named(world: World) -> None:
    program = world.here / "save.py"
    program.write_text(
        "import os\n"
        "with open('data/f.tmp', 'w') as file:\n"
        "    file.write('new')\n"
        "os.rename('data/f.tmp', 'data/f')\n"
        "print('saved')\n"
    )
    ended = world.run("test", "--dir", "data", "--check", "sh check", "--", sys.executable, "save.py")
    assert ended.code == 1
    assert "lost:         HERE/save.py:4 in <module>\n" in ended.out
    assert "acknowledged: HERE/save.py:5 in <module>\n" in ended.out
    assert "fix: call fsync on the directory (the data folder) before save.py:5 (verified in the model)" in ended.out


def test_syncfs_beside_the_data_folder_syncs_it(world: World) -> None:
    """`sync -f` calls syncfs. The copy of the data lies elsewhere: what counts is where the folder itself is."""
    script = "printf new > data/f.tmp && sync -f {0} && mv data/f.tmp data/f && sync -f {0} && echo saved"
    ended = world.test("--fs", "posix", workload=script.format("."))
    assert ended.code == 0, ended.out
    ended = world.test("--fs", "posix", workload=script.format("/proc"))
    assert (ended.code, "acknowledged but lost" in ended.out) == (1, True), ended.out


EARLY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int file = open("data/log", O_WRONLY | O_CREAT | O_APPEND, 0644), folder = open("data", O_RDONLY);
    fsync(folder);
    for (int i = 0; i < 4; i++) {
        if (write(file, "record\n", 7) != 7)
            return 1;
        printf("saved %d %s\n", i, isatty(1) ? "to a terminal" : "for a program");
        fsync(file);
    }
    return 0;
}
"""
KEPT = """\
[ -e log ] || : > log
[ "$(wc -l < log)" -ge "$(grep -c saved "$POWERCUT_ACKED")" ] || { echo "a record is lost"; exit 1; }
"""


@pytest.mark.parametrize("options", [[], ["-static"]], ids=["dynamic", "static"])
@pytest.mark.parametrize("tracer", ["calls", "memory"])
def test_a_promise_that_c_would_buffer_is_heard_before_the_sync(world: World, options: list[str], tracer: str) -> None:
    (world.here / "early.c").write_text(EARLY)
    subprocess.run(["gcc", "-g", *options, "early.c", "-o", "early"], cwd=world.here, check=True)
    (world.here / "check").write_text(KEPT)
    ended = world.run("test", "--dir", "data", "--check", "sh check", "--tracer", tracer, "--", "./early")
    assert ended.code == 1, ended.out
    assert "printed 'saved 0 for a program' (early.c:11)" in ended.out  # in the line before the sync
    assert "kept back" not in ended.err
    printed = (world.here / ".powercut/runs/0001/trace.out").read_text()
    assert printed.splitlines()[0] == "saved 0 for a program"  # no colours, no prompts


def test_output_in_one_piece_at_the_end_is_told(world: World) -> None:
    late = "open(F, '>', 'data/g'); syswrite(F, 'x'); print \"saved $_\\n\" for 1..3"
    ended = world.run("test", "--dir", "data", "--check", "true", "--", "perl", "-e", late)
    assert "the program kept back 3 lines of output" in ended.err
    ended = world.run("test", "--dir", "data", "--check", "true", "--", "perl", "-e", f"$| = 1; {late}")
    assert "kept back" not in ended.err


FROM_TMPDIR = """\
import os, sys, tempfile
handle, name = tempfile.mkstemp()
with os.fdopen(handle, "w") as file:
    file.write("new" * 3000); file.flush()
    if sys.argv[1] == "sync":
        os.fsync(file.fileno())
os.replace(name, "data/f")
"""


@pytest.mark.parametrize("check", [None, "grep -q '^old$\\|^\\(new\\)*$' f"])
@pytest.mark.parametrize(("how", "code"), [("sync", 0), ("no sync", 1)])
def test_a_temporary_file_from_elsewhere_replaces_as_in_life(
    world: World, check: str | None, how: str, code: int
) -> None:
    """TMPDIR lies on the folder's file system, but not in it; without a sync the name can outlive the content."""
    (world.here / "save.py").write_text(FROM_TMPDIR)
    checks = [] if check is None else ["--check", check]
    program = [sys.executable, str(world.here / "save.py"), how]
    ended = world.run("test", "--dir", "data", "--fs", "xfs", *checks, "--", *program)
    assert (ended.code, "EXDEV" in ended.err) == (code, False), ended.out + ended.err
    assert code == 0 or "save.py:7" in ended.out
