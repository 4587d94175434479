"""A check that is started once and forked for each state, where that is safe and saves time.

Before: a command that is run in a worker, in the usual way. After: its runs may be answered by forks of a process that
stands before the first call whose outcome could depend on the image (native/engine/forks). What a fork says is
compared with a run in the usual way on the first images, on ever fewer later ones, and wherever it refuses in new
words: `must_be_proved`. A check that cannot be forked, or gains nothing by it, is run in the usual way; `why_not`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from statistics import median

from powercut import _engine
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass

PLAIN_RUNS = 2  # until it is worth to look whether it can be forked
START_SECONDS = 5.0  # that may pass until the check looks at its folder
TRIAL = 20  # forks after which they must have been worth it
WORTH = 0.8  # of the time of a run in the usual way
STARTS_FREE = 3  # later ones must have been earned
MISFITS = (4, 0.25)  # images that a lenient check does not fit, and their share, until a strict one is tried
MOST_WORDS = 64  # different words of refusals that are proved each

Ending = tuple[str, int, float, bytes]  # see _engine.spawn


@dataclass(frozen=True, slots=True)
class Launch:
    """How the check is started."""

    path: bytes
    argv: list[bytes]
    env: list[bytes]
    cwd: bytes
    stdin: int
    output: int

    def run(self, timeout: float, tick: Callable[[], object] | None) -> Ending:
        """Start it, in the usual way, and wait for its end."""
        return _engine.spawn(self.path, self.argv, self.env, self.cwd, self.stdin, self.output, timeout, tick)


class ForkedCheck:
    """The forks of one check in one worker.

    Attributes:
        why_not: why it is not forked; empty as long as it may be.
    """

    def __init__(self, launch: Launch, folder: Path, scratch: Path) -> None:
        """`folder` and `scratch`: what it must not have looked at before it is forked."""
        self.why_not = ""
        self._launch = launch
        self._folder = bytes(folder.resolve())
        self._scratch = bytes(scratch.resolve())
        self._server: _engine.ForkServer | None = None
        self._strict_from = -1
        self._mode = _Mode.LENIENT
        self._misfits = 0
        self._starts = 0
        self._starting = 0.0  # seconds
        self._plain = _Times()
        self._forked = _Times()
        self._proved = {True: 0, False: 0}  # verdicts of forks, passes and others
        self._words: set[str] = set()

    def ran_plainly(self, seconds: float) -> None:
        """A run in the usual way took so long."""
        self._plain.add(seconds)

    def run(self, timeout: float, tick: Callable[[], object] | None) -> Ending | None:
        """The end of a fork; None where the check must be run in the usual way."""
        if self.why_not or self._plain.count < PLAIN_RUNS or (self._server is None and not self._start()):
            return None
        assert self._server is not None
        ending = self._server.run(timeout, tick)
        if ending is None:
            self._misfit()
            return None
        if ending[0] != "exit":
            return ending  # how long it takes to die or to hang says nothing
        self._forked.add(ending[2])
        if self._forked.count == TRIAL and self._forked.usual > WORTH * self._plain.usual:
            self._not_worth_it()
        return ending

    def must_be_proved(self, verdict: Verdict) -> bool:
        """Whether a run in the usual way must say the same as this verdict of a fork."""
        if verdict.outcome not in (Outcome.PASS, Outcome.FAIL):
            return True
        number = self._proved[verdict.passed] = self._proved[verdict.passed] + 1
        if verdict.passed:
            return number & (number - 1) == 0
        new = verdict.output not in self._words and len(self._words) < MOST_WORDS
        if new:
            self._words.add(verdict.output)
        return new or number & (number - 1) == 0

    def give_up(self, why: str) -> None:
        """Fork no more."""
        self.why_not = why
        self._end()

    def _start(self) -> bool:
        saved = self._forked.count * (self._plain.usual - self._forked.usual)
        if self._starts >= STARTS_FREE and self._starting > saved:
            self.give_up("it must be started too often")
            return False
        self._starts += 1
        launch = self._launch
        try:
            self._server = _engine.ForkServer(
                launch.path,
                launch.argv,
                launch.env,
                launch.cwd,
                launch.stdin,
                launch.output,
                self._folder,
                self._scratch,
                START_SECONDS,
                self._strict_from,
                self._mode is not _Mode.STRICT,
            )
        except RuntimeError as error:
            self.give_up(str(error))
            return False
        self._starting += self._server.seconds
        self._strict_from = self._server.strict_from
        return True

    def _misfit(self) -> None:
        """What it found missing is there in this image, or the folder is another one, or the check ended it."""
        assert self._server is not None
        if not self._server.alive:
            self._server = None
            return
        self._misfits += 1
        many, share = MISFITS
        if self._mode is _Mode.LENIENT and self._misfits >= max(many, share * self._forked.count):
            self._turn(_Mode.STRICT)

    def _not_worth_it(self) -> None:
        """What was tried does not save enough; a strict check is forked too early to save what a lenient one does."""
        if self._mode is _Mode.STRICT:
            self._turn(_Mode.LENIENT_FOR_GOOD)
        else:
            self.give_up("it saves no time")

    def _turn(self, mode: _Mode) -> None:
        self._mode = mode
        self._misfits, self._forked = 0, _Times()
        self._end()

    def _end(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


class _Mode(Enum):
    """What the check may have seen before it is forked; what that was must be the same in every image."""

    LENIENT = 1  # the folder itself, and that names in it are missing
    STRICT = 2  # nothing at all
    LENIENT_FOR_GOOD = 3


class _Times:
    """What some runs took: their number, and the median of the last ones, which no busy moment spoils."""

    def __init__(self) -> None:
        self.count = 0
        self._last = deque[float](maxlen=TRIAL)

    def add(self, seconds: float) -> None:
        self.count += 1
        self._last.append(seconds)

    @property
    def usual(self) -> float:
        return median(self._last) if self._last else 0.0
