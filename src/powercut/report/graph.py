"""A persistence graph as a picture: the updates of one behavior, what must persist before what, and what survived.

Before: some updates of a timeline, and perhaps a crash state. After: an SVG that any browser shows, made by hand: each
update is a box in the row below all that come before it. An edge that follows from others is left out. A full line
means that the file system or the memory keeps the order, a dashed one that a sync, flush or fence does.

Names and lines come from outside: they are escaped, and without control characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from powercut.findings.places import Places
from powercut.printable import one_line
from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.find import Representatives
from powercut.states.behaviors.order import order_of
from powercut.states.behaviors.tour import BehaviorTour
from powercut.states.state import State
from powercut.states.timeline import Timeline

MOST = 120  # updates in one picture; beyond, nobody sees anything
_LETTERS = 40  # of one line in a box
_WIDTH, _HEIGHT, _GAP, _ROW, _EDGE = 312, 44, 24, 92, 20
_COLUMNS = 6  # boxes beside each other
_LETTER = 7.4  # pixels, of the widest of the usual fonts
_COLOURS = {"survived": ("#e3f4e4", "#2e7d32"), "lost": ("#fde7e7", "#c62828"), "": ("#f4f4f6", "#555560")}
_WORDS = {"survived": "survived", "lost": "lost", "": "not issued yet"}
_STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#222}.line{fill:#666}.title{font-weight:bold}"
    ".edge{fill:none;stroke:#888;stroke-width:1.4}.sync{stroke-dasharray:5 4}"
)


@dataclass(frozen=True, slots=True)
class _Box:
    """One update, and where it is drawn."""

    update: int
    what: str
    line: str
    fate: str
    x: float
    y: float


def draw_graph(
    timeline: Timeline,
    updates: Sequence[int],
    title: str,
    state: State | None = None,
    places: Places | None = None,
) -> str:
    """The picture of some updates; with a state, what survived in it is green and what was lost is red.

    Whoever draws several of one trace gives them the same `places`, which are looked up once.
    """
    shown = sorted(updates)[:MOST]
    masks = order_of(timeline, shown)
    boxes = _boxes(timeline, places or Places(timeline.trace), shown, masks, state)
    width = max([box.x for box in boxes], default=0) + _WIDTH + _EDGE
    height = max([box.y for box in boxes], default=0) + _HEIGHT + 2 * _EDGE
    if len(updates) > len(shown):
        title += f" (the first {len(shown)} of {len(updates)} updates)"
    width = max(width, 2 * _EDGE + _LETTER * (len(title) + 4))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{_STYLE}</style>",
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#888"/></marker>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text class="title" x="{_EDGE}" y="{_EDGE + 6}">{_safe(title, 2 * MOST)}</text>',
        *_legend(state),
        *_edges(timeline, boxes, masks),
        *(part for box in boxes for part in _draw(box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def list_behaviors(found: Representatives) -> Iterator[str]:
    """The representatives of a timeline, one line each, and what was cut."""
    timeline, places = found.operations.timeline, Places(found.operations.timeline.trace)
    for number, some in enumerate(found.groups, 1):
        units = some.representative.updates(found.operations)
        ends = [places.location(timeline.updates.event[unit[0]], "", "").short for unit in (units[0], units[-1])]
        where = ends[0] if ends[0] == ends[1] else " to ".join(ends)
        count = sum(map(len, units))
        like = f", stands for {some.alike}" if some.alike > 1 else ""
        words = "1 update" if count == 1 else f"{count} updates"
        yield one_line(f"{number:>4}  {words} of {some.representative.what}, {where}{like}")
    yield from BehaviorTour(found).notes()


def _boxes(
    timeline: Timeline, places: Places, updates: Sequence[int], masks: Sequence[int], state: State | None
) -> list[_Box]:
    ranks: list[int] = []
    for index in range(len(updates)):
        ranks.append(max((ranks[i] + 1 for i in range(index) if masks[index] >> i & 1), default=0))
    boxes: dict[int, _Box] = {}
    row = 0
    for rank in range(max(ranks, default=-1) + 1):
        members = [index for index, mine in enumerate(ranks) if mine == rank]
        for number, index in enumerate(members):
            update = updates[index]
            where = places.location(timeline.updates.event[update], "", "").short
            x = _EDGE + number % _COLUMNS * (_WIDTH + _GAP)
            y = 3 * _EDGE + (row + number // _COLUMNS) * _ROW
            boxes[index] = _Box(update, timeline.describe(update), where, _fate(timeline, update, state), x, y)
        row += -(-len(members) // _COLUMNS)
    return [boxes[index] for index in range(len(updates))]


def _fate(timeline: Timeline, update: int, state: State | None) -> str:
    if state is None or 2 * timeline.updates.event[update] > state.point:
        return ""
    return "survived" if timeline.survives(state, update) else "lost"


def _legend(state: State | None) -> list[str]:
    if state is None:
        return []
    lines, x = [], float(_EDGE)
    for fate, words in _WORDS.items():
        fill, stroke = _COLOURS[fate]
        lines.append(f'<rect x="{x:.0f}" y="34" width="12" height="12" fill="{fill}" stroke="{stroke}"/>')
        lines.append(f'<text class="line" x="{x + 18:.0f}" y="45">{words}</text>')
        x += 36 + _LETTER * len(words)
    return lines


def _edges(timeline: Timeline, boxes: Sequence[_Box], masks: Sequence[int]) -> list[str]:
    lines = []
    for index, box in enumerate(boxes):
        through = 0
        for i in range(index):
            if masks[index] >> i & 1:
                through |= masks[i]
        for i in range(index):
            if (masks[index] & ~through) >> i & 1:
                lines.append(_edge(boxes[i], box, _is_kept_by_sync(timeline, boxes[i].update, box.update)))
    return lines


def _is_kept_by_sync(timeline: Timeline, one: int, other: int) -> bool:
    return timeline.updates.guaranteed[one] <= 2 * timeline.updates.event[other]


def _edge(start: _Box, end: _Box, sync: bool) -> str:
    x1, y1, x2, y2 = start.x + _WIDTH / 2, start.y + _HEIGHT, end.x + _WIDTH / 2, end.y
    bend = (y2 - y1) / 2
    way = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2 - 1:.0f}"
    return f'<path class="edge{" sync" if sync else ""}" d="{way}" marker-end="url(#tip)"/>'


def _draw(box: _Box) -> list[str]:
    fill, stroke = _COLOURS[box.fate]
    place = f'x="{box.x:.0f}" y="{box.y:.0f}" width="{_WIDTH}" height="{_HEIGHT}"'
    return [
        f"<g><title>{_safe(f'update {box.update}: {box.what}', 400)}</title>",
        f'<rect {place} rx="5" fill="{fill}" stroke="{stroke}"/>',
        f'<text x="{box.x + 8:.0f}" y="{box.y + 18:.0f}">{_safe(box.what, _LETTERS)}</text>',
        f'<text class="line" x="{box.x + 8:.0f}" y="{box.y + 35:.0f}">{_safe(box.line, _LETTERS)}</text></g>',
    ]


def _safe(text: str, most: int) -> str:
    """Text from outside, in an SVG: of many letters the first ones and the last."""
    line = one_line(text).encode("utf-8", "replace").decode("utf-8")
    if len(line) > most:
        line = f"{line[: most * 2 // 3 - 1]}…{line[-most // 3 :]}"
    return escape(line, quote=True)
