"""The matcher: whether an image is a crash state of a timeline, at which moments, and by which losses.

Made once for a timeline and asked for many images: what single values demand of the updates is kept from image to
image. An answer is exact: possible with a state that gives the image, or impossible, or undecided where the search was
given up, which is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from powercut.matching.demands import Demand, Pattern
from powercut.matching.nearest import Nearest, nearest, state_of
from powercut.matching.observed import Node, ObservedImage, join
from powercut.matching.read_folder import read_folder
from powercut.matching.state_search import MOST_STEPS, Search, Solution, UndecidedError
from powercut.matching.things import Things
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.states.tree import ROOT
from powercut.trace.layout import KIND, Kind

_MOST_SPANS = 64  # spans of moments that are told apart for one image


@dataclass(frozen=True, slots=True)
class Span:
    """Moments, in half steps of the trace, at which one choice of losses gives the image.

    Attributes:
        first: the first moment.
        last: the last one.
        state: a state that gives the image at the first moment, with as few losses as the choice allows.
    """

    first: int
    last: int
    state: State


@dataclass(frozen=True, slots=True)
class RowMatch:
    """The answer for one file system.

    Attributes:
        timeline: the run under that file system's rules.
        decided: whether the search came to an end.
        spans: all moments at which the image can have come to be, in order; none if it cannot.
        all_spans: whether these are all moments; there may be others if not.
    """

    timeline: Timeline
    decided: bool
    spans: tuple[Span, ...]
    all_spans: bool

    @property
    def possible(self) -> bool:
        """Whether a power cut can have left the image."""
        return bool(self.spans)


class Matcher:
    """Answers for the images of one timeline."""

    def __init__(self, timeline: Timeline, most_steps: int = MOST_STEPS) -> None:
        """`most_steps`: patterns that are looked at for one image before it stays undecided."""
        self.timeline = timeline
        self._most_steps = most_steps
        self.things = Things(timeline)
        self.first = 2 * _first_call(timeline) - 1  # the moment before the program's first call
        self.last = timeline.end

    def match(
        self,
        image: ObservedImage | str | Path,
        first: int | None = None,
        last: int | None = None,
        *,
        all_moments: bool = True,
    ) -> RowMatch:
        """Whether, and when, an image can have come to be.

        Args:
            image: what was observed, or the folder that holds it.
            first: the first moment that counts; the start of the program by default.
            last: the last one; the end of the trace by default.
            all_moments: tell all moments, not only those of the first explanation that is found.
        """
        image = image if isinstance(image, ObservedImage) else read_folder(image)
        search = Search(self.timeline, Asking(self.things, image).demands, *self._window(first, last), self._most_steps)
        found: list[Solution] = []
        try:
            is_whole = self._find_all(search, found, _MOST_SPANS if all_moments else 1)
        except UndecidedError:
            return RowMatch(self.timeline, bool(found), self._spans(found), False)
        return RowMatch(self.timeline, True, self._spans(found), is_whole)

    def _find_all(self, search: Search, found: list[Solution], most: int) -> bool:
        """Find solutions for all moments; whether all were looked at."""
        if search.low >= search.high or not search.start([_root(search)]):
            return True
        waiting = [(search.low, search.high)]
        while waiting:
            if len(found) >= most:
                return False
            low, high = waiting.pop()
            solution = search.solve(low, high)
            if solution is not None:
                found.append(solution)
                rest = ((low, solution.low), (solution.high, high))
                waiting += [span for span in rest if span[0] < span[1]]
        return True

    def _spans(self, found: list[Solution]) -> tuple[Span, ...]:
        spans = [Span(s.low, s.high - 1, state_of(self.things, s)) for s in sorted(found, key=lambda s: s.low)]
        return tuple(spans)

    def nearest(self, image: ObservedImage, first: int | None = None, last: int | None = None) -> Nearest | None:
        """The nearest possible state that was found, for an image that is none."""
        return nearest(self.things, image, *self._window(first, last))

    def _window(self, first: int | None, last: int | None) -> tuple[int, int]:
        low = self.first if first is None else max(first, self.first)
        return low, (self.last if last is None else min(last, self.last)) + 1


class Asking:
    """What one image demands, path by path, as the names come to be known."""

    def __init__(self, things: Things, image: ObservedImage) -> None:
        self._things = things
        self._image = image
        self._known: dict[tuple[bytes, int], list[Demand]] = {}

    def demands(self, path: bytes, obj: int) -> list[Demand]:
        """What it takes for a path to stand for an object and to be as observed; one that cannot be met alone if so."""
        known = self._known.get((path, obj))
        if known is None:
            node = self._image.nodes[path]
            known = list(self._of_object(obj, node))
            if node.kind is ObjectKind.FOLDER and all(demand.patterns for demand in known):
                known += self._inside(path, obj)
            self._known[path, obj] = known
        return known

    def _of_object(self, obj: int, node: Node) -> list[Demand]:
        return self._things.of_object(obj, node)

    def _inside(self, path: bytes, folder: int) -> Iterator[Demand]:
        """What the names in a folder demand."""
        observed = set(self._image.names(path))
        for name in self._things.names_in(folder, observed):
            if name not in observed:
                yield from self._things.absent(folder, name)
                continue
            inner = join(path, name)
            objects = [obj for obj in self._things.candidates(folder, name) if self._could_be(inner, obj)]
            yield from self._things.present(folder, name, objects, inner)

    def _could_be(self, path: bytes, obj: int) -> bool:
        """Whether an object is ever as observed at a path."""
        return all(demand.patterns for demand in self._of_object(obj, self._image.nodes[path]))


def _root(search: Search) -> Demand:
    """The data folder stands for itself."""
    return Demand([Pattern((), (), search.low, search.high, ROOT)], b"")


def _first_call(timeline: Timeline) -> int:
    """The first event after the snapshot."""
    for index, record in timeline.trace.calls():
        if record[KIND] > Kind.SNAP_OTHER:
            return index
    return len(timeline.trace.events)
