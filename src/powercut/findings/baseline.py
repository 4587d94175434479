"""The baseline: findings that are known, by id, each with a reason. CI fails only on what is not in it.

Before: a TOML file that people read and edit, or none. After: every finding or misuse of a run that stands in it
carries the reason. Ids that a run does not show are told, not fatal: they may be fixed, or not have been reached.

    [[known]]
    id = "3f9a1b2c"
    kind = "redundant-flush"
    reason = "the counter is rebuilt at start"
    what = "list.c:40 flushes a line of pool that was never stored to."
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from powercut.errors import UsageError
from powercut.findings.identity import PROVISIONAL

DEFAULT = "powercut-baseline.toml"
UNEXPLAINED = "not yet explained"
_HEAD = """\
# Known findings of powercut: it reports them, but they do not fail a run. `--write-baseline` adds new ones and keeps
# your reasons.
"""


class Identified(Protocol):
    """A finding or a misuse."""

    id: str
    message: str
    known: str | None

    @property
    def kind(self) -> str:
        """What sort it is."""


class Known(msgspec.Struct, forbid_unknown_fields=True):
    """One entry. Without a kind it may be anything."""

    id: str
    reason: str
    kind: str = ""
    what: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    known: list[Known] = []


class Baseline:
    """The known ones."""

    def __init__(self, path: Path, entries: Iterable[Known] = ()) -> None:
        self.path = path
        self._entries = {entry.id: entry for entry in entries}

    @classmethod
    def load(cls, path: Path, *, required: bool) -> Baseline:
        """Read the file; one that is not `required` may be missing."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
            return cls(path, msgspec.convert(content, _File).known)
        except FileNotFoundError as error:
            if required:
                hint = "Write one with --write-baseline."
                raise UsageError("no-baseline", f"there is no baseline {path}.", hint) from error
            return cls(path)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise UsageError("bad-baseline", f"cannot read the baseline {path}: {why}.") from error

    def mark(self, found: Iterable[Identified]) -> None:
        """Give each that is known its reason."""
        for item in found:
            entry = self._entries.get(item.id) if _has_id(item) else None
            item.known = entry.reason if entry is not None else None

    def missing(self, found: Iterable[Identified], kinds: Iterable[str]) -> list[str]:
        """Ids of some kinds that nothing found has."""
        seen, wanted = {item.id for item in found}, {"", *kinds}
        return [entry.id for entry in self._entries.values() if entry.id not in seen and entry.kind in wanted]

    def with_all(self, found: Iterable[Identified]) -> Baseline:
        """The same and everything found; what is there stays as it is."""
        added = [Known(item.id, UNEXPLAINED, str(item.kind), item.message) for item in found if _has_id(item)]
        return Baseline(self.path, [*added, *self._entries.values()])

    def text(self) -> str:
        """The file's content, in the order of the ids, so that changes are easy to review."""
        entries = sorted(self._entries.values(), key=lambda entry: (entry.kind, entry.id))
        return "\n".join([_HEAD, *map(_entry_text, entries)])


def _has_id(item: Identified) -> bool:
    """Whether it can be known: what was cut short may be anything."""
    return not item.id.startswith(PROVISIONAL)


def unmarked(found: Sequence[Identified]) -> list[Identified]:
    """Those that are not in the baseline."""
    return [item for item in found if item.known is None]


def _entry_text(entry: Known) -> str:
    fields = [("id", entry.id), ("kind", entry.kind), ("reason", entry.reason), ("what", entry.what)]
    lines = [f"{name} = {_quoted(value)}" for name, value in fields if value or name == "reason"]
    return "\n".join(["[[known]]", *lines, ""])


def _quoted(text: str) -> str:
    """A TOML string: like one of JSON, in which no character is invisible."""
    return json.dumps("".join(c if c.isprintable() else "\ufffd" for c in text), ensure_ascii=False)
