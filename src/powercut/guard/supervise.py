"""Running and restarting a service under guard, until it succeeds or fails again in the same way.

Before: a command, and a folder for its log. After: the service has run with the guard's library in front of PMDK; all
it made durable is in the log, or was reclaimed; each bad ending is remembered there. The pools are written by the
service alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import inf
from pathlib import Path
from threading import Timer

from powercut.errors import EnvironmentFailure
from powercut.guard.check_up import ask, one_ends_within
from powercut.guard.endings import OF_A_SHELL, Ending, place_calls, read_fault, remember, remembered, source_of
from powercut.guard.housekeeping import Housekeeping
from powercut.guard.log import GuardLog, has_changes, last_segment, segments_of
from powercut.guard.log_folder import is_written, nobody_supervises
from powercut.guard.preparation import NoRoomError, environment, make_folder
from powercut.guard.present import read_present
from powercut.guard.reclaim import VERSIONS
from powercut.guard.shrinking import Shrinking
from powercut.guard.signals import HandingOn, end

_SOON = 10.0  # seconds in which most services have mapped their pools
_POOLS = "guard sees pools that PMDK maps as a shared library; name others with --pool."


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
        looking_after = self._looking_after(segment) if given else nullcontext()
        with HandingOn() as told, looking_after, shrinking, ahead:
            service = self._start(given)
            try:
                told.to(service)
                watched = self._wait(service)
            except BaseException:
                end(service)
                raise
        if given:
            self._say_what_is_not_seen(segment)
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
        known = noted == number and _holds_something(segment)  # else the log does not tell where its modules were
        return Ending("signal", number, place_calls(GuardLog(self._folder), addresses) if known else ())

    @contextmanager
    def _looking_after(self, segment: Path) -> Iterator[None]:
        """Some time after the start, say if nothing is logged: who waits for the end of a service hears it too late."""

        def look() -> None:
            if not _holds_something(segment):
                self._say(f"the service has not mapped a pool yet, so nothing is logged. {_POOLS} [guard-nothing]")

        timer = Timer(_SOON, look)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _say_what_is_not_seen(self, segment: Path) -> None:
        """What an operator must know who relies on the log."""
        if self._is_blind(segment):
            text = "the service changed its pool, but nothing of that was logged: it makes data durable by itself"
            hint = "Is libpmem linked statically? Link the shared one, or build the service with powercut cc."
            self._say(f"{text}. {hint} [guard-blind]")
        if not _holds_something(segment):
            hint = f"{_POOLS} Run the service in the foreground: guard does not see it in the background."
            self._say(f"the service mapped no pool, so nothing was logged. {hint} [guard-nothing]")
            return
        if is_written(self._folder):
            text = "the service ended, but a program it started is still running. guard does not see how that ends."
            self._say(f"{text} Run the service in the foreground. [guard-background]")

    def _is_blind(self, first: Path) -> bool:
        """Whether this run logged that it mapped pools, and no change of them, and a pool is not what the log says."""
        written = [path for number, path in segments_of(self._folder).items() if number >= int(first.stem)]
        if len(written) != 1 or has_changes(written[0]):  # most often: then all of the log need not be read
            return False
        pools = [held for held in read_present(self._folder).pools.values() if held.pool.base.exists()]
        there = [held for held in pools if held.pool.path.exists() and held.is_of_this_pool()]
        return any(any(True for _ in held.differences()) for held in there)

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


def _holds_something(first: Path) -> bool:
    """Whether there are records since a segment was to be begun; on a full disk an empty one is left."""
    since = (path for number, path in segments_of(first.parent).items() if number >= int(first.stem))
    return any(path.exists() and path.stat().st_size > 0 for path in since)
