"""Node: an agent that is required before the program, and stacks in V8's own words.

V8 follows `await` through async functions by itself ("at async load (app.js:3:5)"); what callbacks and promises hide
besides, the agent follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from powercut.runtimes.runtime import AGENTS, ToldFrame, joined

_FRAME = re.compile(
    r"\s+at (?:async )?(?:(?P<function>.+?) \()?(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<column>\d+))?\)?"
)
_TOP_LEVEL = ("Object.<anonymous>", "")
_PACKAGE = re.compile(r".*/node_modules/|/usr/(share|lib)/nodejs/")


class Node:
    """Node.js; tested with versions 16 to 24."""

    language = "node"
    title = "Node"
    programs: re.Pattern[str] | None = re.compile(r"node(js)?")

    def variables(self, known: Mapping[str, str]) -> dict[str, str]:
        """The agent, required before anything else of the program."""
        agent = str(AGENTS / "node.cjs").replace("\\", "\\\\").replace('"', '\\"')
        return {"NODE_OPTIONS": joined(known.get("NODE_OPTIONS"), f'--require "{agent}"')}

    def frames(self, text: str) -> list[ToldFrame]:
        """Lines of V8; the first one is the name of the error that held the stack."""
        return [frame for line in text.splitlines()[1:] if (frame := _frame(line)) is not None]

    def is_own(self, function: str, file: str | None) -> bool:
        """Of a file, and of no package."""
        return file is not None and file.startswith("/") and _PACKAGE.match(file) is None

    def is_standard(self, function: str, file: str | None) -> bool:
        """What node brings is named node:fs and the like, what JavaScript itself does <anonymous>."""
        return file is None or file.startswith("node:") or file == "<anonymous>"


def _frame(line: str) -> ToldFrame | None:
    match = _FRAME.fullmatch(line)
    if match is None:
        return None
    file = match["file"]
    if file.startswith("file://"):
        file = unquote(file.removeprefix("file://"))
    function = match["function"] or ""
    if function in _TOP_LEVEL:
        function = "<module>" if function else "<anonymous>"
    number, column = (int(match[name]) if match[name] else None for name in ("line", "column"))
    return ToldFrame(function, file or None, number, column)
