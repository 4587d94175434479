"""An interrupt that Python had to swallow is heard all the same, and one that came to nobody ends a worker."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

LOST = """
import os, signal, sys
from powercut.interrupts import end_as_by_interrupt, pass_on

class Closing:
    def __del__(self):
        signal.raise_signal(int(sys.argv[1]))

end_as_by_interrupt()
pass_on()
Closing()
print("lost")
try:
    pass_on()
except KeyboardInterrupt:
    print("heard")
"""
WORKER = """
import os, signal, sys
from powercut.interrupts import end_as_by_interrupt

end_as_by_interrupt()
worker = os.fork()
if worker == 0:
    try:
        signal.raise_signal(int(sys.argv[1]))
    finally:
        os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))
"""
HELD = """
import signal, sys
from powercut.interrupts import HeldBack, end_as_by_interrupt

end_as_by_interrupt()
try:
    with HeldBack():
        with HeldBack():
            signal.raise_signal(int(sys.argv[1]))
            print("whole")
    print("never")
except KeyboardInterrupt:
    print("interrupted")
with HeldBack():
    print("once")
"""
MADE = """
import os, signal, sys
from pathlib import Path
from powercut.image.scratch import ScratchPolicy, make_scratch
from powercut.interrupts import end_as_by_interrupt, end_in_peace

end_as_by_interrupt()
try:
    print(make_scratch(ScratchPolicy(Path(sys.argv[2])), Path("/"), 1, False).path, flush=True)
    signal.raise_signal(int(sys.argv[1]))
except KeyboardInterrupt:
    if sys.argv[3] == "at once":
        end_in_peace()
        os._exit(0)
"""
every_signal = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


HEEDING = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # these tests may run under nohup


def run(script: str, number: int, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HEEDING + script, str(int(number)), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@every_signal
def test_an_interrupt_in_a_destructor_is_heard_later(number: int) -> None:
    done = run(LOST, number)
    assert (done.returncode, done.stdout, done.stderr) == (0, "lost\nheard\n", "")  # no traceback of ours


@every_signal
def test_a_forked_worker_just_ends(number: int) -> None:
    done = run(WORKER, number)
    assert (done.stdout, done.stderr) == (f"{128 + number}\n", "")


def test_what_is_ignored_stays_ignored() -> None:
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{LOST}"
    assert run(ignoring, signal.SIGHUP).stdout == "lost\n"


@every_signal
def test_what_is_held_back_interrupts_once_at_the_end(number: int) -> None:
    assert run(HELD, number).stdout == "whole\ninterrupted\nonce\n"


@pytest.mark.parametrize("end", ["at once", "as usual"])
def test_a_scratch_folder_that_nobody_could_remove_is_gone_at_the_end(end: str, tmp_path: Path) -> None:
    done = run(MADE, signal.SIGTERM, str(tmp_path), end)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(done.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


STUCK = """
from pathlib import Path
import sys
from powercut.image import scratch

scratch.make_scratch(scratch.ScratchPolicy(Path(sys.argv[2])), Path("/"), 1, False)

def stuck(folder):
    raise PermissionError(13, "no", str(folder))

scratch._delete = stuck
"""


def test_a_scratch_folder_that_cannot_be_deleted_ends_nothing_in_a_traceback(tmp_path: Path) -> None:
    done = run(STUCK, signal.SIGTERM, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.iterdir())) == 1
