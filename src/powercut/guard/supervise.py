"""Running and restarting a service under guard, until it succeeds or fails again in the same way.

Before: a command, and a folder for its log. After: the service has run with the guard's library in front of PMDK; all
it made durable is in the log, or was reclaimed; each bad ending is remembered there. The pools are written by the
service alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import inf
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.guard.check_up import ask, one_ends_within
from powercut.guard.endings import OF_A_SHELL, Ending, place_calls, read_fault, remember, remembered, source_of
from powercut.guard.housekeeping import Housekeeping
from powercut.guard.log import GuardLog, last_segment
from powercut.guard.log_folder import nobody_supervises
from powercut.guard.preparation import NoRoomError, environment, make_folder
from powercut.guard.reclaim import VERSIONS
from powercut.guard.shrinking import Shrinking
from powercut.guard.signals import HandingOn, end
from powercut.guard.unseen import Unseen, holds_something
from powercut.quick_dataclass import dataclass


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
        self,
        command: Sequence[str],
        folder: Path,
        pools: Sequence[Path],
        watch: Watch,
        say: Callable[[str], None],
        versions: int = VERSIONS,
    ) -> None:
        self._command = list(command)
        self._folder = folder.absolute()
        self._pools = [path.absolute() for path in pools]
        self._watch = watch
        self._say = say
        self._versions = versions
        self._not_written: list[Ending] = []  # of endings, where there was no room

    def run(self, restarts: int) -> tuple[Ending, bool]:
        """Run the service, with so many restarts after bad endings; the last ending, and whether it came back."""
        make_folder(self._folder)
        with nobody_supervises(self._folder):
            return self._run(restarts)

    def _finish_shrinking(self) -> None:
        """What services leave that end soon, and by themselves, is reclaimed when none of them waits for it."""
        if Shrinking.is_due(self._folder):
            with HandingOn() as told, Shrinking(self._folder, self._versions, self._say) as shrinking:
                shrinking.finish(lambda: told.was_told)

    def _run(self, restarts: int) -> tuple[Ending, bool]:
        for left in range(restarts, -1, -1):
            ending, told = self._run_once()
            if ending.is_good:
                if ending.how == "exit":
                    self._finish_shrinking()
                return ending, False
            before = self._before(ending)
            where = source_of(ending.calls)
            self._say(f"the service {ending}" + (f": {where}" if where else ""))
            if before and ending.resembles(before[-1]):
                return ending, True
            if told:
                break
            if left:
                self._say("restarting it")
        return ending, False

    def _before(self, ending: Ending) -> list[Ending]:
        """The bad endings before this one, which from now on belongs to them, even if it cannot be written down."""
        before = [*remembered(self._folder), *self._not_written]
        try:
            remember(self._folder, ending)
        except OSError as error:
            self._not_written.append(ending)
            self._say(f"cannot write down in {self._folder} how the service ended: {error.strerror} [guard-log-full]")
        return before

    def _run_once(self) -> tuple[Ending, bool]:
        """How it ended, and whether it was told to."""
        given = self._environment()
        (self._folder / "fault").unlink(missing_ok=True)
        first = given["POWERCUT_GUARD_NEXT"].split()[0] if given else str(last_segment(self._folder) + 1)
        segment = self._folder / f"{first}.segment"
        shrinking = Shrinking(self._folder, self._versions, self._say)
        ahead = Housekeeping(self._folder, int(first), shrinking.look) if given else nullcontext()
        unseen = Unseen(self._folder, segment, self._pools, self._say)
        with HandingOn() as told, unseen if given else nullcontext(), shrinking, ahead:
            service = self._start(given)
            try:
                told.to(service)
                watched = self._wait(service)
            except BaseException:
                end(service)
                raise
        if given:
            unseen.say_at_end()
        return watched or self._ending(service.returncode, segment, told=told.was_told), told.was_told

    def _start(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(self._command, env={**os.environ, **environment})
        except OSError as error:
            message = f"cannot start the service {self._command[0]!r}: {error.strerror}."
            raise EnvironmentFailure("guard-service", message, "Give its command after --.") from error

    def _ending(self, code: int, segment: Path, *, told: bool) -> Ending:
        """What a status of the service means; a shell that started it tells a signal by an exit status."""
        noted, addresses = read_fault(self._folder)
        number = -code if code < 0 else code - OF_A_SHELL
        if code >= 0 and (told or noted != number):
            return Ending("told" if told else "exit", code)
        known = noted == number and holds_something(segment)  # else the log does not tell where its modules were
        return Ending("signal", number, place_calls(GuardLog(self._folder), addresses) if known else ())

    def _wait(self, service: subprocess.Popen[bytes]) -> Ending | None:
        """Until the service ends (None), or its check says that it should."""
        while not one_ends_within([service], self._watch.every if self._watch.check else inf):
            unwell = ask(self._watch.check, self._watch.timeout, service)
            if unwell is not None:
                end(service)
                return unwell
        return None

    def _environment(self) -> dict[str, str]:
        """What the library needs to know; nothing if there is no room for a log."""
        make_folder(self._folder)
        try:
            return environment(self._folder, self._pools, self._say)
        except NoRoomError as error:
            self._say(f"the checkpoint log cannot grow: {error}. The service runs without it [guard-log-full]")
            return {}
