"""Verdicts that outlive their run, by content: what the image held, what the program had said, which check was asked.

  OUTPUT/verdicts.sqlite3       one row for each verdict: key, checksum and verdict, when it was last of use

Before: a check, known by its fingerprint. After: verdicts of earlier runs are found by the content of an image, and new
ones are on disk a second after they came. SQLite makes that safe against crashes and for several runs at a time; a
checksum in each row makes sure that a damaged one is never believed. The file is bounded: what was of no use for
longest goes first. It holds nothing that could not be asked again, so what cannot be read is said and thrown away.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Hashable
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from xxhash import xxh3_64_digest

from powercut.oracle.verdict import Outcome, Verdict

FORMAT = 1  # of rows and keys; rows of other formats are thrown away
NAME = "verdicts.sqlite3"
MOST_BYTES = 256 << 20
_EVICTED_TO = 3 / 4  # of that, when it is full
_FLUSH_SECONDS = 1.0
_FLUSH_ROWS = 2000
_BUSY_SECONDS = 20.0  # another run that writes is waited for
_USE_SECONDS = 86_400  # uses are noted once a day
_CHECKSUM = 8
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS verdicts (key BLOB PRIMARY KEY, verdict BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON verdicts (used);
"""

Key = tuple[int, Hashable]  # the digest of an image, and of what the program had said
_DISPROVED: Key = (0, b"forks")  # no digest of what was said is that short
Warn = Callable[[str], None]


class VerdictCache:
    """The verdicts of one check, in a file that holds those of others, too."""

    def __init__(self, output: Path, check: bytes, warn: Warn, *, use: bool = True) -> None:
        """`use`: whether verdicts of earlier runs count; without, all is asked anew and kept instead of them."""
        self._path = output / NAME
        self._check = check
        self._warn = warn
        self._use = use
        self._new: dict[bytes, bytes] = {}
        self._used: list[bytes] = []
        self._flushed = time.monotonic()
        self._was_empty = False  # when this run began: what it writes itself, it does not ask for
        self._file: sqlite3.Connection | None = None
        self._guard(self._open)

    def find(self, key: Key) -> Verdict | None:
        """The verdict of an earlier run."""
        if not self._use or self._was_empty:
            return None
        found: list[Verdict] = []
        self._guard(lambda: found.extend(self._read(self._name(key))))
        return found[0] if found else None

    def keep(self, key: Key, verdict: Verdict) -> None:
        """Keep a verdict. Of one that is a pass, nobody will ask what was said."""
        name = self._name(key)
        output = "" if verdict.passed else verdict.output
        body = json.dumps([verdict.outcome.value, verdict.code, output, round(verdict.seconds, 4)]).encode()
        self._new[name] = xxh3_64_digest(name + body) + body
        if len(self._new) >= _FLUSH_ROWS or time.monotonic() - self._flushed >= _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is new, durably, all or nothing."""
        if self._new or self._used:
            self._guard(self._write)
        self._flushed = time.monotonic()

    @property
    def forks_disproved(self) -> bool:
        """Whether forks of the check gave wrong verdicts in an earlier run."""
        return self.find(_DISPROVED) is not None

    def disprove_forks(self) -> None:
        """Let no later run believe what forks of the check said."""
        self.keep(_DISPROVED, Verdict(Outcome.FAIL))

    def distrust(self) -> None:
        """Use no verdict of earlier runs from now on; new ones take their place."""
        self._use = False

    def close(self) -> None:
        """Write what is left."""
        self.flush()
        if self._file is not None:
            with suppress(sqlite3.Error):
                self._file.close()
            self._file = None

    def _name(self, key: Key) -> bytes:
        digest, output = key
        assert isinstance(output, bytes), "what a check is told is known by its content"
        return blake2b(self._check + digest.to_bytes(16, "little") + output, digest_size=16).digest()

    # The file

    def _guard(self, use: Callable[[], None]) -> None:
        """Use the file; a damaged one is made anew, once, and one that cannot be used is done without."""
        if self._file is None and use != self._open:
            return
        try:
            use()
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is not None and code & 0xFF in _DAMAGED:
                self._warn(f"the cache {self._path} is damaged; it was recreated")
                self._rebuild()
            else:
                self._warn(f"cannot cache verdicts in {self._path}: {error}")
                self._file = None

    def _open(self) -> None:
        file = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        self._file = file
        file.execute("PRAGMA synchronous = EXTRA")  # FULL does not sync the removal of the journal, which is the commit
        with closing(file.execute("PRAGMA user_version")) as answer:
            (version,) = answer.fetchone()
        if version not in (0, FORMAT):
            file.close()
            self._remove()
            file = self._file = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        if version != FORMAT:
            file.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        self._was_empty = file.execute("SELECT 1 FROM verdicts LIMIT 1").fetchone() is None

    def _rebuild(self) -> None:
        """Throw the file away; another run that has it open goes on with what it has."""
        if self._file is not None:
            with suppress(sqlite3.Error):
                self._file.close()
        self._file = None
        self._used.clear()
        try:
            self._remove()
            self._open()
        except (OSError, sqlite3.Error) as error:
            self._warn(f"cannot cache verdicts in {self._path}: {error}")
            self._file = None

    def _remove(self) -> None:
        for name in (NAME, f"{NAME}-journal"):
            self._path.with_name(name).unlink(missing_ok=True)

    def _read(self, name: bytes) -> list[Verdict]:
        assert self._file is not None
        row = self._file.execute("SELECT verdict, used FROM verdicts WHERE key = ?", (name,)).fetchone()
        verdict = None if row is None else _verdict(name, row[0])
        if verdict is None:
            return []
        if time.time() - row[1] > _USE_SECONDS:
            self._used.append(name)
        return [verdict]

    def _write(self) -> None:
        file, now = self._file, int(time.time())
        assert file is not None
        file.execute("BEGIN IMMEDIATE")
        try:
            rows = [(name, verdict, now) for name, verdict in self._new.items()]
            file.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", rows)
            file.executemany("UPDATE verdicts SET used = ? WHERE key = ?", [(now, name) for name in self._used])
            self._evict(file)
            file.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                file.execute("ROLLBACK")
            raise
        self._new.clear()
        self._used.clear()

    def _evict(self, file: sqlite3.Connection) -> None:
        """Remove what was of no use for longest, if the file is full; its pages are used again."""
        pages, free, size, rows = (
            file.execute(f"SELECT {what}").fetchone()[0]
            for what in (
                "page_count FROM pragma_page_count",
                "freelist_count FROM pragma_freelist_count",
                "page_size FROM pragma_page_size",
                "count(*) FROM verdicts",
            )
        )
        taken = (pages - free) * size
        if taken > MOST_BYTES:
            surplus = int(rows * (1 - _EVICTED_TO * MOST_BYTES / taken)) + 1
            old = "SELECT key FROM verdicts ORDER BY used LIMIT ?"
            file.execute(f"DELETE FROM verdicts WHERE key IN ({old})", (surplus,))


def _verdict(name: bytes, row: object) -> Verdict | None:
    """A verdict from its row; None if the row is not as it was written."""
    if not isinstance(row, bytes) or row[:_CHECKSUM] != xxh3_64_digest(name + row[_CHECKSUM:]):
        return None
    try:
        outcome, code, output, seconds = msgspec.convert(json.loads(row[_CHECKSUM:]), tuple[str, int, str, float])
        return Verdict(Outcome(outcome), code, output, seconds)
    except (msgspec.ValidationError, ValueError):
        return None
