"""The checker's result file: how the program ended, how much was checked, and the findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from powercut.errors import EnvironmentFailure


class Place(msgspec.Struct, frozen=True):
    """A line of source; or, with line 0, an instruction at an address of an object file."""

    file: str
    function: str
    line: int
    offset: int = 0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was found, however often it came.

    Attributes:
        at: the checker that failed, or the operation that is wrong by itself.
        write: the write it is about.
        other: the flush, the earlier log entry, the write of the other side.
        sentence: in which %a, %w and %o stand for these places.
    """

    kind: str
    why: str
    severity: str
    sentence: str
    advice: str
    at: Place | None
    write: Place | None
    other: Place | None
    address: int
    size: int
    count: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A whole check.

    Attributes:
        trouble: why there is no result, or not all of it; empty if all is well. `reason` is its errno.
        programs: how many called pc_init.
        lost: findings for which there was no room.
    """

    model: str
    trouble: str
    reason: int
    code: int
    signal: int
    programs: int
    threads: int
    operations: int
    checking_ns: int
    lost: int
    findings: list[Result]


def read_outcome(path: Path) -> Outcome:
    """Read what the checker wrote."""
    try:
        return msgspec.convert(_readable(json.loads(path.read_bytes())), Outcome)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
        raise checker_failed(f"it left no result: {error}") from error


def checker_failed(how: str) -> EnvironmentFailure:
    """The checker itself went wrong."""
    return EnvironmentFailure("checker-failed", f"the checking process failed: {how}.", "Run powercut doctor.")


def _readable(value: Any) -> Any:
    """Names come byte by byte; as text where they are UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if isinstance(value, dict):
        return {name: _readable(item) for name, item in value.items()}
    return value
