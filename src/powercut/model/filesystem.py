"""File-system models as data: one row says what a file system promises about a power cut.

A row answers the questions of docs/models.md; `states/rules.py` turns the answers into order between updates and into
guarantees. A new file system is a new row here, not new code. The default is a
group of rows: the file systems that most Linux machines run. `posix` promises as little as the standard does.

Every answer of a row weakens or strengthens the model on its own, so that what-if rows (`replace`) are easy to make.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from powercut.errors import UsageError, suggestion
from powercut.model.memory import AUTO, Memory, memory
from powercut.quick_dataclass import dataclass

BLOCK = 4096  # what the page cache writes back in one piece
SECTOR = 512  # what a disk writes in one piece


class Exposed(Enum):
    """What a reader finds where a file's new size survived and the data did not."""

    NOTHING = "nothing"  # the size never outruns its data
    ZEROS = "zeros"
    GARBAGE = "garbage"  # old disk content


class Truncate(Enum):
    """The steps in which a file is cut off, or a hole is made in it."""

    AT_ONCE = "at once"
    ZEROED_EARLY = "zeroed early"  # what is cut off of the last block may be zeros before the file is cut
    ZEROED_APART = "zeroed apart"  # or only long after it
    FREED_APART = "freed apart"  # and the blocks behind may still be there after it


class Rename(Enum):
    """Whether the new name comes and the old one goes in one step."""

    ATOMIC = "atomic"
    ATOMIC_IN_FOLDER = "atomic in folder"  # from one folder to another, the new name comes first
    SPLIT = "split"  # in any order


class Datasync(Enum):
    """What fdatasync makes durable beside data, sizes and truncates."""

    NOTHING = "nothing"
    CREATION = "creation"  # the name with which the file was made
    EVERYTHING = "everything"  # all that fsync does


@dataclass(frozen=True, slots=True)
class FileSystem:
    """What one file system promises.

    Attributes:
        name: as given to --fs.
        journal: changes of names, sizes by truncate, modes and attributes persist in program order.
        data_in_journal: file data goes through the journal too, in program order with everything else.
        size_in_journal: so does a size that a write grows, at once; otherwise it waits until the data is written back.
        sync_persists_names: a sync of a file or folder makes its own names durable.
        datasync: what fdatasync does beside its task.
        sync_flushes: sync and syncfs empty the disk's cache even if there is nothing to be journalled; otherwise they
            leave data there that was written over old data.
        rename: the steps of a rename.
        new_blocks_first: a size that comes with a new block waits for the data in it.
        truncate: the steps of a truncate.
        freed_before_data: data never persists in a block that was freed before the truncate or hole that freed it.
        allocation_in_journal: a size grown by fallocate is a journalled change.
        exposed: what shows where a size survived without its data.
        piece: bytes of file data that persist as one.
        memory: what mapped memory promises (model/memory.py); for each file what fits it, if it is AUTO.
    """

    name: str
    journal: bool
    sync_persists_names: bool
    data_in_journal: bool = False
    size_in_journal: bool = False
    datasync: Datasync = Datasync.NOTHING
    sync_flushes: bool = True
    rename: Rename = Rename.ATOMIC
    new_blocks_first: bool = False
    truncate: Truncate = Truncate.ZEROED_APART
    freed_before_data: bool = True
    allocation_in_journal: bool = True
    exposed: Exposed = Exposed.ZEROS
    piece: int = BLOCK
    memory: Memory = AUTO

    def torn(self, piece: int = SECTOR) -> FileSystem:
        """The same file system on a disk that tears blocks into smaller pieces."""
        return replace(self, piece=min(piece, self.piece))


_EXT4 = FileSystem(
    name="ext4-ordered",
    journal=True,
    sync_persists_names=True,
    datasync=Datasync.CREATION,
    truncate=Truncate.ZEROED_EARLY,
)

FILE_SYSTEMS: dict[str, FileSystem] = {
    row.name: row
    for row in (
        _EXT4,
        replace(_EXT4, name="ext4-writeback", exposed=Exposed.GARBAGE, truncate=Truncate.ZEROED_APART),
        replace(
            _EXT4,
            name="ext4-journal",
            data_in_journal=True,
            size_in_journal=True,
            exposed=Exposed.NOTHING,
            truncate=Truncate.AT_ONCE,
        ),
        replace(_EXT4, name="ext4-nodelalloc", size_in_journal=True, new_blocks_first=True),
        replace(_EXT4, name="ext4-noauto_da_alloc"),  # which changes how often a state is left, not which ones
        FileSystem(
            name="xfs", journal=True, sync_persists_names=True, datasync=Datasync.EVERYTHING, sync_flushes=False
        ),
        FileSystem(
            name="btrfs",
            journal=False,
            sync_persists_names=True,
            datasync=Datasync.EVERYTHING,
            rename=Rename.ATOMIC_IN_FOLDER,
            truncate=Truncate.FREED_APART,
            allocation_in_journal=False,
        ),
        FileSystem(
            name="posix",
            journal=False,
            sync_persists_names=False,
            sync_flushes=False,
            rename=Rename.SPLIT,
            truncate=Truncate.FREED_APART,
            freed_before_data=False,
            allocation_in_journal=False,
            exposed=Exposed.GARBAGE,
        ),
    )
}
# Names that stand for several rows: the file systems that people run, with their defaults; and every row there is.
GROUPS: dict[str, tuple[str, ...]] = {"linux": ("ext4-ordered", "xfs", "btrfs"), "all": tuple(FILE_SYSTEMS)}
DEFAULT = "linux"
ONE_ROW = FILE_SYSTEMS[GROUPS[DEFAULT][0]]  # where one row must do, because all would say the same


def file_systems(names: str, memory_name: str = AUTO.name) -> list[FileSystem]:
    """The rows for a --fs value (rows and groups, with commas), with the memory of a --memory value."""
    mapped = memory(memory_name)
    rows: dict[str, FileSystem] = {}
    for name in (part.strip() for part in names.split(",")):
        if name not in FILE_SYSTEMS and name not in GROUPS:
            hint = suggestion(name, [*FILE_SYSTEMS, *GROUPS])
            raise UsageError("unknown-fs", f"unknown file-system model {name!r}.", hint)
        for member in GROUPS.get(name, (name,)):
            rows.setdefault(member, replace(FILE_SYSTEMS[member], memory=mapped))
    return list(rows.values())


# What says how updates follow each other, and nothing of syncs.
_OF_ORDER = ("rename", "new_blocks_first", "truncate", "freed_before_data", "allocation_in_journal", "exposed")


def sync_alike(one: FileSystem, other: FileSystem) -> bool:
    """Whether a sync guarantees the same on two rows wherever the same updates are in the same order."""
    same = {name: getattr(one, name) for name in ("name", "piece", *_OF_ORDER)}
    return replace(other, **same) == one
