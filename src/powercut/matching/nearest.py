"""The nearest possible state to an impossible image: the one with the fewest differences that was found.

A possible state cannot meet all demands of the image. So demands are let go, those first that stood in the way most
often, until a state meets the rest; then those that were let go without need are taken back. What that misses, one
demand after the other at some moments of the run may find. The effort is bounded: there may be a nearer state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from powercut.matching.demands import Demand, Pattern
from powercut.matching.differences import Difference, differences
from powercut.matching.observed import ObservedImage, join
from powercut.matching.state_search import Search, Solution, UndecidedError
from powercut.matching.things import Things
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.tree import ROOT

_MOST_LET_GO = 24
_STEPS = 50_000  # of each search
_MOMENTS = 12  # at which demands are met one after the other
_MOST_DIFFERENCES = 10_000  # that are counted; a state with more is far away


@dataclass(frozen=True, slots=True)
class Nearest:
    """A possible state, and where the image differs from it."""

    state: State
    differences: tuple[Difference, ...]


def nearest(things: Things, image: ObservedImage, low: int, high: int) -> Nearest | None:
    """The nearest state that was found with moments from `low` to before `high`; None if there are no moments."""
    found: Nearest | None = None
    for solution in _solutions(things, image, low, high):
        state = state_of(things, solution)
        most = _MOST_DIFFERENCES if found is None else len(found.differences) + 1
        wrong = tuple(islice(differences(things, state, image), most))
        if found is None or _distance(wrong) < _distance(found.differences):
            found = Nearest(state, wrong)
    return found


def _distance(wrong: Sequence[Difference]) -> tuple[int, int, int]:
    """How far a state is away: by its differences, by those that stand for many, by the bytes in them."""
    return len(wrong), sum(d.whole for d in wrong), sum(d.length for d in wrong)


def state_of(things: Things, solution: Solution) -> State:
    """Of the states of a solution the one that lost least."""
    timeline = things.timeline
    issued = timeline.issued(solution.low)
    return timeline.without((update for update in solution.lost if update < issued), solution.low)


def _solutions(things: Things, image: ObservedImage, low: int, high: int) -> Iterator[Solution]:
    if low >= high:
        return
    lenient = Lenient(things, image)
    solution = _let_go(things, lenient, low, high)
    if solution is not None:
        yield solution
    for span in ((low, high), *_moments(low, high)):
        yield Search(things.timeline, lenient.demands, *span).settle([_root(*span)])


def _let_go(things: Things, lenient: Lenient, low: int, high: int) -> Solution | None:
    """A state that meets all demands but a few."""
    found: Solution | None = None
    while found is None and len(lenient.let_go) <= _MOST_LET_GO:
        search = Search(things.timeline, lenient.demands, low, high, _STEPS)
        found = _solved(search, low, high)
        if found is None:
            blamed = search.blamed()
            if not blamed:
                break
            # A name that is let go leaves all behind it open.
            lenient.let_go.add(next((demand for demand in blamed if demand.path is None), blamed[0]))
    for demand in list(lenient.let_go) if found is not None else ():
        lenient.let_go.remove(demand)
        better = _solved(Search(things.timeline, lenient.demands, low, high, _STEPS), low, high)
        found = better or found
        if better is None:
            lenient.let_go.add(demand)
    lenient.let_go.clear()
    return found


def _solved(search: Search, low: int, high: int) -> Solution | None:
    try:
        return search.solve(low, high) if search.start([_root(low, high)]) else None
    except UndecidedError:
        return None


def _root(low: int, high: int) -> Demand:
    return Demand([Pattern((), (), low, high, ROOT)], b"")


def _moments(low: int, high: int) -> list[tuple[int, int]]:
    """Single moments, from the last one on, as far apart as their number allows."""
    step = max(1, (high - low) // _MOMENTS)
    return [(moment, moment + 1) for moment in range(high - 1, low - 1, -step)]


class Lenient:
    """What an image demands, without what can never be met: a name may stand for an object that never looked so."""

    def __init__(self, things: Things, image: ObservedImage) -> None:
        self._things = things
        self._image = image
        self._known: dict[tuple[bytes, int], list[Demand]] = {}
        self.let_go: set[Demand] = set()  # demands that need not be met

    def demands(self, path: bytes, obj: int) -> list[Demand]:
        """What a path demands of an object."""
        if (path, obj) not in self._known:
            self._known[path, obj] = [demand for demand in self._all(path, obj) if demand.patterns]
        return [demand for demand in self._known[path, obj] if demand not in self.let_go]

    def _all(self, path: bytes, obj: int) -> Iterator[Demand]:
        node = self._image.nodes[path]
        if self._things.timeline.tree.things[obj].kind != node.kind:
            return
        if node.kind is ObjectKind.FOLDER:
            yield from self._inside(path, obj)
        if node.kind is ObjectKind.FILE:
            yield from self._things.of_size(obj, node.content.size)
            yield from self._things.bytes_of(obj).possible_demands(node.content)
        yield from self._things.of_mode(obj, node)
        yield from self._things.of_attributes(obj, node)

    def _inside(self, path: bytes, folder: int) -> Iterator[Demand]:
        observed = set(self._image.names(path))
        for name in self._things.names_in(folder, observed):
            if name not in observed:
                yield from self._things.absent(folder, name)
                continue
            inner, every = join(path, name), self._things.candidates(folder, name)
            fitting = [obj for obj in every if self._looks_like(inner, obj)]
            yield from self._things.present(folder, name, fitting or every, inner)

    def _looks_like(self, path: bytes, obj: int) -> bool:
        """Whether an object has the kind that was observed at a path."""
        return self._things.timeline.tree.things[obj].kind == self._image.nodes[path].kind
