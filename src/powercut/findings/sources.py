"""Source text: that of the run, where it was kept; otherwise what the file holds today.

Before: names of files, from traces and saved runs, so they are not trusted. After: their lines. A run keeps the files
that its findings name, as they were when it found them: ids are made of the text of lines, and must be the same when
the run goes on after an edit; reports of last week show the lines of last week.

  RUN/sources/index.json    names of files, and the hash of what each holds
  RUN/sources/HASH          the text

No name from a trace becomes a path in there. What does not fit its hash was not written by powercut, and is not shown.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from powercut.durable import new_file

if TYPE_CHECKING:
    from powercut.findings.finding import Location

_FOLDER, _INDEX = "sources", "index.json"
_HASH = re.compile(r"[0-9a-f]{64}")
_LARGEST = 16 << 20  # bytes; no source that people read is larger
_LARGEST_KEPT = 1 << 20
_MOST_KEPT = 100  # files


class Sources:
    """The sources of one run, or, without its folder, those of today.

    Attributes:
        kept: the hash of each file that the run has kept.
    """

    def __init__(self, run: Path | None = None, *, keeping: bool = False) -> None:
        """With `keeping`, what is read is kept, as long as there is room for it."""
        self._folder = run / _FOLDER if run is not None else None
        self._keeping = keeping and run is not None
        self.kept = _index(self._folder) if self._folder is not None else {}
        self._read: dict[str, tuple[object, list[str]]] = {}

    def lines(self, file: str | None) -> list[str]:
        """The lines of a source, with their ends; none where it is not at hand, or no text."""
        if not file:
            return []
        if self._keeping:
            self.keep([file])
        sign: object = self.kept.get(file) or _signature(file)
        known = self._read.get(file)
        if known is None or known[0] != sign:
            known = self._read[file] = (sign, _lines(self._content(file)))
        return known[1]

    def line_text(self, file: str | None, line: int | None) -> str:
        """The text of one line, empty where the source is not at hand."""
        lines = self.lines(file) if line else []
        return lines[line - 1].rstrip("\n") if line and 0 < line <= len(lines) else ""

    def changed(self, file: str) -> bool:
        """Whether a file that was kept holds something else by now, or is gone."""
        return file in self.kept and self.kept[file] != _hash(_today(file))

    def keep(self, files: Iterable[str]) -> None:
        """Keep what files hold now, unless they are kept already. A run without is still a run: failures are none."""
        contents = {file: _today(file, _LARGEST_KEPT) for file in files if file not in self.kept}
        self._add({file: content for file, content in contents.items() if _lines(content)})

    def adopt(self, other: Sources) -> None:
        """Keep what another run of the same trace has kept."""
        self._add({file: other._content(file) for file in other.kept if file not in self.kept})

    def _add(self, contents: dict[str, bytes]) -> None:
        some = list(contents.items())[: max(0, _MOST_KEPT - len(self.kept))]
        if self._folder is None or not some:
            return
        with suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            for _, content in some:
                _write(self._folder / _hash(content), content)
            kept = {**self.kept, **{file: _hash(content) for file, content in some}}
            with new_file(self._folder / _INDEX) as index:
                index.write(json.dumps(kept, indent=1, sort_keys=True).encode())
            self.kept = kept

    def _content(self, file: str) -> bytes:
        digest = self.kept.get(file)
        if digest is None or self._folder is None:
            return _today(file)
        content = _read(self._folder / digest, _LARGEST_KEPT)
        return content if _hash(content) == digest else b""


_TODAY = Sources()
_current: ContextVar[Sources] = ContextVar("sources", default=_TODAY)


def sources() -> Sources:
    """Those of the run that is at work, or shown."""
    return _current.get()


@contextmanager
def reading(given: Sources) -> Iterator[Sources]:
    """Ids and reports that are made here take their text from there."""
    token = _current.set(given)
    try:
        yield given
    finally:
        _current.reset(token)


def files_of(places: Iterable[Location]) -> list[str]:
    """All files on the way to places, which reports show lines of; those of the places themselves first."""
    found = list(places)
    own = [location.file for location in found if location.file]
    frames = (frame for location in found for frame in location.frames)
    return list(dict.fromkeys([*own, *(frame.file for frame in frames if frame.file and frame.has_source)]))


def _index(folder: Path) -> dict[str, str]:
    """The hashes of kept files; none if they cannot be read."""
    try:
        found = json.loads(_read(folder / _INDEX, _LARGEST_KEPT) or b"{}")
    except (ValueError, RecursionError):
        return {}
    pairs = found.items() if isinstance(found, dict) else ()
    return {file: digest for file, digest in pairs if isinstance(digest, str) and _HASH.fullmatch(digest)}


def _write(path: Path, content: bytes) -> None:
    if not path.exists():
        with new_file(path) as file:
            file.write(content)


def _today(file: str, largest: int = _LARGEST) -> bytes:
    return _read(Path(file), largest, follow=True)


def _read(path: Path, largest: int, *, follow: bool = False) -> bytes:
    """What a regular file holds; nothing of one that is not there, too large, or something else, such as a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
        with open(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            fits = stat.S_ISREG(status.st_mode) and status.st_size <= largest
            return opened.read(largest) if fits else b""
    except (OSError, ValueError):  # a NUL in the name, for one
        return b""


def _signature(file: str) -> object:
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(content: bytes) -> list[str]:
    """The lines of a text in the encoding that it says it has, as Python does it; none of what is no text."""
    if b"\0" in content:
        return []
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        lines = io.TextIOWrapper(io.BytesIO(content), encoding).readlines()
    except (SyntaxError, UnicodeDecodeError):
        return []
    return [*lines[:-1], f"{lines[-1].rstrip(chr(10))}\n"] if lines else []
