"""Post-failure validation: does the program's own recovery undo what a crash left?

Before: an inconsistency, or a lock that a crash leaves taken, with its crash states. After: a `Judged` value: a bug,
with what shows it; benign; or unconfirmed. The rules, in order:

1. A recovery that dies, hangs or fails on the image: a bug. If the same happens, word for word, on the image without
   the effect, something else is the cause: unconfirmed.
2. A recovery that overwrites every byte of the effect, or brings the lock word back: benign.
3. A check (`--check`) that refuses an image: a bug. It is asked about the crash at the effect, and about the last
   moment at which the loss is possible, when all that followed has happened, too. If it refuses the first one without
   the effect, or the second one with nothing lost, in the same words, something else is the cause.
4. A check that shows no such difference: unconfirmed. So is an output that nobody checks: no recovery takes it back.
5. No check: a bug. Nothing repaired it.

Equal images with equal questions are judged once, whatever campaign they come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from powercut.image.digest import Digester
from powercut.oracle.verdict import Outcome, Verdict
from powercut.race.inconsistencies import Inconsistency
from powercut.race.locks import HeldLock
from powercut.race.recovery import Bytes, Recovered, Recovery
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

Check = Callable[[Timeline, State], Verdict]
_NOT_THE_CAUSE = "it also fails without the race"


class Standing(StrEnum):
    """What came of a validation."""

    BUG = "bug"
    BENIGN = "benign"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True)
class Scene:
    """A crash state that may do harm, and one beside it in which that harm cannot be."""

    harmful: State
    harmless: State


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of it, and why, in words; which scene shows it, and how the recovery or the check ended there."""

    standing: Standing
    why: str
    scene: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class _Question:
    """What a recovery must have done to an image: why it is benign then, or an empty text.

    Attributes:
        is_output: there is nothing that a recovery could repair.
    """

    subject: tuple[object, ...]
    benign: Callable[[Recovered], str]
    is_output: bool = False


@dataclass(slots=True)
class Validator:
    """Judges inconsistencies by recovery and check.

    Attributes:
        images: how many images were judged.
        equal: how many questions an equal image had answered.
    """

    recovery: Recovery
    check: Check | None
    images: int = 0
    equal: int = 0
    _known: dict[tuple[object, ...], Judged] = field(default_factory=dict)

    def judge(self, timeline: Timeline, found: Inconsistency) -> Judged:
        """Whether an effect without what it depends on is repaired."""
        targets = tuple(bytes_of(timeline, update) for update in found.made)
        question = _Question(targets, lambda recovered: _undone(recovered, targets), not targets)
        return self._once(timeline, scenes_of(timeline, found), question)

    def judge_lock(self, timeline: Timeline, lock: HeldLock) -> Judged:
        """Whether a lock that its holder left taken is freed."""
        word = bytes_of(timeline, lock.update)
        question = _Question((word, lock.free), lambda recovered: _freed(recovered, word, lock.free))
        return self._once(timeline, [scene_of_lock(timeline, lock)], question)

    def _once(self, timeline: Timeline, scenes: list[Scene], question: _Question) -> Judged:
        digester = Digester(timeline, whole=True)
        key = (*(digester.digest(scene.harmful) for scene in scenes), *question.subject)
        if key in self._known:
            self.equal += 1
        else:
            self.images += 1
            self._known[key] = self._judge(timeline, scenes, question)
        return self._known[key]

    def _judge(self, timeline: Timeline, scenes: list[Scene], question: _Question) -> Judged:
        recovered = self.recovery.on(timeline, scenes[0].harmful)
        verdict = recovered.verdict
        if not verdict.passed:
            return self._failed(timeline, scenes[0], recovered)
        if why := question.benign(recovered):
            return Judged(Standing.BENIGN, why, 0, verdict)
        if self.check is not None:
            return self._checked(self.check, timeline, scenes)
        if question.is_output:
            return Judged(Standing.UNCONFIRMED, "it was only printed or sent, and there is no check", 0, verdict)
        return Judged(Standing.BUG, "the recovery succeeds without repairing it", 0, verdict)

    def _failed(self, timeline: Timeline, scene: Scene, recovered: Recovered) -> Judged:
        why, verdict = f"the recovery {recovered.ending} on the image", recovered.verdict
        if verdict.outcome is Outcome.ERROR:
            return Judged(Standing.UNCONFIRMED, why, 0, verdict)
        if _say_the_same(self.recovery.on(timeline, scene.harmless).verdict, verdict):
            return Judged(Standing.UNCONFIRMED, f"{why}; {_NOT_THE_CAUSE}", 0, verdict)
        return Judged(Standing.BUG, why, 0, verdict)

    @staticmethod
    def _checked(check: Check, timeline: Timeline, scenes: list[Scene]) -> Judged:
        why = "the recovery does not repair it, but the check passes"
        for number, scene in enumerate(scenes):
            verdict = check(timeline, scene.harmful)
            if verdict.passed:
                continue
            if verdict.outcome is Outcome.ERROR:
                return Judged(Standing.UNCONFIRMED, "the check could not be run", number, verdict)
            if not _say_the_same(check(timeline, scene.harmless), verdict):
                return Judged(Standing.BUG, "the check fails on the image", number, verdict)
            why = f"the check fails on the image; {_NOT_THE_CAUSE}"
        return Judged(Standing.UNCONFIRMED, why, 0, verdict)


def _say_the_same(one: Verdict, other: Verdict) -> bool:
    return (one.outcome, one.code, one.output) == (other.outcome, other.code, other.output)


def scenes_of(timeline: Timeline, found: Inconsistency) -> list[Scene]:
    """The crash at the effect, and the last moment at which the loss is possible."""
    without_effect = timeline.with_only((), found.state.point)
    nothing_lost = State(found.closing.point, Base.ISSUED, frozenset())
    return [Scene(found.state, without_effect), Scene(found.closing, nothing_lost)]


def scene_of_lock(timeline: Timeline, lock: HeldLock) -> Scene:
    """The lock as it was taken; and the same moment with the lock still free."""
    return Scene(lock.state, timeline.with_only((), lock.state.point))


def bytes_of(timeline: Timeline, update: int) -> Bytes:
    """The bytes that an update of data changes."""
    columns = timeline.updates
    path = timeline.index.path_of(columns.obj[update], at=update)
    return Bytes(path, columns.start[update], columns.length[update])


def _undone(recovered: Recovered, targets: tuple[Bytes, ...]) -> str:
    """Why an effect does no harm; empty if it may."""
    done = bool(targets) and all(recovered.wrote(target) for target in targets)
    return "the recovery overwrites the effect" if done else ""


def _freed(recovered: Recovered, word: Bytes, free: bytes) -> str:
    return "the recovery frees the lock" if recovered.holds(word) in (free, b"") else ""
