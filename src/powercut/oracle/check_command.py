"""The check of a run, before it runs: its command, its variables, what stands for what it is told."""

from __future__ import annotations

import os
import shlex
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

from xxhash import xxh3_128_digest

from powercut.errors import UsageError
from powercut.programs import find_program
from powercut.states.timeline import Timeline


def check_command(text: str, cwd: Path, folder: Path, what: str = "check") -> list[str]:
    """The check as an argument list, its program found now: checks run in an image of the data folder."""
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise UsageError("bad-check", f"the {what} {text!r} cannot be split into words: {error}.") from error
    if not argv:
        raise UsageError(
            "bad-check", f"the {what} is empty.", "Give a command that exits with 0 if everything is fine."
        )
    program = find_program(argv[0], cwd)
    if os.sep in program:
        program = str(cwd / program)
    rest = [str(cwd / word) if _is_file(cwd / word) and _may_be_here(word, folder) else word for word in argv[1:]]
    return [program, *rest]


def check_environment(timeline: Timeline) -> dict[str, str]:
    """The variables of a check: as ours; on persistent memory, libpmem shall take the image for what it stands for."""
    persistent = {"PMEM_IS_PMEM_FORCE": "1"} if timeline.in_lines else {}
    return {**persistent, **os.environ}


def _may_be_here(word: str, folder: Path) -> bool:
    """Whether a word can mean a file where powercut was started: what is in the data folder is meant there."""
    return not word.startswith(("-", "/")) and not _is_file(folder / word)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a script in an argument is too long for a name
        return False


def told_digest() -> Callable[[Timeline, int, frozenset[int]], bytes]:
    """What stands for all that the program had printed and sent by a point, but for some events.

    It is the same in any timeline of one trace.
    """
    known: dict[tuple[int, frozenset[int]], bytes] = {}

    def digest(timeline: Timeline, point: int, unsaid: frozenset[int]) -> bytes:
        said = bisect_right(timeline.prints, point), unsaid
        if said not in known:
            printed, sent = timeline.acked(point, unsaid), timeline.sent(point, unsaid)
            known[said] = xxh3_128_digest(len(printed).to_bytes(8, "little") + printed + sent)
        return known[said]

    return digest
