"""Trying a plan on copies of the pool, until the service works with as few updates undone as possible.

Before: a plan, and a restart that fails. After: the records to take back, or the knowledge that none of the ways
helped. The pool itself is not touched.

There are two ways. Purge (`purge`) takes back what is suspected. Rollback takes back everything since an update that is
a cause, the newest one that helps: it discards more, and leaves a state that the pool really had, unless the log does
not go back so far. They take turns: the likeliest steps are purged one at a time; if none of them helps, rollback finds
an answer in few attempts; then purge looks for one that discards less. So an answer is there early, and it is never
lost: the search ends when its time is over, when it has gone on for long enough after something helped, or when the
operator ends it, with the best answer so far. A restart that was only guessed to hang is asked again, with all its
time, where nothing else helps. In both ways steps can be tried in batches: fewer attempts, and more is discarded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path

from powercut.guard.history import History
from powercut.heal.failing_restart import Attempt, FailingRestart
from powercut.heal.heal_plan import Plan, Step, discarded, labels, make_plan
from powercut.heal.purge import Purge, Records
from powercut.heal.references import References
from powercut.heal.reversion import Patch, apply, patches
from powercut.heal.taint import LabelRange
from powercut.minimise import fewest
from powercut.quick_dataclass import dataclass
from powercut.trace.symbols import Frame

MODES = ("purge", "rollback")  # in the order in which they are tried
BUDGET = 600.0  # seconds of a search
LIKELIEST = 8  # steps that are purged before rollback has its turn
MORE_ATTEMPTS, MORE_SECONDS = 40, 60.0  # for less to discard, once something helps
ASKED_AGAIN = 4  # guessed hangs
Reorder = Callable[[list[Step], list[tuple[Frame, ...]]], list[Step]]


class SearchOverError(Exception):
    """The time of a search is over, or nothing better is worth more attempts."""


@dataclass(slots=True)
class Healing:
    """A way that helps.

    Attributes:
        mode: "purge" or "rollback".
        attempts: how often the restart was tried on the way.
        is_cut_short: the search ended before it was known that nothing helps with less.
    """

    mode: str
    records: Records
    attempts: int
    seconds: float
    is_cut_short: bool = False


@dataclass
class Healer:
    """Tries what a plan suggests.

    Attributes:
        name: the pool's path inside the folder.
        batch: how many steps are taken back as one.
        budget: seconds for the search.
        reorder: what else is known puts the steps of a failure with some stacks into another order.
        recovery: what libpmemobj does to the pool when it is opened: done first.
        best: what helps and discards least, as far as is known; None: nothing did yet.
        is_interrupted: the operator has ended the search.
        is_over: its time has.
    """

    restart: FailingRestart
    history: History
    name: Path
    say: Callable[[str], None]
    modes: tuple[str, ...] = MODES
    batch: int = 1
    budget: float = BUDGET
    reorder: Reorder | None = None
    recovery: Sequence[Patch] = ()
    best: Healing | None = None
    is_interrupted: bool = False
    is_over: bool = False
    _tried: dict[Records, Attempt] = field(default_factory=dict)
    _mode: str = ""
    _began: float | None = None  # None: nothing is searched
    _helped_at: tuple[int, float] | None = None  # attempts and time when something helped first

    @cached_property
    def _references(self) -> References:
        return References(self.history)

    def heal(self, plan: Plan) -> Healing | None:
        """Find a way; None if there is none. Interrupted, the best so far."""
        self._began = time.monotonic()
        try:
            found = self._search(plan.batches(self.batch))
        except SearchOverError:
            found = None
        except KeyboardInterrupt:
            self.is_interrupted, found = True, None
        finally:
            self._began = None
        if found is None and self.best is not None:
            self.best.is_cut_short = True
        return found or self.best

    def _search(self, steps: list[Step]) -> Healing | None:
        purge = Purge(self.history, self._references, self.attempt, self._steps)
        if "purge" in self.modes:
            found = self._by("purge", lambda: purge.first(steps[:LIKELIEST]))
            if found is not None:
                return found
        rolled_back = self._by("rollback", lambda: self._rollback(steps)) if "rollback" in self.modes else None
        purged = self._by("purge", lambda: purge.find(steps)) if "purge" in self.modes else None
        both = [healing for healing in (purged, rolled_back) if healing is not None]
        return min(both, key=self._lost) if both else self._asked_again()

    def _by(self, mode: str, way: Callable[[], Records | None]) -> Healing | None:
        self._mode = mode
        records = way()
        return None if records is None else self._healing(records)

    def _healing(self, records: Records) -> Healing:
        return Healing(self._mode, records, len(self._tried), time.monotonic() - (self._began or 0.0))

    def _lost(self, healing: Healing) -> int:
        return discarded(self.history, healing.records)[0]

    def _asked_again(self) -> Healing | None:
        """Restarts that seemed to hang, those first that discard least, with all the time there is for one."""
        guessed = [records for records, attempt in self._tried.items() if attempt.is_guess]
        for records in sorted(guessed, key=len)[:ASKED_AGAIN]:
            del self._tried[records]
            if self.attempt(records, patient=True).healed:
                return self._healing(records)
        return None

    @property
    def attempts(self) -> list[tuple[Records, Attempt]]:
        """What was tried, in order."""
        return list(self._tried.items())

    def attempt(self, records: Records, *, patient: bool = False) -> Attempt:
        """How the restart goes when some records never were."""
        if records not in self._tried:
            self._require_time()
            attempt = self.restart.attempt(lambda copy: self.take_back(copy / self.name, records), patient=patient)
            self._tried[records] = attempt
            self.say(f"attempt {len(self._tried)}: with {len(records)} updates undone, the service {attempt}")
            if attempt.healed and self._began is not None:
                self._keep(records)
        return self._tried[records]

    def _keep(self, records: Records) -> None:
        healing = self._healing(records)
        if self.best is None or self._lost(healing) < self._lost(self.best):
            self.best = healing
        self._helped_at = self._helped_at or (len(self._tried), time.monotonic())

    def _require_time(self) -> None:
        """Go on only while that is worth it; the first restart of a session belongs to no search."""
        now = time.monotonic()
        if self._began is None:
            return
        if now - self._began > self.budget:
            self.is_over = True
            raise SearchOverError
        if self._helped_at is not None:
            attempts, since = self._helped_at
            if len(self._tried) - attempts > MORE_ATTEMPTS or now - since > MORE_SECONDS:
                raise SearchOverError

    def _steps(self, failed: Attempt, taken: Records) -> list[Step]:
        return self.explain(failed, taken)[0].batches(self.batch)

    def explain(self, failed: Attempt, taken: Records = frozenset()) -> tuple[Plan, Attempt]:
        """What led to the failure that is left when some records never were; and how the run under taint ended."""

        def label(copy: Path) -> list[LabelRange]:
            self.take_back(copy / self.name, taken)
            return labels(self.history, copy / self.name, taken)

        origins = self.restart.explain(failed, label, stacks=self.reorder is not None)
        plan = make_plan(self.history, origins, failed)
        if self.reorder is not None:
            plan.steps = self.reorder(plan.steps, origins.stacks)
        return plan, origins.attempt

    def take_back(self, file: Path, records: Records) -> None:
        """Do it in a copy of the pool."""
        apply(file, self.recovery)
        apply(file, patches(self.history, file, records))
        apply(file, self._references.relinked(records))

    def _rollback(self, steps: list[Step]) -> Records | None:
        """Back to before a cause and what goes with it: the newest one that helps."""
        moments = sorted({min(step.records) for step in steps}, reverse=True)
        enough = fewest(len(moments), lambda count: self.attempt(self._since(moments[count - 1])).healed)
        if enough and not self.history.reaches(moments[enough - 1]):
            self.say("the log no longer has the right version of some bytes; they get the oldest one it has")
        return self._since(moments[enough - 1]) if enough else None

    def _since(self, moment: int) -> Records:
        return frozenset(self.history.changes[self.history.changes >= moment].tolist())
