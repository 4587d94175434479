"""Post-failure validation: does the program's own recovery undo what a crash left?

Before: an inconsistency, or a lock that a crash leaves taken, with its crash states. After: a `Judged` value: a bug,
with what shows it; benign; or unconfirmed. A *scene* is a crash state that may do harm, and its neighbour, in which all
else is the same: at the effect, the image without it; later, and for outputs, the image with what the effect is based
on. So an image that fails beside a neighbour that passes fails because of the race, and one that fails beside a
neighbour that fails as well does so because of something else: a plain crash bug, which is told by itself
(`crash_bugs`) and is never a race. The rules, in order:

1. A recovery that dies, hangs or fails on the image, and succeeds on the neighbour: a bug. If it fails there, too, it
   is asked about the later scene: the neighbour may have another effect of the same race. If it fails in both of that,
   too: unconfirmed, and a plain failure.
2. A recovery that overwrites every byte of the effect, or brings the lock word back: benign. What the check says of the
   neighbour is asked all the same: if it refuses that, there is a plain failure.
3. A check (`--check`) that refuses an image and accepts the neighbour: a bug. It is asked about the crash at the
   effect, and about the last moment at which the loss is possible, when all that followed has happened, too. If it
   refuses the neighbour in other words, that is a bug as well: what it says first of an image need not be all that is
   wrong with it. In the same words: unconfirmed, and a plain failure.
4. A check that passes: unconfirmed. So is an output that nobody checks: no recovery takes it back.
5. No check: a bug. Nothing repaired it.

Equal images with equal questions are judged once, whatever campaign they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from enum import StrEnum

from powercut.image.digest import Digester
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.race.inconsistencies import Inconsistency
from powercut.race.locks import HeldLock
from powercut.race.recovery import Bytes, Recovered, Recovery
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

Check = Callable[[Timeline, State], Verdict]
_NOT_THE_CAUSE = "it also fails without the race"


class Standing(StrEnum):
    """What came of a validation, or that it did not come to one."""

    BUG = "bug"
    BENIGN = "benign"
    UNCONFIRMED = "unconfirmed"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True)
class Scene:
    """A crash state that may do harm, and the one beside it in which that harm cannot be."""

    harmful: State
    neighbour: State


@dataclass(frozen=True, slots=True)
class PlainFailure:
    """A crash state that fails without a race, who says so, and in which words."""

    state: State
    by_recovery: bool
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of it, and why, in words; which scene shows it, and how the recovery or the check ended there."""

    standing: Standing
    why: str
    scene: int
    verdict: Verdict
    plain: PlainFailure | None = None


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
        workbench: held while timelines are looked at (`image_judge`).
        images: how many images were judged.
        equal: how many questions an equal image had answered.
    """

    recovery: Recovery
    check: Check | None
    workbench: AbstractContextManager[object] = field(default_factory=nullcontext)
    images: int = 0
    equal: int = 0
    _known: dict[tuple[Hashable, ...], Judged] = field(default_factory=dict)
    _recovered: dict[int, Verdict] = field(default_factory=dict)
    _checked: dict[tuple[Hashable, ...], Verdict] = field(default_factory=dict)
    _digester: tuple[Timeline, Digester] | None = None

    def judge(self, timeline: Timeline, found: Inconsistency) -> Judged:
        """Whether an effect without what it depends on is repaired."""
        with self.workbench:
            targets, scenes = tuple(bytes_of(timeline, update) for update in found.made), scenes_of(timeline, found)
        question = _Question(targets, lambda recovered: _undone(recovered, targets), not targets)
        return self._once(timeline, scenes, question)

    def judge_lock(self, timeline: Timeline, lock: HeldLock) -> Judged:
        """Whether a lock that its holder left taken is freed."""
        with self.workbench:
            word, scene = bytes_of(timeline, lock.update), scene_of_lock(timeline, lock)
        question = _Question((word, lock.free), lambda recovered: _freed(recovered, word, lock.free))
        return self._once(timeline, [scene], question)

    def _once(self, timeline: Timeline, scenes: list[Scene], question: _Question) -> Judged:
        key = (*(self._digest(timeline, scene.harmful) for scene in scenes), *question.subject)
        if key in self._known:
            self.equal += 1
        else:
            self.images += 1
            self._known[key] = self._judge(timeline, scenes, question)
        return self._known[key]

    def _digest(self, timeline: Timeline, state: State) -> int:
        with self.workbench:
            if self._digester is None or self._digester[0] is not timeline:
                self._digester = timeline, Digester(timeline, whole=True)
            return self._digester[1].digest(state)

    def _judge(self, timeline: Timeline, scenes: list[Scene], question: _Question) -> Judged:
        recovered = self.recovery.on(timeline, scenes[0].harmful)
        verdict = recovered.verdict
        if not verdict.passed:
            return self._failed(timeline, scenes, recovered)
        with self.workbench:
            why = question.benign(recovered)
        if why:
            return Judged(Standing.BENIGN, why, 0, verdict, self._plain(timeline, scenes[0].neighbour))
        if self.check is not None:
            return self._examined(self.check, timeline, scenes)
        if question.is_output:
            return Judged(Standing.UNCONFIRMED, "it was only printed or sent, and there is no check", 0, verdict)
        return Judged(Standing.BUG, "the recovery succeeds without repairing it", 0, verdict)

    def _failed(self, timeline: Timeline, scenes: list[Scene], recovered: Recovered) -> Judged:
        """The first image is refused; where that is so without the effect, too, the race may have had another one."""
        why, verdict, plain = f"the recovery {recovered.ending} on the image", recovered.verdict, None
        if verdict.outcome is Outcome.ERROR:
            return Judged(Standing.UNCONFIRMED, why, 0, verdict)
        for number, scene in enumerate(scenes):
            said = self._recovery_on(timeline, scene.harmful) if number else verdict
            if said.passed:
                continue
            other = self._recovery_on(timeline, scene.neighbour)
            if other.passed:
                return Judged(Standing.BUG, why, number, said, plain)
            plain = plain or PlainFailure(scene.neighbour, by_recovery=True, verdict=other)
        return Judged(Standing.UNCONFIRMED, f"{why}; {_NOT_THE_CAUSE}", 0, verdict, plain)

    def _plain(self, timeline: Timeline, state: State) -> PlainFailure | None:
        """What the check refuses of a state in which there is no race."""
        if self.check is None:
            return None
        verdict = self._check_on(self.check, timeline, state)
        if verdict.passed or verdict.outcome is Outcome.ERROR:
            return None
        return PlainFailure(state, by_recovery=False, verdict=verdict)

    def _recovery_on(self, timeline: Timeline, state: State) -> Verdict:
        """How the recovery ends on a state; equal images are asked about once."""
        digest = self._digest(timeline, state)
        if digest not in self._recovered:
            self._recovered[digest] = self.recovery.on(timeline, state).verdict
        return self._recovered[digest]

    def _examined(self, check: Check, timeline: Timeline, scenes: list[Scene]) -> Judged:
        why, plain = "the recovery does not repair it, but the check passes", None
        for number, scene in enumerate(scenes):
            verdict = self._check_on(check, timeline, scene.harmful)
            if verdict.passed:
                continue
            if verdict.outcome is Outcome.ERROR:
                return Judged(Standing.UNCONFIRMED, "the check could not be run", number, verdict, plain)
            other = self._check_on(check, timeline, scene.neighbour)
            if not other.passed:
                plain = plain or PlainFailure(scene.neighbour, by_recovery=False, verdict=other)
            if _words(other) != _words(verdict):
                return Judged(Standing.BUG, "the check fails on the image", number, verdict, plain)
            why = f"the check fails on the image; {_NOT_THE_CAUSE}"
        return Judged(Standing.UNCONFIRMED, why, 0, verdict, plain)

    def _check_on(self, check: Check, timeline: Timeline, state: State) -> Verdict:
        """What the check says of a state; equal images that owe the same are asked about once."""
        digest = self._digest(timeline, state)
        with self.workbench:
            key = digest, timeline.acked(state.point), timeline.sent(state.point)
        if key not in self._checked:
            self._checked[key] = check(timeline, state)
        return self._checked[key]


def _words(verdict: Verdict) -> Hashable:
    return verdict.outcome, verdict.code, verdict.output


def scenes_of(timeline: Timeline, found: Inconsistency) -> list[Scene]:
    """The crash at the effect, and the last moment at which the loss is possible."""
    at, point = found.state, found.state.point
    beside = without(timeline, at, found.made) if found.made else timeline.with_only(found.lost, point)
    whole = State(found.closing.point, Base.ISSUED, frozenset())
    return [Scene(at, beside), Scene(found.closing, whole)]


def scene_of_lock(timeline: Timeline, lock: HeldLock) -> Scene:
    """The lock as it was taken; and the same moment with the lock still free."""
    return Scene(lock.state, without(timeline, lock.state, [lock.update]))


def without(timeline: Timeline, state: State, effect: Sequence[int]) -> State:
    """The same state but for an effect, and what cannot be without it."""
    gone = timeline.lost_with(effect, state.point)
    return State(state.point, Base.GUARANTEED, frozenset(update for update in state.delta if update not in gone))


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
