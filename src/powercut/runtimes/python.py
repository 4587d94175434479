"""CPython: its own stacks are in its memory; an agent adds who submitted what threads of a pool do.

An `await` is on the stack anyway, down to the coroutine that runs; but `asyncio.to_thread`, `run_in_executor` and
libraries on top of them (aiofiles) let a thread do the work, whose stack begins in the pool.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from powercut.runtimes.runtime import AGENTS, ToldFrame, joined, table_frames

JOINT = "_Agent.run"
"""The agent's function through which a thread, a pool or a loop does what was asked for."""

_LIBRARY = re.compile(r"/lib(64)?/python3(\.\d+)?/|/python3\d+\.zip/|/(site|dist)-packages/")


class Python:
    """CPython; where the tracer knows no stacks of a version, who asked is told all the same."""

    language = "python"
    title = "Python"
    programs: re.Pattern[str] | None = None  # without the agent only who asked is missing

    def variables(self, known: Mapping[str, str]) -> dict[str, str]:
        """A folder with a sitecustomize, which then loads the program's own."""
        return {"PYTHONPATH": joined(known.get("PYTHONPATH"), str(AGENTS / "python"), os.pathsep)}

    def frames(self, text: str) -> list[ToldFrame]:
        """Rows of function, file and line."""
        return table_frames(text)

    def is_own(self, function: str, file: str | None) -> bool:
        """Neither of the standard library, nor of a package, nor made up."""
        return file is not None and not file.startswith("<") and _LIBRARY.search(file) is None

    def is_standard(self, function: str, file: str | None) -> bool:
        """Of the standard library."""
        return file is not None and "-packages/" not in file and _LIBRARY.search(file) is not None
