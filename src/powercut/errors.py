"""Errors for the user: a message, a code, and a hint what to do next.

powercut raises one of these for every failure that it knows. The command line prints it and ends with the exit code of
its class. Any other exception is a bug in powercut.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from enum import IntEnum

ALIKE = 0.7  # how alike a slip of the finger is: zfs is not meant to be xfs, nor the program sh to be show


class ExitCode(IntEnum):
    """How `powercut` ends."""

    NOTHING_FOUND = 0
    FINDINGS = 1
    USAGE = 2  # wrong usage or unreadable input
    FAILED = 3  # the program, the check or the machine failed
    NOTHING_COVERED = 4  # the budget ended before anything was covered, or while the check hung


class PowercutError(Exception):
    """An error with a stable code (`slug`), a message and a hint."""

    exit_code = ExitCode.FAILED

    def __init__(self, slug: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.message}{hint} [{self.slug}]"


class UsageError(PowercutError):
    """Wrong usage, or input that cannot be read."""

    exit_code = ExitCode.USAGE


class EnvironmentFailure(PowercutError):
    """The program, the check or the machine failed."""

    exit_code = ExitCode.FAILED


def suggestion(name: str, known: Collection[str], what: str = "Known") -> str:
    """A hint for a name that does not exist: the one that was meant, or all there are."""
    begins = [other for other in known if name and other.startswith(name)]
    close = begins or difflib.get_close_matches(name, known, 1, ALIKE)
    return f"Did you mean {close[0]}?" if close else f"{what}: {', '.join(known)}."
