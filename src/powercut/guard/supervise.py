"""Running a service under guard, again and again, until it ends well or its fault proves to be hard.

Before: a command, and a folder for its log. After: the service has run with the guard's library in front of PMDK; all
it made durable is in the log; each bad ending is remembered there. The pools are written by the service alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure, UsageError
from powercut.guard.endings import Ending, place_calls, read_fault, remember, remembered
from powercut.guard.history import History
from powercut.guard.log import GuardLog
from powercut.guard.writing import add_found

_LIBRARY = Path(_engine.__file__).parent / "_native" / "lib" / "libpowercut_guard.so"
_PATIENCE = 10.0  # seconds a service gets to end when it is told to


@dataclass(frozen=True, slots=True)
class Watch:
    """How a service is watched while it runs.

    Attributes:
        check: a command that exits with 0 while the service is well; none: only its end counts.
        every: seconds between two checks.
        timeout: seconds after which a check has hung.
    """

    check: tuple[str, ...] = ()
    every: float = 10.0
    timeout: float = 10.0


class Supervisor:
    """One service and its log."""

    def __init__(
        self, command: Sequence[str], folder: Path, pools: Sequence[Path], watch: Watch, say: Callable[[str], None]
    ) -> None:
        self._command = list(command)
        self._folder = folder.absolute()
        self._pools = [path.absolute() for path in pools]
        self._watch = watch
        self._say = say

    def run(self, restarts: int) -> tuple[Ending, bool]:
        """Run the service, with so many restarts after bad endings; the last ending, and whether it came back."""
        for left in range(restarts, -1, -1):
            ending = self._run_once()
            if ending.is_good:
                return ending, False
            before = remembered(self._folder)
            remember(self._folder, ending)
            self._say(f"the service {ending}")
            if before and ending.resembles(before[-1]):
                return ending, True
            if left:
                self._say("it is started again")
        return ending, False

    def _run_once(self) -> Ending:
        environment = self._environment()
        try:
            service = subprocess.Popen(self._command, env={**os.environ, **environment})
        except OSError as error:
            message = f"the service {self._command[0]!r} cannot be started: {error.strerror}."
            raise EnvironmentFailure("guard-service", message, "Give its command after --.") from error
        with _handing_on(service):
            watched = self._wait(service)
        if watched is not None:
            return watched
        code = service.returncode
        if code >= 0:
            return Ending("exit", code)
        noted, addresses = read_fault(self._folder)
        calls = place_calls(GuardLog(self._folder), addresses) if noted == -code else ()
        return Ending("signal", -code, calls)

    def _wait(self, service: subprocess.Popen[bytes]) -> Ending | None:
        """Until the service ends (None), or its check says that it should."""
        while True:
            try:
                service.wait(self._watch.every if self._watch.check else None)
            except subprocess.TimeoutExpired:
                unwell = self._ask()
                if unwell is None or service.poll() is not None:
                    continue
                _end(service)
                return unwell
            return None

    def _ask(self) -> Ending | None:
        try:
            asked = subprocess.run(self._watch.check, timeout=self._watch.timeout, check=False)
        except subprocess.TimeoutExpired:
            return Ending("hang", 0)
        except OSError as error:
            message = f"the check {self._watch.check[0]!r} cannot be started: {error.strerror}."
            raise EnvironmentFailure("guard-check", message) from error
        return Ending("check", asked.returncode) if asked.returncode else None

    def _environment(self) -> dict[str, str]:
        """What the library needs to know; what happened to the pools without it is written down first."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"there can be no log in {self._folder}: {error.strerror}."
            raise UsageError("guard-folder", message, "Name another folder with --log.") from error
        preload = " ".join(filter(None, (str(_LIBRARY), os.environ.get("LD_PRELOAD"))))
        given = {"LD_PRELOAD": preload, "POWERCUT_GUARD": str(self._folder), "POWERCUT_GUARD_NEXT": "1 1"}
        given["POWERCUT_GUARD_POOLS"] = "\n".join(map(str, self._pools))
        if any(self._folder.glob("*.segment")):
            given["POWERCUT_GUARD_KNOWN"] = "\n".join(self._catch_up())
            given["POWERCUT_GUARD_NEXT"] = "{} {}".format(*GuardLog(self._folder).next_numbers)
        return given

    def _catch_up(self) -> list[str]:
        """Write down what pools hold that the log does not explain; lines that name those which are still there."""
        known = []
        for number, pool in GuardLog(self._folder).pools.items():
            log = GuardLog(self._folder)
            history = History(log, pool)
            if not pool.path.exists() or not history.is_of_this_pool():
                continue
            found = add_found(log, pool, history.differences())
            if found:
                self._say(f"{pool.path} differs from its log in {found} places: they are added to it")
            facts = pool.path.stat()
            known.append(f"{number} {facts.st_dev} {facts.st_ino}")
        return known


class _handing_on:
    """Signals that end powercut end the service instead; powercut goes on to see how."""

    def __init__(self, service: subprocess.Popen[bytes]) -> None:
        self._service = service

    def __enter__(self) -> None:
        told = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        self._before = {number: signal.signal(number, self._hand_on) for number in told}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hand_on(self, number: int, _: object) -> None:
        if self._service.poll() is None:
            self._service.send_signal(number)


def _end(service: subprocess.Popen[bytes]) -> None:
    service.terminate()
    try:
        service.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait()
