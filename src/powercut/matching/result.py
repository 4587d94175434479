"""The answer: on which file systems an image is possible, at which moments, what survived and what was lost.

Made from what the matcher found; every event is named with its number, its words and, where the trace knows it, its
line in the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from powercut.findings.places import Places
from powercut.matching.differences import Difference
from powercut.matching.matcher import RowMatch, Span
from powercut.matching.nearest import Nearest
from powercut.matching.window import said
from powercut.quick_dataclass import dataclass
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind

THE_END = "the end of the trace"
_SAID = 60  # bytes of output shown
_NAMED = 100  # updates of one state that are put into words


@dataclass(frozen=True, slots=True)
class Moment:
    """Moments that follow each other, in half steps of the trace.

    Attributes:
        first: the first one.
        last: the last one.
        begins: the event that opens them, in words.
        ends: the event that closes them, in words.
        printed: the last line that the program had printed at the first of them.
        printed_at_last: the same at the last of them.
    """

    first: int
    last: int
    begins: str
    ends: str
    printed: str
    printed_at_last: str


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the updates of one state that were not guaranteed, in words.

    Attributes:
        moment: when the power was cut, in half steps of the trace.
        survived: what was on disk all the same.
        lost: what was not.
        more_survived, more_lost: how many more there are.
    """

    moment: int
    survived: tuple[str, ...]
    lost: tuple[str, ...]
    more_survived: int
    more_lost: int


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """The answer for one row.

    Attributes:
        fs: the row's name.
        possible: whether a power cut can have left the image.
        decided: whether it is known; nothing is possible that is not.
        doubt: why it is not known.
        given_up: whether it is not known because the search took too long.
        moments: when the power can have been cut.
        all_moments: whether these are all moments.
        fate: what survived and what was lost, for the explanation with the fewest losses.
        nearest: for an image that is not possible, the fate of the nearest state that was found.
        differences: where the image differs from that state.
    """

    fs: str
    possible: bool
    decided: bool
    doubt: str = ""
    given_up: bool = False
    moments: tuple[Moment, ...] = ()
    all_moments: bool = True
    fate: Fate | None = None
    nearest: Fate | None = None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The answer for all rows that were asked for.

    Attributes:
        rows: one answer for each.
        notes: what limits all answers: a trace that was cut, events that no rule explains.
    """

    rows: tuple[RowAnswer, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def possible(self) -> bool:
        """Whether the image is possible on one of the rows."""
        return any(row.possible for row in self.rows)

    @property
    def decided(self) -> bool:
        """Whether `possible` is known: it is, on one row, or is not, on all."""
        return self.possible or all(row.decided for row in self.rows)


class Describing:
    """Puts what was found into words."""

    def __init__(self, timeline: Timeline, places: Places) -> None:
        self._timeline = timeline
        self._places = places

    def possible(self, found: RowMatch) -> RowAnswer:
        """The answer for an image that is possible."""
        moments = tuple(self._moment(first, last) for first, last in _joined(found.spans))
        states = [span.state for span in found.spans]
        state = min(states, key=lambda state: len(self._timeline.lost(state)))
        fs = self._timeline.row.name
        return RowAnswer(fs, True, True, moments=moments, all_moments=found.all_spans, fate=self._fate(state))

    def not_found(self, nearest: Nearest | None, doubt: str, *, given_up: bool) -> RowAnswer:
        """The answer for an image that no state explains; where there is doubt, it may be possible all the same."""
        fs, decided = self._timeline.row.name, not doubt
        if nearest is None:
            return RowAnswer(fs, False, decided, doubt, given_up)
        fate = self._fate(nearest.state)
        return RowAnswer(fs, False, decided, doubt, given_up, nearest=fate, differences=nearest.differences)

    def _moment(self, first: int, last: int) -> Moment:
        begins = self._event(first // 2, "had returned" if first % 2 else "")
        ends = self._event((last + 1) // 2, "" if last % 2 else "had returned")
        return Moment(first, last, begins, ends, self._printed(first), self._printed(last))

    def _event(self, event: int, how: str) -> str:
        """An event with its number, its words and its line."""
        timeline = self._timeline
        if event >= len(timeline.trace.events):
            return THE_END
        if int(timeline.trace.events[event]["kind"]) <= Kind.SNAP_OTHER:
            return "the start of the program"
        return " ".join(["event", str(event), f"({self._call(event)}{self._place(event)})", how]).strip()

    def _place(self, event: int) -> str:
        place = self._places.location(event, "", "")
        return f", {place.short}" if place.file else ""

    def _call(self, event: int) -> str:
        timeline = self._timeline
        number = int(timeline.trace.events[event]["kind"])
        kind = Kind(number).name.lower() if number in Kind.__members__.values() else f"kind {number}"
        if number == Kind.OUTPUT:
            return f"the output of {_line(said(timeline.trace, event))!r}"
        if event in timeline.subjects:
            return f"{kind} of {_text(timeline.index.path_of(timeline.subjects[event])) or 'the data folder'}"
        return timeline.describe_call(event) if timeline.updates_of(event) else kind

    def _printed(self, moment: int) -> str:
        return _line(self._timeline.acked(moment))

    def _fate(self, state: State) -> Fate:
        survived, lost = self._timeline.kept(state), self._timeline.lost(state)
        return Fate(
            state.point,
            tuple(map(self._update, survived[:_NAMED])),
            tuple(map(self._update, lost[:_NAMED])),
            max(0, len(survived) - _NAMED),
            max(0, len(lost) - _NAMED),
        )

    def _update(self, update: int) -> str:
        event = int(self._timeline.event[update])
        return f"{self._timeline.describe(update)} (event {event}{self._place(event)})"


def _joined(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Spans that follow each other as one."""
    found: list[tuple[int, int]] = []
    for span in spans:
        if found and span.first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], span.last))
        else:
            found.append((span.first, span.last))
    return found


def _line(output: bytes) -> str:
    """The last line of what was printed."""
    return _text(output.strip().rpartition(b"\n")[2][-_SAID:])


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
