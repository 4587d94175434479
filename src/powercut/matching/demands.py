"""Demands: what one observed value asks of the updates, as a few patterns of which one must hold.

A place of an image (a name, a mode, an attribute, some bytes) shows the newest surviving update that reaches it, or
the snapshot. So an observed value is explained by one update that survived while all newer ones of that place were
lost: as many patterns as updates, never all their subsets. Nothing is assumed about which updates need which; where
one needs another directly, the loss of the second says the loss of the first, and patterns get shorter.

A pattern also bounds the moment of the crash: what survived was issued, what was lost was not yet guaranteed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from powercut.quick_dataclass import dataclass
from powercut.states.state import NEVER
from powercut.states.timeline import Timeline

NO_OBJECT = -1  # the target of a pattern by which a name is not there
START = -1  # a time before everything


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way in which a place came to show what it shows.

    Attributes:
        kept: updates that survived.
        lost: updates that did not.
        low: the first time at which this can be.
        high: the first time at which it can no longer be.
        target: the object that a name stands for.
    """

    kept: tuple[int, ...]
    lost: tuple[int, ...]
    low: int
    high: int
    target: int = NO_OBJECT


class Demand:
    """Patterns of which one must hold.

    Attributes:
        patterns: those that are possible at some time; none, if the observed value never can be.
        path: where it is a name that is demanded, the path of that name in the observed image.
    """

    __slots__ = ("path", "patterns")

    def __init__(self, patterns: Iterable[Pattern], path: bytes | None = None) -> None:
        self.patterns = tuple(pattern for pattern in patterns if pattern.low < pattern.high)
        self.path = path


NEVER_TRUE = Demand(())
TAME, WILD = -2, -1


class Writer(NamedTuple):
    """One update of a place: whether it shows what was observed.

    Attributes:
        update: its number.
        fits: whether the place shows the observed value if this is the newest survivor.
        wild: whether the place may show anything if this update was issued and lost: never (TAME), always (WILD), or if
            the update of this number survived.
        target: the object that a name stands for then.
    """

    update: int
    fits: bool
    wild: int = TAME
    target: int = NO_OBJECT


class Losses:
    """A growing set of lost updates, from the newest on, without those whose loss follows from that of another."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._updates: list[int] = []
        self.high = NEVER

    def add(self, update: int) -> None:
        """Lose one more, which is older than all so far."""
        needs = self._timeline.needs
        self._updates = [newer for newer in self._updates if update not in needs(newer)]
        self._updates.append(update)
        self.high = min(self.high, self._timeline.updates.guaranteed[update])

    def before(self, time: int) -> Losses:
        """The same where the crash comes before a time at which none of these updates was issued."""
        earlier = Losses(self._timeline)
        earlier.high = min(self.high, time)
        return earlier

    @property
    def updates(self) -> tuple[int, ...]:
        """Those that say all others."""
        return tuple(self._updates)


def newest_shows(timeline: Timeline, writers: Sequence[Writer], base: Writer | None) -> list[Pattern]:
    """The patterns of a place that shows its newest survivor.

    Args:
        timeline: whose updates these are.
        writers: all updates of the place, newest first.
        base: what the snapshot gives it, if that fits; its update does not matter.
    """
    return list(_shown(timeline, writers, base, Losses(timeline), was_lost=False))


def _shown(
    timeline: Timeline, writers: Sequence[Writer], base: Writer | None, lost: Losses, *, was_lost: bool
) -> Iterator[Pattern]:
    """Patterns in which some newer updates were lost. `was_lost`: a wild one with what it hangs on is among them."""
    last = -1
    for position, writer in enumerate(writers):
        update, issued = writer.update, 2 * timeline.updates.event[writer.update]
        if update == last:  # an update that changes a name twice: the newer change hides this one
            continue
        last = update
        if writer.wild != TAME:
            # Issued and lost, it lets the place show anything. So it does not matter what became of it, if it fits.
            high, hangs_on = min(lost.high, timeline.updates.guaranteed[update]), writer.wild
            kept = () if hangs_on == WILD else (hangs_on,)
            if writer.fits:
                yield Pattern((update,) if kept else (), lost.updates, issued, lost.high, writer.target)
            if kept or not writer.fits:
                yield Pattern(kept, (*lost.updates, update), issued, high, writer.target)
            if not was_lost:  # otherwise the same without those losses says more
                older, bottom = _up_to(writers[position + 1 :], hangs_on, base)
                yield from _shown(timeline, older, bottom, lost.before(issued), was_lost=False)
            if hangs_on == WILD:
                return
            was_lost = True
            lost.add(update)
            lost.add(hangs_on)
            continue
        if writer.fits:
            yield Pattern((update,), lost.updates, issued, lost.high, writer.target)
        lost.add(update)
    if base is not None:
        yield Pattern((), lost.updates, START, lost.high, base.target)


def _up_to(writers: Sequence[Writer], update: int, base: Writer | None) -> tuple[Sequence[Writer], Writer | None]:
    """Writers down to an update, if it is one of them: it hides what is older, which is asked for without it."""
    for position, writer in enumerate(writers):
        if writer.update == update:
            return writers[: position + 1], None
    return writers, base


class SizeWriter(NamedTuple):
    """One update of a size: whether it sets the size, or only lets it grow."""

    update: int
    size: int
    sets: bool


def size_demands(timeline: Timeline, writers: Sequence[SizeWriter], base: int, size: int) -> list[Demand]:
    """What it takes for a file to have a size: to have been given it, and none larger, since it was last set.

    Args:
        timeline: whose updates these are.
        writers: all updates of the size, newest first.
        base: the size in the snapshot.
        size: what was observed.
    """
    if not writers:
        return [] if base == size else [NEVER_TRUE]
    demands = [Demand(_given(timeline, writers, base, size))]
    sets, larger = _Sets(timeline), Losses(timeline)
    for writer in writers:
        if writer.size > size:
            larger.add(writer.update)
        if writer.sets:
            demands += _not_larger(timeline, larger, sets)
            larger = Losses(timeline)
            sets.add(writer.update)
    demands += _not_larger(timeline, larger, sets)
    if base > size:
        demands.append(Demand(_kept_one(timeline, update) for update in sets.newer))
    return demands


def _given(timeline: Timeline, writers: Sequence[SizeWriter], base: int, size: int) -> list[Pattern]:
    """The last update that gave the size, with nothing after it that sets another."""
    event = timeline.updates.event
    lost, patterns = Losses(timeline), list[Pattern]()
    for update, given, sets in writers:
        if given == size:
            patterns.append(Pattern((update,), lost.updates, 2 * event[update], lost.high))
        if sets:
            lost.add(update)
    if base == size:
        patterns.append(Pattern((), lost.updates, START, lost.high))
    return patterns


def _not_larger(timeline: Timeline, larger: Losses, sets: _Sets) -> list[Demand]:
    """All larger sizes were lost, or something set the size after them."""
    if not larger.updates:
        return []
    gone = Pattern((), larger.updates, START, larger.high)
    return [Demand([gone, *(_kept_one(timeline, update) for update in sets.newer)])]


def _kept_one(timeline: Timeline, update: int) -> Pattern:
    return Pattern((update,), (), 2 * timeline.updates.event[update], NEVER)


class _Sets:
    """Updates that set a size, of which one survived if any did: without those that need another of them."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.newer: tuple[int, ...] = ()

    def add(self, update: int) -> None:
        """One more, which is older than all so far."""
        self.newer = (*(u for u in self.newer if update not in self._timeline.needs(u)), update)
