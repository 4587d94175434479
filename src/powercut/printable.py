"""Text from outside, fit for a terminal. A module of its own: an error message must not wait for all else to load."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text without control characters except ends of lines: output comes from outside."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def one_line(text: str) -> str:
    """Text that stays in its line whatever names it holds: ends of lines and tabs in a name are no layout of ours."""
    return "".join(c if c.isprintable() else "�" for c in text)


def counted(number: int, what: str) -> str:
    """A number of things: 1 file, 1,234 files."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"
