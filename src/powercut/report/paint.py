"""Colour for a terminal. In pipes, and with NO_COLOR, text stays as it is."""

from __future__ import annotations

import os
import shutil
from enum import Enum
from typing import IO, Any

import click

WIDTH = 110  # of wrapped text
_NARROWEST = 50


class Role(Enum):
    """What a piece of text is."""

    ID = "id"
    KIND = "kind"
    PLACE = "place"
    FIX = "fix"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    COMMAND = "command"


_BOLD = (Role.ID, Role.KIND, Role.GOOD, Role.BAD)
_COLOURS = {
    Role.KIND: "red",
    Role.PLACE: "cyan",
    Role.FIX: "green",
    Role.GOOD: "green",
    Role.BAD: "red",
    Role.WARNING: "yellow",
    Role.COMMAND: "cyan",
}


class Paint:
    """Leaves text as it is.

    Attributes:
        width: columns into which text is wrapped.
    """

    width = WIDTH

    def __call__(self, role: Role, text: str) -> str:
        """A piece of text as its role has it."""
        return text

    def source(self, text: str, file: str | None) -> str:
        """A line of a source file."""
        return text


class Colours(Paint):
    """Colours of a terminal."""

    def __init__(self) -> None:
        self.width = max(_NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))

    def __call__(self, role: Role, text: str) -> str:
        """In the colours of its role."""
        return click.style(text, fg=_COLOURS.get(role), bold=role in _BOLD or None)

    def source(self, text: str, file: str | None) -> str:
        """Highlighted, in the language that the name of the file tells."""
        from rich.console import Console
        from rich.syntax import Syntax

        console = Console(force_terminal=True, color_system="standard", no_color=False, width=max(WIDTH, len(text) + 1))
        syntax = Syntax("", Syntax.guess_lexer(file or "", text), theme="ansi_dark", background_color="default")
        shown = syntax.highlight(text)
        shown.rstrip()
        with console.capture() as capture:
            console.print(shown, end="", soft_wrap=True)
        return capture.get()


PLAIN = Paint()


def paint_for(stream: IO[Any] | None) -> Paint:
    """Colours for a terminal; none for anything else, or where the user wants none (NO_COLOR)."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Colours() if wanted and stream is not None and stream.isatty() else PLAIN
