"""The Python API (`import powercut`): crash-test programs and functions from Python.

import powercut

def check(folder, acked):
    assert (folder / "config.json").read_text() in (OLD, NEW)

run = powercut.explore(lambda: save(NEW), check, dir="data")
assert not run.findings
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from powercut.matching.ask import match
from powercut.runs.store import SavedRun
from powercut.search.events import Event, Subscriber
from powercut.settings import load_settings
from powercut.testing.session import Session

__all__ = ["explore", "match"]


def explore(
    workload: Sequence[str] | Callable[[], object],
    check: str | Callable[..., object] | None = None,
    *,
    dir: str | Path | None = None,
    subscriber: Subscriber | None = None,
    **settings: Any,
) -> SavedRun:
    """Run a program once and test every state that a power cut could leave.

    Args:
        workload: the program: a command as an argument list, or a Python function without arguments. It runs in a
            forked child, on a private copy of the data folder at the folder's own path.
        check: a function that raises or returns False if a crash state is bad. It gets the data folder, and, if it
            takes a second argument, the bytes that the program had printed before the crash. Or a command line as for
            --check, or None for the built-in check.
        dir: the data folder; by default the current folder.
        subscriber: called with progress and findings during the search.
        settings: any other setting of powercut.toml, with underscores: fs, budget, max_states, timeout, seed ...

    Returns:
        The run: its `findings`, `states` and `notes`.
    """
    cwd = Path.cwd()
    given = {**settings, "dir": str(dir) if dir is not None else None}
    if isinstance(check, str):
        given["check"] = check
    session = Session(load_settings(cwd, given), cwd, subscriber or _ignore)
    if callable(check):
        session.check = check
    return session.test(workload)[0]


def _ignore(event: Event) -> None:
    """Nobody listens."""
