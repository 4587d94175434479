"""Source lines for reports. Files are named by traces and saved runs, so only what can be a source is opened."""

from __future__ import annotations

import linecache
import stat
from pathlib import Path

_LARGEST = 16 << 20  # bytes; no source that people read is larger


def source_lines(file: str | None) -> list[str]:
    """The lines of a source; none where it is not at hand."""
    try:
        status = Path(file).stat() if file else None
    except (OSError, ValueError):  # a NUL in the name, for one
        return []
    if file is None or status is None or not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        return []
    return linecache.getlines(file)


def source_line(file: str | None, line: int | None) -> str:
    """The text of one line, empty where the source is not at hand."""
    lines = source_lines(file) if line else []
    return lines[line - 1].rstrip("\n") if line and 0 < line <= len(lines) else ""
