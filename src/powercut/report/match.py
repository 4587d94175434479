"""Whether an image is a crash state of a run, as text for people and as JSON for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from powercut import __version__
from powercut.errors import ExitCode
from powercut.matching.result import THE_END, Fate, MatchResult, Moment, RowAnswer
from powercut.printable import counted, one_line

_SHOWN = 10  # updates, moments or differences that the text lists


def exit_code(result: MatchResult) -> ExitCode:
    """How `powercut match` ends."""
    if result.possible:
        return ExitCode.NOTHING_FOUND
    if result.decided:
        return ExitCode.FINDINGS
    return ExitCode.NOTHING_COVERED if any(row.given_up for row in result.rows) else ExitCode.FAILED


def match_text(result: MatchResult, image: str) -> str:
    """The whole answer; rows with the same answer together."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in result.rows:
        groups[tuple(_row(row))].append(row.fs)
    lines = [_summary(result, image)]
    for (first, *rest), names in groups.items():
        lines += ["", f"{', '.join(names)}: {first}", *rest]
    return "\n".join(map(one_line, lines))


def _summary(result: MatchResult, image: str) -> str:
    if result.possible:
        return f"A power cut can have left {image}."
    if result.decided:
        return f"A power cut cannot have left {image}."
    return f"It is not known whether a power cut can have left {image}."


def _row(row: RowAnswer) -> Iterator[str]:
    if row.possible:
        yield "possible"
        yield from (f"  cut {_moment(moment)}" for moment in row.moments[:_SHOWN])
        if len(row.moments) > _SHOWN or not row.all_moments:
            yield "  and at other moments"
        if row.fate is not None:
            yield from _fate(row.fate)
        return
    yield f"undecided: {row.doubt}" if row.doubt else "not possible"
    if row.nearest is not None:
        count = len(row.differences)
        yield f"  the nearest possible state has {counted(count, 'difference')}:"
        yield from _some(
            [f"{d.path.decode('utf-8', 'replace') or 'the data folder'}: {d.what}" for d in row.differences]
        )
        yield from _fate(row.nearest)


def _moment(moment: Moment) -> str:
    said = f'; last line printed: "{moment.printed}"' if moment.printed else "; nothing printed"
    if moment.printed_at_last != moment.printed:
        said += f', at the latest "{moment.printed_at_last}"'
    until = "up to" if moment.ends == THE_END else "before"
    return f"after {moment.begins}, {until} {moment.ends}{said}"


def _fate(fate: Fate) -> Iterator[str]:
    yield from _list("survived without a sync:", fate.survived, fate.more_survived)
    yield from _list("lost:", fate.lost, fate.more_lost)
    if not fate.lost and not fate.more_lost:
        yield "  lost: nothing"


def _list(title: str, items: Sequence[str], more: int) -> Iterator[str]:
    if items:
        yield f"  {title}"
        yield from _some(items, more)


def _some(items: Sequence[str], more: int = 0) -> Iterator[str]:
    yield from (f"    {item}" for item in items[:_SHOWN])
    rest = len(items) - _SHOWN + more
    if rest > 0:
        yield f"    and {rest:,} more"


def match_document(result: MatchResult, trace: str, image: str) -> dict[str, Any]:
    """The JSON of an answer."""
    return {
        "powercut": __version__,
        "trace": trace,
        "image": image,
        "possible": result.possible,
        "decided": result.decided,
        "notes": list(result.notes),
        "rows": [_document(row) for row in result.rows],
    }


def _document(row: RowAnswer) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(row)
    found["differences"] = [
        {"path": d.path.decode("utf-8", "backslashreplace"), "what": d.what} for d in row.differences
    ]
    return found
