"""Checks that cannot run, refuse what is fine, hang, crash, shout or vandalise."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.kit import ROW, SAFE, World

RECORDING = "powercut: recording in a private copy of HERE/data\n"


def script(world: World, text: str, name: str = "odd") -> str:
    """A check made of a shell script; the command that runs it."""
    (world.here / name).write_text(text)
    return f"sh {name}"


CANNOT_RUN = {
    "nosuchcheck": "cannot find the program 'nosuchcheck'. Is it in your PATH? [no-such-program]",
    "./data": "'./data' is a folder, not a program. [no-such-program]",
    "./check": "'./check' is not executable. Make it executable with chmod +x, or put its interpreter in front. "
    "[not-executable]",
}


@pytest.mark.parametrize("check", CANNOT_RUN)
def test_a_check_that_cannot_run_is_refused_before_the_program_runs(world: World, check: str) -> None:
    ended = world.test(check=check)
    assert (ended.err, ended.code) == (f"powercut: {CANNOT_RUN[check]}\n", 3)


def test_a_check_that_refuses_the_final_state(world: World) -> None:
    """Said before anything is explored."""
    ended = world.test(check=script(world, "echo I refuse; echo this >&2; exit 9"))
    assert ended.err == (
        f"{RECORDING}powercut: the check fails even without a crash: it exited with 9 on the folder that the program "
        "left. Fix that first. Output of the check:\nI refuse\nthis [check-fails-on-final-state]\n"
    )
    assert (ended.out, ended.code, world.runs()) == ("", 3, [])


def test_a_check_that_hangs_on_the_final_state(world: World) -> None:
    ended = world.test("--timeout", "0.2", check="sleep 62")
    assert ended.err.splitlines()[-1] == (
        "powercut: the check fails even without a crash: it did not end within 0.2 s on the folder that the program "
        "left. Fix that first. [check-fails-on-final-state]"
    )
    assert ended.code == 3
    assert "sleep 62" not in world.running()


def test_a_check_that_dies_on_the_final_state(world: World) -> None:
    ended = world.test(check=script(world, "kill -SEGV $$"))
    assert "it crashed (signal 11) on the folder that the program left." in ended.err
    assert ended.code == 3


def test_a_check_that_hangs_on_a_crash_state_is_a_finding(world: World) -> None:
    ended = world.test("--timeout", "0.5", check=script(world, "grep -q new f || sleep 63"))
    assert ended.code == 1
    assert "recovery fails (recovery)" in ended.out
    assert "the check hangs" in " ".join(ended.out.split())
    assert "sleep 63" not in world.running()


def test_a_check_that_dies_on_a_crash_state_is_a_finding(world: World) -> None:
    ended = world.test(check=script(world, "grep -q new f || kill -ABRT $$"))
    assert ended.code == 1
    assert "the check crashes (signal 6)" in " ".join(ended.out.split())


def test_a_check_that_shouts(world: World) -> None:
    """Only the end of what it says is shown, and nothing that a terminal would obey."""
    shout = script(world, r"head -c 3000000 /dev/urandom; printf '\033[2J\nthe end\n'; . " + f"{world.here}/check")
    ended = world.test(check=shout)
    assert ended.code == 1
    assert "| the end" in ended.out
    assert "\x1b" not in ended.out + ended.err
    assert len(ended.out) < 20_000


VANDALS = {
    "deletes everything": 'rm -rf "$POWERCUT_DIR"/*',
    "deletes the folder": 'cd /; rm -rf "$POWERCUT_DIR"',
    "locks the folder": "rm -rf *; mkdir -p a/b; echo x > a/b/c; chmod 000 a; mkfifo p; ln -s / root; chmod 000 .",
    "fills it": "i=0; while [ $i -lt 200 ]; do echo $i > file$i; i=$((i+1)); done; echo rubbish > f",
    "moves things": "mv f g; mkdir f; mv g f/g",
    "leaves processes": "(while :; do echo x > f; sleep 0.01; done) & setsid sleep 64 &",
    "writes to what was printed": 'echo nothing > "$POWERCUT_ACKED"',
}


def without_counts(text: str) -> str:
    """A vandal looks at more than a check must, so more states differ for it."""
    return re.sub(r"crash states covered: .*", "", text)


@pytest.mark.parametrize("deed", VANDALS)
def test_whatever_a_check_does_the_next_state_is_unharmed(world: World, deed: str) -> None:
    expected = world.test("--seed", "1")
    vandal = script(world, f". {shlex.quote(str(world.here / 'check'))}\n{VANDALS[deed]}\nexit 0")
    ended = world.test("--seed", "1", check=vandal)
    assert ended.code == expected.code == 1
    assert without_counts(ended.out.replace("0002", "0001")) == without_counts(expected.out)
    assert "sleep 64" not in world.running()


def test_a_check_has_no_input(world: World) -> None:
    assert world.test(check=script(world, f"read line && exit 1; . {world.here}/check")).code == 1


def test_what_a_check_is_given(world: World) -> None:
    """The folder at its own path, as current folder and in POWERCUT_DIR; what was printed in POWERCUT_ACKED."""
    log = world.here / "log"
    log.touch()
    given = script(world, f'echo "$PWD $POWERCUT_DIR $(pwd -P) $(cat "$POWERCUT_ACKED")" >> {log}')
    assert world.test(check=given, workload=SAFE).code == 0
    lines = set(log.read_text().splitlines())
    assert lines == {f"{world.data} {world.data} {world.data} {said}" for said in ("", "saved")}


SERVER = """\
import os, socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
answers = []

