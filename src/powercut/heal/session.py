"""Healing one pool, from its log to the updates to undo. The command line uses this.

Before: a log, and a command that restarts the service and judges it. After: a plan, and if it was asked for, a healing
that was tried on copies; the pool is changed only by `Session.change` and `Session.write`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from powercut.errors import UsageError
from powercut.guard.history import History
from powercut.guard.integrity import require_whole
from powercut.guard.log import GuardLog, RecordKind
from powercut.guard.writing import catch_up
from powercut.heal.bitcode.slicing import StaticCode, in_order
from powercut.heal.changes import change
from powercut.heal.copies import copy_of, recovery
from powercut.heal.failing_restart import Attempt, FailingRestart
from powercut.heal.heal_plan import Plan, Step, together
from powercut.heal.healer import BUDGET, MODES, Healer, Healing
from powercut.heal.leaks import Allocated, Leak, Rule, find_leaks, without
from powercut.heal.record_lines import Places
from powercut.heal.reversion import Patch, apply
from powercut.quick_dataclass import dataclass
from powercut.trace.symbols import Frame

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Restart:
    """The command that restarts the service and judges it: it exits with 0 if all is well."""

    command: Sequence[str]
    cwd: Path
    timeout: float


class Session:
    """Healing one pool.

    Attributes:
        history: of the pool, with what was found in it last.
        command: what restarts the service.
    """

    def __init__(
        self,
        log: Path,
        pool: Path | None,
        restart: Restart,
        say: Say,
        modes: Sequence[str] = MODES,
        *,
        batch: int = 1,
        budget: float = BUDGET,
        bitcode: Sequence[Path] = (),
    ) -> None:
        """`bitcode` is that of the service, to refine the order of the plan; `batch` steps are taken back as one."""
        self._code = StaticCode(bitcode) if bitcode else None
        self._folder = log.absolute()
        self._pool = pool.absolute() if pool is not None else None
        whole = GuardLog(self._folder)
        require_whole(whole)
        self.history = self._history(whole)
        path, self.command, recovered = self.history.pool.path, restart.command, recovery(self.history)
        with copy_of(path) as copy:
            apply(copy.file, recovered)
            if catch_up(self.history, self._folder, whole.next_numbers, copy.file):
                self.history = self._history(GuardLog(self._folder))
        self._restart = FailingRestart(path.parent, restart.command, restart.cwd, restart.timeout, skip=(self._folder,))
        self._healer = Healer(self._restart, self.history, Path(path.name), say, tuple(modes), batch, budget)
        self._healer.recovery = recovered
        if bitcode:
            self._healer.reorder = self._by_code
        self._say = say
        self._places = Places(self.history.log)

    def restart(self) -> Attempt:
        """How the restart goes on a copy of the pool as it is."""
        return self._healer.attempt(frozenset())

    def plan(self) -> tuple[Plan, Attempt]:
        """Run the failing restart under taint, and see what of the pool led to the fault."""
        first = self.restart()
        if first.healed:
            raise UsageError("nothing-to-heal", "the service restarts and works.", "There is nothing to undo.")
        self._say("running the restart again in the memory tracer, which can take many times as long")
        plan, tainted = self._healer.explain(first)
        if not tainted.resembles(first):
            text = f"in the memory tracer, the restart {tainted}, so what led to the failure is not known for sure"
            self._say(f"{text}. The plan is made of the newest updates, too. [heal-differs]")
        if plan.later is not None and plan.steps and self._makes_no_difference(plan, first):
            plan.steps = []
        return plan, first

    def _makes_no_difference(self, plan: Plan, first: Attempt) -> bool:
        """Whether the restart says the same without all that is suspected, and without all since the first of it.

        One that fails without a word may have other reasons each time.
        """
        if not first.said:
            return False
        oldest = min(min(step.records) for step in plan.steps)
        changes = self.history.changes
        for records in (together(plan.steps), frozenset(changes[changes >= oldest].tolist())):
            attempt = self._healer.attempt(records)
            if not attempt.resembles(first) or attempt.said != first.said:
                return False
        return True

    def heal(self, plan: Plan) -> Healing | None:
        """Try the plan on copies; the best that was found when it ends, also if somebody ends it (`is_interrupted`)."""
        return self._healer.heal(plan)

    @property
    def is_interrupted(self) -> bool:
        """Whether the operator has ended the search."""
        return self._healer.is_interrupted

    @property
    def is_over(self) -> bool:
        """Whether the time of the search is over."""
        return self._healer.is_over

    @property
    def attempts(self) -> list[tuple[frozenset[int], Attempt]]:
        """The restarts so far, in order: without which records, and how each went."""
        return self._healer.attempts

    def attempt(self, records: frozenset[int]) -> Attempt:
        """How the restart goes on a copy as if some records had never been."""
        return self._healer.attempt(records)

    def change(self, healing: Healing) -> Path:
        """Do to the pool what helped its copies; where the way back is kept."""
        return self.take_back(healing.records)

    def take_back(self, records: frozenset[int]) -> Path:
        """Change the pool as if some records had never been; where the way back is kept."""
        with copy_of(self.history.pool.path) as copy:
            self._healer.take_back(copy.file, records)
            return self.write(list(copy.differences()))

    def leaks(self, rule: Rule = Rule.PATHS) -> list[Leak]:
        """Objects that are not reached: the restart runs on a copy, in the memory tracer, to see what it touches."""
        return find_leaks(self.history, lambda allocated: self._touched(allocated, rule), rule)

    def free(self, leaks: list[Leak]) -> tuple[Attempt, list[Patch]]:
        """How the restart goes on a copy without leaked objects, and what makes the pool so."""
        freed = without(self.history.pool.path, leaks)
        return self._restart.attempt(lambda copy: apply(copy / self._healer.name, freed)), freed

    def write(self, changes: list[Patch]) -> Path:
        """Change the pool; where the way back is kept."""
        return change(self._folder, self.history.pool.path, changes)

    def place(self, record: int) -> Frame | None:
        """The line that made a record, None if that is not known."""
        return self._places.of(record)

    def age(self, record: int) -> float:
        """Seconds of the service's life between a record and the end of that run."""
        log = self.history.log
        after = log.of_kind(RecordKind.START)
        until = min((start for start in after.tolist() if start > record), default=len(log))
        return (int(log.records["time"][record:until].max()) - int(log.records["time"][record])) / 1000

    def _by_code(self, steps: list[Step], stacks: list[tuple[Frame, ...]]) -> list[Step]:
        """Steps that a line made which leads to the failing one go before others."""
        found = self._code and self._code.slice_of(stacks)
        if not found:
            self._say("the bitcode does not contain the failing line, so it does not change the order of the plan")
            return steps
        return list(in_order(steps, found, self.place))

    def _touched(self, allocated: Allocated, rule: Rule) -> Iterable[int]:
        """The objects that the restart touches, in its recovery, if the service says when that is."""
        touches = self._restart.touches(lambda copy: allocated.labels(copy / self._healer.name))
        when = "between pc_recover_begin and pc_recover_end" if touches.marked else "in total"
        count, ending = len(touches.numbers), touches.plain
        self._say(f"the restarted service {ending}; {when} it touched {count} of {len(allocated)} objects")
        if not touches.attempt.resembles(ending):
            self._say(f"in the memory tracer, the service {touches.attempt}: it may touch more objects than that")
        if rule is Rule.TOUCHES and not count:
            message = f"the restart touches no object of {self.history.pool.path}, so all would count as leaked."
            raise UsageError(
                "nothing-touched", message, "Use --leaks alone, which keeps every object with a path to it."
            )
        return touches.numbers

    def _history(self, log: GuardLog) -> History:
        """The history of the pool that is meant."""
        pools = [pool for pool in log.pools.values() if self._pool is None or pool.path == self._pool]
        histories = [history for pool in pools if (history := History(log, pool)).is_of_this_pool()]
        if not histories:
            known = ", ".join(str(pool.path) for pool in log.pools.values()) or "none"
            message = f"the log {self._folder} does not contain {self._pool or 'a pool'}; it contains {known}."
            if pools:
                there = ", ".join(str(pool.path) for pool in pools)
                message = f"{there} is missing, or is not the pool of the log {self._folder}."
            raise UsageError("guard-other-pool", message, "Nothing was changed.")
        if len(histories) > 1:
            names = ", ".join(str(history.pool.path) for history in histories)
            raise UsageError("many-pools", f"the log contains several pools: {names}.", "Choose one with --pool.")
        return histories[0]
