"""The bytes of one file of a timeline, cut into stretches that every update changes as a whole or not at all.

What an update does to bytes is said once, in `effect_of`, as native/engine/contents.c says it for images: data shows
itself, a truncate, a hole and a zeroing show zeros, and where the model lets lost data show as garbage, the clearing of
new bytes, once it was issued and lost, lets them be anything. Each stretch shows its newest survivor.

An observed file becomes demands, one for each stretch that could have held something else. Stretches know the values
that they can have by digest, so that a file is compared once with each of them, whatever the number of images.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain, pairwise
from typing import NamedTuple

from xxhash import xxh3_128_digest

from powercut import _engine
from powercut.matching.demands import NEVER_TRUE, TAME, WILD, Demand, Writer, newest_shows
from powercut.matching.observed import Content
from powercut.model.filesystem import Exposed
from powercut.quick_dataclass import dataclass
from powercut.states.state import NEVER, Base, State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind

CONTENT_KINDS = (UpdateKind.DATA, UpdateKind.CUT, UpdateKind.ZERO, UpdateKind.FILL)
_DIGESTED = 1 << 16  # stretches of more bytes are compared piece by piece, which passes over holes
_PIECE = 1 << 20  # how much of them is read at once
_REMEMBERED = 4096  # files of observed images whose demands are kept
_NO_CLASS = -1  # the class of a value that no update and no snapshot gives
_SOME = Writer(-1, fits=True)


class Effect(NamedTuple):
    """What an update does to the bytes of its file.

    Attributes:
        start: the first byte.
        end: behind the last one.
        data: where the bytes for `start` are in the trace, or -1: zeros.
        wild: whether the bytes may be anything if the update was issued and lost, as for a `Writer`.
    """

    start: int
    end: int
    data: int
    wild: int


def effect_of(timeline: Timeline, update: int) -> Effect:
    """What an update does to the bytes of its file."""
    updates = timeline.updates
    kind, start, length = updates.kind[update], updates.start[update], updates.length[update]
    if kind == UpdateKind.DATA:
        return Effect(start, start + length, updates.data[update], TAME)
    if kind == UpdateKind.CUT:
        return Effect(start + length, NEVER, -1, TAME)
    if kind == UpdateKind.ZERO:
        return Effect(start, start + length, -1, TAME)
    if kind == UpdateKind.FILL:
        is_wild = timeline.row.exposed is Exposed.GARBAGE and bool(updates.fresh[update])
        return Effect(start, start + length, -1, updates.data[update] if is_wild else TAME)
    raise LookupError(f"no rule says what an update of kind {kind} does to bytes")


@dataclass(slots=True)
class Stretch:
    """Bytes from `start` to `end` of a file.

    Attributes:
        writers: the updates that reach them, newest first: number, place of their bytes in the trace, wild if lost.
        classes: which of them show equal bytes; the last one is that of the snapshot.
        by_digest: the class of each value.
        demands: for each class what it demands, None where that is nothing.
    """

    start: int
    end: int
    writers: tuple[tuple[int, int, int], ...]
    classes: list[int] = field(default_factory=list)
    by_digest: dict[bytes, int] = field(default_factory=dict)
    demands: dict[int, Demand | None] = field(default_factory=dict)


class FileBytes:
    """What the bytes of one file can be, and what an observed file demands."""

    def __init__(self, timeline: Timeline, file: int, updates: Iterable[int]) -> None:
        """`updates`: those of the file's content, in program order."""
        self._timeline = timeline
        self._file = file
        self._stretches = list(_cut_up(timeline, updates))
        self._snapshot = timeline.survivors(State(-1, Base.GUARANTEED, frozenset()))
        self._known: dict[bytes, list[Demand]] = {}

    def demands(self, content: Content) -> list[Demand]:
        """What it takes for the file to hold just these bytes, as far as they go; [NEVER_TRUE] if it never does."""
        key = content.key
        if key is not None and key in self._known:
            return self._known[key]
        found = self._demands(content)
        if key is not None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = found
        return found

    def _demands(self, content: Content) -> list[Demand]:
        found: dict[int, Demand] = {}
        for stretch in self._stretches:
            if stretch.start >= content.size:
                break
            demand = self._demand(stretch, content)
            if demand is not None:
                if not demand.patterns:
                    return [NEVER_TRUE]
                found[id(demand)] = demand
        return list(found.values())

    def possible_demands(self, content: Content) -> list[Demand]:
        """The demands of all bytes that the file can hold so."""
        found = (self._demand(stretch, content) for stretch in self._stretches if stretch.start < content.size)
        return [demand for demand in found if demand is not None and demand.patterns]

    def differing(self, content: Content, survivors: _engine.Survivors, issued: int) -> Iterator[tuple[int, int]]:
        """The bytes that are not as a state leaves them, as far as both files go; neighbours together."""
        end = min(content.size, survivors.size(self._file))
        last: tuple[int, int] | None = None
        for start, stop in chain.from_iterable(
            self._wrong(stretch, content, min(stretch.end, end), survivors, issued)
            for stretch in self._stretches
            if stretch.start < end
        ):
            if last is not None and start <= last[1]:
                last = (last[0], stop)
                continue
            if last is not None:
                yield last
            last = (start, stop)
        if last is not None:
            yield last

    def _wrong(
        self, stretch: Stretch, content: Content, end: int, survivors: _engine.Survivors, issued: int
    ) -> Iterator[tuple[int, int]]:
        """From the first to the last byte of a stretch, or of a piece of it, that is not as a state leaves it."""
        shown = None
        for update, data, wild in stretch.writers:
            if survivors.survives(update):
                shown = data
                break
            if wild != TAME and update < issued and (wild == WILD or survivors.survives(wild)):
                return
        position = stretch.start
        while (position := self._next_data(content, [-1 if shown is None else shown], position)) < end:
            stop = min(position + _PIECE, end)
            found = content.read(position, stop - position)
            wanted = self._base(position, stop) if shown is None else self._value(stretch, shown, position, stop)
            if found != wanted:
                wrong = [at for at, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b]
                yield position + wrong[0], position + wrong[-1] + 1
            position = stop

    def _demand(self, stretch: Stretch, content: Content) -> Demand | None:
        end = min(stretch.end, content.size)
        if end < stretch.end or end - stretch.start > _DIGESTED:
            return self._compared(stretch, content, end)
        if not stretch.classes:
            self._classify(stretch)
        number = stretch.by_digest.get(xxh3_128_digest(content.read(stretch.start, end - stretch.start)), _NO_CLASS)
        if number not in stretch.demands:
            stretch.demands[number] = self._explain(stretch, [kind == number for kind in stretch.classes])
        return stretch.demands[number]

    def _classify(self, stretch: Stretch) -> None:
        for value in self._values(stretch, stretch.start, stretch.end):
            stretch.classes.append(stretch.by_digest.setdefault(xxh3_128_digest(value), len(stretch.by_digest)))

    def _values(self, stretch: Stretch, start: int, end: int) -> Iterator[bytes]:
        """What each writer shows between two offsets, and the snapshot at last."""
        for _, data, _ in stretch.writers:
            yield self._value(stretch, data, start, end)
        yield self._base(start, end)

    def _value(self, stretch: Stretch, data: int, start: int, end: int) -> bytes:
        return bytes(end - start) if data < 0 else self._timeline.trace.blob(data + start - stretch.start, end - start)

    def _base(self, start: int, end: int) -> bytes:
        return self._snapshot.read(self._file, start, end - start).ljust(end - start, b"\0")

    def _compared(self, stretch: Stretch, content: Content, end: int) -> Demand | None:
        """The demand of a stretch that is long, or that the file ends in: what fits is found by comparing."""
        sources = [data for _, data, _ in stretch.writers]
        fits, base = [True] * len(sources), True
        position = stretch.start
        while (position := self._next_data(content, sources, position)) < end and (base or any(fits)):
            stop = min(position + _PIECE, end)
            found = content.read(position, stop - position)
            base = base and found == self._base(position, stop)
            fits = [
                fit and found == self._value(stretch, data, position, stop)
                for fit, data in zip(fits, sources, strict=True)
            ]
            position = stop
        return self._explain(stretch, [*fits, base])

    def _next_data(self, content: Content, sources: Sequence[int], position: int) -> int:
        """The next offset at which one of the values may be anything but zeros."""
        if any(data >= 0 for data in sources):
            return position
        return min(content.data_from(position), self._timeline.index.history.data_from(self._file, position))

    def _explain(self, stretch: Stretch, fits: Sequence[bool]) -> Demand | None:
        """The demand for what fits: each writer, and the snapshot at last."""
        if all(fits):
            return None
        writers = [Writer(update, fit, wild) for (update, _, wild), fit in zip(stretch.writers, fits, strict=False)]
        demand = Demand(newest_shows(self._timeline, writers, _SOME if fits[-1] else None))
        return demand if demand.patterns else NEVER_TRUE


def _cut_up(timeline: Timeline, updates: Iterable[int]) -> Iterator[Stretch]:
    """The stretches of a file, from its first byte to infinity."""
    effects = [(update, effect_of(timeline, update)) for update in updates]
    edges = {0, NEVER}
    begins: dict[int, list[int]] = {}
    for position, (_, effect) in enumerate(effects):
        edges |= {effect.start, effect.end}
        begins.setdefault(effect.start, []).append(position)
    alive: set[int] = set()
    marks = sorted(edges)
    for start, end in pairwise(marks):
        alive = {position for position in alive if effects[position][1].end > start}
        alive.update(begins.get(start, ()))
        yield Stretch(start, end, tuple(_writers(effects, alive, start)))


def _writers(effects: Sequence[tuple[int, Effect]], alive: Iterable[int], start: int) -> Iterator[tuple[int, int, int]]:
    """The updates that reach the bytes from `start` on, newest first."""
    for position in sorted(alive, reverse=True):
        update, effect = effects[position]
        if effect.end > start:
            yield update, effect.data + start - effect.start if effect.data >= 0 else -1, effect.wild
