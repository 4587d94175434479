"""Reading what older powercuts saved.

Format 1 had call stacks as text alone, one line for each frame. They are read as the frames that they were made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_FRAME = re.compile(r"(?P<function>.*?) at (?P<file>/.*):(?P<line>\d{1,18})", re.DOTALL)


def with_frames(values: Any) -> None:
    """Give the places of a run, as plain values of any shape, the frames that their text tells of."""
    for place in _places(values):
        stack = place.get("stack")
        if isinstance(stack, list) and "frames" not in place:
            place["frames"] = [_frame(line) if isinstance(line, str) else line for line in stack]


def _places(values: Any) -> Iterator[dict[str, Any]]:
    for one in (*_list(values, "findings"), *_list(values, "misuses")):
        yield from (place for place in _list(one, "locations") if isinstance(place, dict))


def _list(values: Any, name: str) -> list[Any]:
    found = values.get(name) if isinstance(values, dict) else None
    return found if isinstance(found, list) else []


def _frame(line: str) -> dict[str, Any]:
    match = _FRAME.fullmatch(line)
    if match:
        return {"function": match["function"], "file": match["file"], "line": int(match["line"])}
    function, _, place = line.rpartition(" at ") if " at " in line else (line, "", "")
    return {"function": function, "module": None if place in ("", "?") else place}