def ask():
    with socket.create_connection(listener.getsockname()) as client:
        client.sendall(b"put f\\n")
        answers.append(client.recv(100))

client = threading.Thread(target=ask)
client.start()
connection = listener.accept()[0]
assert connection.recv(100) == b"put f\\n"
with open("data/f.tmp", "w") as file:
    file.write("new")
    if sys.argv[1] == "safe":
        file.flush()
        os.fsync(file.fileno())
os.rename("data/f.tmp", "data/f")
if sys.argv[1] == "safe":
    folder = os.open("data", os.O_RDONLY)
    os.fsync(folder)
connection.sendall(b"stored f\\n")
client.join()
assert answers == [b"stored f\\n"]
"""
SERVER_CHECK = """\
case "$(cat f)" in
    new) ;;
    old) if grep -q "stored f" "$POWERCUT_SENT"; then echo "f was stored, and it is old"; exit 1; fi ;;
    *) exit 1 ;;
esac
[ ! -s "$POWERCUT_ACKED" ]
"""


def test_what_a_server_answered_is_a_promise(world: World) -> None:
    """What is sent over sockets is in POWERCUT_SENT, and losing it is a matter of durability."""
    (world.here / "server.py").write_text(SERVER)
    check = script(world, SERVER_CHECK)
    report = world.here / "report.json"
    for care, kinds in (("safe", []), ("hasty", ["durability"])):
        options = ["--dir", "data", "--check", check, "--json", str(report), "--", sys.executable, "server.py", care]
        ended = world.run("test", "--fs", ROW, *options)
        assert ended.code == (1 if kinds else 0), ended.err
        findings = json.loads(report.read_text())["findings"]
        assert [finding["kind"] for finding in findings] == kinds
    (acknowledged,) = [place for place in findings[0]["locations"] if place["role"] == "acknowledged"]
    assert acknowledged["line"] == SERVER.splitlines().index('connection.sendall(b"stored f\\n")') + 1
    assert "The program sent 'stored f' to a socket" in ended.out


def test_relative_scripts_and_quotes_in_a_check(world: World) -> None:
    folder = world.here / "my checks"
    folder.mkdir()
    program = folder / "it's one"
    program.write_text("#!/bin/sh\n[ \"$1\" = 'two words' ] && . ../check\n".replace("..", str(world.here)))
    program.chmod(0o755)
    for check in ("'./my checks/it'\\''s one' \"two words\"", "sh 'my checks/it'\\''s one' two\\ words"):
        ended = world.test(check=check)
        assert ended.code == 1, ended.err


def test_a_check_is_not_run_by_a_shell(world: World) -> None:
    bait = world.here / "bait"
    ended = world.test(check=f"true ; touch {bait}")
    assert ended.code == 0
    assert not Path(bait).exists()


def test_without_a_check_replaced_files_are_old_or_new(world: World) -> None:
    ended = world.test("--fs", "posix", check=None)
    assert ended.code == 1
    assert "f has 3 bytes that are neither its old nor its new content" in ended.out


def test_a_word_of_the_check_means_what_is_in_the_data_folder_first(world: World) -> None:
    """`bank verify bank`: the program beside the data folder and the data in it may have one name."""
    (world.here / "f").write_text("neither")
    ended = world.test(check="grep -qx -e old -e new f")
    assert (ended.code, ended.err) == (0, RECORDING)


def test_what_a_plain_kill_leaves_is_judged_with_all_that_was_said(world: World) -> None:
    """x without y is what a kill before the words leaves, too; after them it breaks the promise."""
    check = script(world, '[ ! -e x ] || [ -e y ] || ! grep -q done "$POWERCUT_ACKED"')
    ended = world.test(workload="mkdir data/x data/y; echo done", check=check)
    assert ended.code == 1
    assert "The program printed 'done'" in ended.out


def test_a_check_that_differs_when_it_is_forked_is_started_for_each_state_after_all(world: World) -> None:
    """Its limit of a tenth of a second begins before it looks at the data; only forks ever reach it."""
    (world.here / "check.py").write_text(
        "import time\nend = time.monotonic() + 0.1\nassert open('f').read() in ('old', 'new')\n"
        "assert time.monotonic() < end\n"
    )
    many = "; ".join(f"printf {n} > data/g{n}" for n in range(40))
    options = ("--no-equivalence", "--json", "report.json", "--budget", "30s", "--max-states", "300")
    command = f"{sys.executable} {world.here}/check.py"
    tested: list[int] = []
    for run in range(2):
        ended = world.test(*options, workload=f"{many}; {SAFE}", check=command)
        report = json.loads((world.here / "report.json").read_text())
        assert (ended.code, report["findings"], report["states"]["forks"]) == (0, [], 0)
        assert ("says something else if it is forked" in ended.err) == (run == 0)
        tested.append(report["states"]["tested"] + report["states"]["known"])
    world.test(*options, "--no-fork-checks", "--no-cache", workload=f"{many}; {SAFE}", check=command)
    assert tested == 2 * [json.loads((world.here / "report.json").read_text())["states"]["tested"]]


def test_forks_can_be_switched_off(world: World) -> None:
    (world.here / "check.py").write_text("import os\nassert os.listdir('.')\n")
    many = "; ".join(f"printf {n} > data/g{n}" for n in range(40))
    forks = {}
    for option in ("--fork-checks", "--no-fork-checks"):
        options = (option, "--no-equivalence", "--no-cache", "--json", "report.json", "--max-states", "60")
        world.test(*options, workload=f"{many}; {SAFE}", check=f"{sys.executable} {world.here}/check.py")
        forks[option] = json.loads((world.here / "report.json").read_text())["states"]["forks"]
    assert forks["--fork-checks"] > 20
    assert forks["--no-fork-checks"] == 0


LSM = """\
import os
with open("data/manifest.tmp", "w") as file:
    file.write("first\\n"); file.flush(); os.fsync(file.fileno())
os.rename("data/manifest.tmp", "data/manifest")
os.sync()
with open("data/manifest", "a") as file:
    for number in range(5):
        file.write(f"edit {number}\\n"); file.flush(); os.fsync(file.fileno())
"""


def test_the_built_in_check_says_which_file_it_takes_for_a_log(world: World) -> None:
    ended = world.run("test", "--dir", "data", "--", sys.executable, "-c", LSM)
    assert (ended.code, "No findings." in ended.out) == (0, True), ended.out
    assert "takes as appended, so that only what was put there must stay: manifest\n" in ended.err
