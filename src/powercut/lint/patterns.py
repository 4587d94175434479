"""The patterns that lint finds, with their texts.

A pattern is a bug where it is one whatever the program means, as far as a trace can tell; else a warning. Its harm is
what comes of it. docs/lint.md gives the exact condition of each; tests compare that page with this table.
"""

from __future__ import annotations

from enum import StrEnum

from powercut.quick_dataclass import dataclass


class Severity(StrEnum):
    """Whether it is wrong for sure."""

    BUG = "bug"
    WARNING = "warning"


class Harm(StrEnum):
    """What comes of it."""

    DURABILITY = "durability"  # a power cut can take what the program relies on
    PERFORMANCE = "performance"  # time is spent on nothing
    ORDERING = "ordering"  # what persists first is left to chance


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern, or one variant of it.

    Attributes:
        name: for other programs; with `why`, unique.
        why: the variant, empty if there is only one.
        title: for people, in a few words.
        message: one or two sentences; {place} and {other} are the two sides, {files} what it is about. Text in
            brackets is printed only if the other side is known.
        roles: what the two sides do.
        advice: what to change.
    """

    name: str
    why: str
    severity: Severity
    harm: Harm
    title: str
    message: str
    roles: tuple[str, str]
    advice: str


_BUG, _WARNING = Severity.BUG, Severity.WARNING
_DURABILITY, _PERFORMANCE, _ORDERING = Harm.DURABILITY, Harm.PERFORMANCE, Harm.ORDERING
_STORED = ("stored", "flushed")
_LEAVE_OUT = "remove it, or flush only lines that were stored to"

MISSING_FLUSH = Pattern(
    "missing-flush",
    "",
    _BUG,
    _DURABILITY,
    "store that is never flushed",
    "What {place} stores to {files} is never flushed, although its cache line was flushed before[ (at {other})].",
    _STORED,
    "flush the line after this store, and fence",
)
MISSING_FENCE = Pattern(
    "missing-fence",
    "",
    _BUG,
    _DURABILITY,
    "flush that is never fenced",
    "What {place} stores to {files} is flushed[ (at {other})], but no fence of that thread follows.",
    _STORED,
    "fence after the flush",
)
MISSING_SYNC = Pattern(
    "missing-sync",
    "",
    _BUG,
    _DURABILITY,
    "store that is never synced",
    "What {place} stores to {files} is never synced, although the file is synced at other times.",
    ("stored", "synced"),
    "call msync on these pages, or fsync on the file, after this store",
)
TRANSIENT = Pattern(
    "transient-data",
    "",
    _WARNING,
    _PERFORMANCE,
    "data that is never persisted",
    "What {place} stores to {files} is never flushed, and its cache line is never flushed at all.",
    _STORED,
    "keep it in ordinary memory if it need not survive; otherwise flush and fence it",
)
TRANSIENT_FILE = Pattern(
    "transient-data",
    "page-cache",
    _WARNING,
    _PERFORMANCE,
    "data that is never synced",
    "What {place} stores to {files} is never synced, and neither is anything else in that file.",
    ("stored", "synced"),
    "keep it in ordinary memory if it need not survive; otherwise call msync",
)
DIRTY_OVERWRITE = Pattern(
    "dirty-overwrite",
    "",
    _BUG,
    _DURABILITY,
    "store over a value that never persisted",
    "{place} overwrites what {other} stored in {files} before it was durable.",
    ("overwritten", "stored"),
    "persist the first value before you overwrite it, or keep it in ordinary memory until it is final",
)
FLUSH_CLEAN = Pattern(
    "redundant-flush",
    "clean",
    _BUG,
    _PERFORMANCE,
    "flush of a clean line",
    "{place} flushes a line of {files} that was never stored to.",
    ("flushed", "flushed before"),
    _LEAVE_OUT,
)
FLUSH_AGAIN = Pattern(
    "redundant-flush",
    "flushed",
    _BUG,
    _PERFORMANCE,
    "flush of an already flushed line",
    "{place} flushes a line of {files} that was already flushed[ (at {other})] and not stored to since.",
    ("flushed", "flushed before"),
    _LEAVE_OUT,
)
FLUSH_BYPASSED = Pattern(
    "redundant-flush",
    "non-temporal",
    _BUG,
    _PERFORMANCE,
    "flush after a non-temporal store",
    "{place} flushes a line of {files} that {other} wrote with non-temporal stores, which bypass the cache.",
    ("flushed", "stored"),
    "remove the flush; a non-temporal store needs only a fence",
)
FLUSH_VOLATILE = Pattern(
    "redundant-flush",
    "volatile",
    _BUG,
    _PERFORMANCE,
    "flush of ordinary memory",
    "{place} flushes memory that does not belong to a mapped file. It never survives a power cut.",
    ("flushed", ""),
    "remove it; data that must survive belongs in a mapped file",
)
FLUSH_EADR = Pattern(
    "redundant-flush",
    "eadr",
    _WARNING,
    _PERFORMANCE,
    "flush that eADR does not need",
    "{place} flushes a line of {files}. eADR makes this flush unnecessary.",
    ("flushed", ""),
    "skip flushes on machines with eADR (pmem_has_auto_flush); keep them for all others",
)
FLUSH_SEVERAL = Pattern(
    "shared-flush",
    "",
    _WARNING,
    _PERFORMANCE,
    "one flush for several stores",
    "{place} flushes a line of {files} with several stores in it[ ({other} and others)]. They share a cache line only "
    "by chance.",
    ("flushed", "stored"),
    "align data that belongs together to cache lines, and flush each line once",
)
FENCE_IDLE = Pattern(
    "redundant-fence",
    "",
    _BUG,
    _PERFORMANCE,
    "fence with nothing to wait for",
    "{place} fences, but nothing was flushed before it[ since the fence at {other}].",
    ("fenced", "fenced before"),
    "remove it, or flush what must be durable before it",
)
FENCE_IDLE_EADR = Pattern(
    "redundant-fence",
    "eadr",
    _BUG,
    _PERFORMANCE,
    "fence with nothing to order",
    "{place} fences, but nothing was stored before it[ since the fence at {other}].",
    ("fenced", "fenced before"),
    "remove it",
)
FENCE_SEVERAL = Pattern(
    "shared-fence",
    "",
    _WARNING,
    _ORDERING,
    "one fence for several lines",
    "{place} fences several lines at once[ ({other} and others)]. A power cut before it can keep any of them and lose "
    "the others.",
    ("fenced", "flushed"),
    "fence between lines whose order matters; powercut test tests the orders",
)
REDUNDANT_SYNC = Pattern(
    "redundant-sync",
    "",
    _BUG,
    _PERFORMANCE,
    "sync with nothing to sync",
    "{place} syncs {files}, which has not changed since its last sync.",
    ("synced", ""),
    "remove it",
)
WRONG_FILE = Pattern(
    "wrong-file-synced",
    "",
    _BUG,
    _DURABILITY,
    "sync of the wrong file",
    "{place} syncs {files}, which has not changed. The file that {other} wrote at the same time is never synced.",
    ("synced", "written"),
    "sync the file that was written",
)
RENAME_UNSYNCED = Pattern(
    "rename-of-unsynced",
    "",
    _BUG,
    _DURABILITY,
    "rename of unsynced data",
    "{place} renames {files} before the data that {other} wrote to it is synced. The new name can survive without the "
    "data.",
    ("renamed", "written"),
    "call fsync on the file before the rename",
)
UNSYNCED_ENTRY = Pattern(
    "unsynced-entry",
    "",
    _BUG,
    _DURABILITY,
    "new name, but its directory is never fsynced",
    "{place} creates {files}, but neither the directory nor the file is synced afterwards. The name can be lost.",
    ("named", ""),
    "call fsync on the directory",
)
ENTRY_BY_FILE = Pattern(
    "unsynced-entry",
    "file-synced",
    _WARNING,
    _DURABILITY,
    "name that relies on the file system",
    "{place} creates {files} and syncs only the file, not its directory. ext4, xfs and btrfs keep the name, but POSIX "
    "does not guarantee it.",
    ("named", ""),
    "also call fsync on the directory",
)
ACKNOWLEDGED = Pattern(
    "acknowledged-unsynced",
    "",
    _BUG,
    _DURABILITY,
    "acknowledged after the last sync",
    "{place} writes to {files} after its last sync, and {other} outputs something after that.",
    ("written", "acknowledged"),
    "sync the file before the output",
)
ACKNOWLEDGED_EARLY = Pattern(
    "acknowledged-unsynced",
    "later",
    _WARNING,
    _DURABILITY,
    "output before the sync",
    "What {place} writes to {files} is synced only after {other} has printed or sent something.",
    ("written", "acknowledged"),
    "if the output promises it, sync the file first",
)
ACKNOWLEDGED_NEVER = Pattern(
    "acknowledged-unsynced",
    "never",
    _WARNING,
    _DURABILITY,
    "output, but no sync at all",
    "What {place} writes to {files} is never synced, but {other} prints or sends something afterwards.",
    ("written", "acknowledged"),
    "if the output promises it, sync the file first",
)
NOTHING_PERSISTED = Pattern(
    "nothing-persisted",
    "",
    _BUG,
    _DURABILITY,
    "nothing was ever made durable",
    "The program changes {files} (first at {place}), but the trace has no sync, flush or fence: nothing was ever made "
    "durable.",
    ("changed", ""),
    "sync what must survive; or is this the trace of another program?",
)

PATTERNS: tuple[Pattern, ...] = (
    MISSING_FLUSH,
    MISSING_FENCE,
    MISSING_SYNC,
    TRANSIENT,
    TRANSIENT_FILE,
    DIRTY_OVERWRITE,
    FLUSH_CLEAN,
    FLUSH_AGAIN,
    FLUSH_BYPASSED,
    FLUSH_VOLATILE,
    FLUSH_EADR,
    FLUSH_SEVERAL,
    FENCE_IDLE,
    FENCE_IDLE_EADR,
    FENCE_SEVERAL,
    REDUNDANT_SYNC,
    WRONG_FILE,
    RENAME_UNSYNCED,
    UNSYNCED_ENTRY,
    ENTRY_BY_FILE,
    ACKNOWLEDGED,
    ACKNOWLEDGED_EARLY,
    ACKNOWLEDGED_NEVER,
    NOTHING_PERSISTED,
)
PAIRS = frozenset({DIRTY_OVERWRITE, RENAME_UNSYNCED, WRONG_FILE, ACKNOWLEDGED, ACKNOWLEDGED_EARLY, ACKNOWLEDGED_NEVER})
"""Those whose root cause is two places; of all others, the second one is an example."""
