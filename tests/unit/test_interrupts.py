"""An interrupt that Python had to swallow is heard all the same, and one that came to nobody ends a worker."""

from __future__ import annotations

import signal
import subprocess
import sys

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
every_signal = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


HEEDING = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # these tests may run under nohup


def run(script: str, number: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HEEDING + script, str(int(number))]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@every_signal
def test_an_interrupt_in_a_destructor_is_heard_later(number: int) -> None:
    done = run(LOST, number)
    assert (done.returncode, done.stdout) == (0, "lost\nheard\n")
    assert "Exception ignored in" in done.stderr


@every_signal
def test_a_forked_worker_just_ends(number: int) -> None:
    done = run(WORKER, number)
    assert (done.stdout, done.stderr) == (f"{128 + number}\n", "")


def test_what_is_ignored_stays_ignored() -> None:
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{LOST}"
    assert run(ignoring, signal.SIGHUP).stdout == "lost\n"
