"""The calls of a workload as lines of text: made on a real folder, and told as a trace.

A workload is a list of lines, each a call or, behind `~`, something that other programs or the kernel do and that the
program under test knows nothing of. The same lines are performed on a real file system (performer.py), told as a trace
like the one that powercut would have recorded (`Story`), and kept in the ledger.

  create P         mkdir P            rmdir P           unlink P           symlink TARGET P
  link P NEW       rename P NEW       exchange P Q      tmpfile T          linktmp T NEW
  write P AT N [append|sync|dsync|direct]               truncate P SIZE    chmod P MODE
  falloc P AT N [keep|punch|zero|zerokeep]              setxattr P NAME VALUE          delxattr P NAME
  store P AT N     msync P AT N       fsync P           fdatasync P        syncfs             sync
  ~writeback P AT N [wait]            ~commit           ~fsync
A path `.` is the data folder itself. Each write has a letter of its own: A for line 0, B for line 1 and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from powercut.trace.layout import Flag, Kind, MemoryKind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter

FALLOC_MODES = {"": 0, "keep": 1, "punch": 3, "zero": 16, "zerokeep": 17}
_WRITE_FLAGS = {"": 0, "append": Flag.APPEND, "sync": Flag.SYNC, "dsync": Flag.DSYNC, "direct": Flag.DIRECT}
BLOCK = 4096

# What the data folder holds before a workload: path -> content, None for a folder, a number for so many bytes that
# are allocated and were never written.
START: dict[str, bytes | int | None] = {
    "a": b"@" * 5000,
    "b": b"?" * 5000,
    "s": None,
    "s/e": b"!!!",
    "z": 3 * BLOCK,
}


class InvalidCall(Exception):
    """A call that would fail."""


def letter(number: int) -> bytes:
    """What line `number` of a workload writes."""
    return bytes([ord("A") + number % 26])


def is_background(line: str) -> bool:
    """Whether a line is nothing that the program does."""
    return line.startswith("~")


@dataclass
class Story:
    """A workload as powercut would have recorded it.

    Attributes:
        events: line -> the number of its event.
    """

    writer: TraceWriter = field(default_factory=TraceWriter)
    events: dict[int, int] = field(default_factory=dict)
    names: dict[tuple[int, str], int] = field(default_factory=dict)
    folders: set[int] = field(default_factory=lambda: {1})
    links: set[int] = field(default_factory=set)
    size: dict[int, int] = field(default_factory=dict)
    attributes: set[tuple[int, str]] = field(default_factory=set)
    unnamed: dict[str, int] = field(default_factory=dict)
    next: int = 2
    _next_event: int = 0

    def __post_init__(self) -> None:
        self._event(Kind.SNAP_DIR, inode=1, path=b"", extra=0o40755)
        for path, content in START.items():
            if content is None:
                self._event(Kind.SNAP_DIR, inode=self._new(path), path=path.encode(), extra=0o40755)
                self.folders.add(self.next - 1)
                continue
            inode = self._new(path)
            length = content if isinstance(content, int) else len(content)
            self.size[inode] = length
            self._event(Kind.SNAP_FILE, inode=inode, path=path.encode(), extra=0o100644, length=length)
            if isinstance(content, bytes):
                self._event(Kind.SNAP_DATA, inode=inode, data=content)

    def trace(self) -> Trace:
        """The trace of all that was told."""
        return self.writer.trace()

    def tell(self, number: int, line: str) -> None:
        """Tell a line; InvalidCall says that the call would fail."""
        if is_background(line):
            what, *words = line.split(" ")
            if words:
                self._file(words[0])
            return
        what, *words = line.split(" ")
        getattr(self, "_" + what)(number, *words)
        self.events[number] = self._next_event - 1

    def paths(self, folder: int = 1, prefix: str = "") -> dict[str, int]:
        """All paths of the moment and what they stand for."""
        found = {}
        for (parent, name), inode in sorted(self.names.items()):
            if parent == folder:
                found[prefix + name] = inode
                if inode in self.folders:
                    found |= self.paths(inode, prefix + name + "/")
        return found

    def _event(self, kind: Kind, **fields: object) -> None:
        self.writer.event(kind, **fields)  # type: ignore[arg-type]
        self._next_event += 1

    def _new(self, path: str) -> int:
        place = self._free(path)
        self.names[place] = self.next
        self.next += 1
        return self.next - 1

    def _place(self, path: str) -> tuple[int, str]:
        folder, (*parents, name) = 1, path.split("/")
        for part in parents:
            folder = self.names.get((folder, part), -1)
            if folder not in self.folders:
                raise InvalidCall(path)
        return folder, name

    def _free(self, path: str) -> tuple[int, str]:
        place = self._place(path)
        if place in self.names:
            raise InvalidCall(path)
        return place

    def _inode(self, path: str) -> int:
        if path == ".":
            return 1
        if path in self.unnamed:
            return self.unnamed[path]
        inode = self.names.get(self._place(path))
        if inode is None:
            raise InvalidCall(path)
        return inode

    def _entry(self, path: str) -> tuple[int, tuple[int, str]]:
        """What a name stands for, and where it is."""
        place = self._place(path)
        if place not in self.names:
            raise InvalidCall(path)
        return self.names[place], place

    def _file(self, path: str) -> int:
        inode = self._inode(path)
        if inode not in self.size:
            raise InvalidCall(path)
        return inode

    def _create(self, number: int, path: str) -> None:
        inode = self._new(path)
        self.size[inode] = 0
        self._event(Kind.CREATE, inode=inode, path=path.encode(), extra=0o100644)

    def _mkdir(self, number: int, path: str) -> None:
        inode = self._new(path)
        self.folders.add(inode)
        self._event(Kind.MKDIR, inode=inode, path=path.encode(), extra=0o40755)

    def _rmdir(self, number: int, path: str) -> None:
        inode, place = self._entry(path)
        if inode not in self.folders or any(parent == inode for parent, _ in self.names):
            raise InvalidCall(path)
        del self.names[place]
        self._event(Kind.RMDIR, inode=inode, path=path.encode())

    def _unlink(self, number: int, path: str) -> None:
        inode, place = self._entry(path)
        if inode in self.folders:
            raise InvalidCall(path)
        del self.names[place]
        self._event(Kind.UNLINK, inode=inode, path=path.encode())

    def _symlink(self, number: int, target: str, path: str) -> None:
        inode = self._new(path)
        self.links.add(inode)
        self._event(Kind.SYMLINK, inode=inode, path=path.encode(), data=target.encode(), extra=0o120777)

    def _link(self, number: int, old: str, new: str) -> None:
        inode, place = self._entry(old)[0], self._free(new)
        if inode in self.folders:
            raise InvalidCall(old)
        self.names[place] = inode
        self._event(Kind.LINK, inode=inode, path=old.encode(), path2=new.encode())

    def _rename(self, number: int, old: str, new: str) -> None:
        (inode, source), target = self._entry(old), self._place(new)
        replaced = self.names.get(target)
        is_folder = inode in self.folders
        if replaced == inode or (is_folder and (new + "/").startswith(old + "/")):
            raise InvalidCall(new)
        if replaced is not None and (replaced in self.folders or is_folder):
            empty = replaced in self.folders and is_folder and not any(p == replaced for p, _ in self.names)
            if not empty:
                raise InvalidCall(new)
        del self.names[source]
        self.names[target] = inode
        self._event(Kind.RENAME, inode=inode, path=old.encode(), path2=new.encode())

    def _exchange(self, number: int, old: str, new: str) -> None:
        (inode, source), (other, target) = self._entry(old), self._entry(new)
        if inode == other or old.startswith(new + "/") or new.startswith(old + "/"):
            raise InvalidCall(new)
        self.names[source], self.names[target] = other, inode
        self._event(Kind.RENAME, inode=inode, path=old.encode(), path2=new.encode(), flags=Flag.EXCHANGE)

    def _tmpfile(self, number: int, name: str) -> None:
        if name in self.unnamed or (1, name) in self.names:
            raise InvalidCall(name)
        inode = self.unnamed[name] = self.next
        self.next += 1
        self.size[inode] = 0
        self._event(Kind.CREATE, inode=inode, path=b"", extra=0o100644, flags=Flag.TMPFILE)

    def _linktmp(self, number: int, name: str, new: str) -> None:
        if name not in self.unnamed or self.unnamed[name] in self.names.values():
            raise InvalidCall(name)
        self.names[self._free(new)] = self.unnamed[name]
        self._event(Kind.LINK, inode=self.unnamed[name], path=b"", path2=new.encode())

    def _write(self, number: int, path: str, at: str, count: str, how: str = "") -> None:
        inode = self._file(path)
        if path in self.unnamed and how:
            raise InvalidCall(path)  # its one descriptor has no such flag
        if how == "direct" and (int(at) % BLOCK or int(count) % BLOCK):
            raise InvalidCall(path)
        start = self.size[inode] if how == "append" else int(at)
        self.size[inode] = max(self.size[inode], start + int(count))
        data, flags = letter(number) * int(count), _WRITE_FLAGS[how]
        self._event(Kind.WRITE, inode=inode, offset=start, data=data, flags=flags)

    def _truncate(self, number: int, path: str, size: str) -> None:
        inode = self._file(path)
        self.size[inode] = int(size)
        self._event(Kind.TRUNCATE, inode=inode, length=int(size))

    def _falloc(self, number: int, path: str, at: str, count: str, how: str = "") -> None:
        inode = self._file(path)
        if how in ("", "zero"):
            self.size[inode] = max(self.size[inode], int(at) + int(count))
        self._event(Kind.FALLOCATE, inode=inode, offset=int(at), length=int(count), extra=FALLOC_MODES[how])

    def _chmod(self, number: int, path: str, mode: str) -> None:
        if self._inode(path) in self.links or path in self.unnamed:
            raise InvalidCall(path)
        self._event(Kind.SETATTR, inode=self._inode(path), extra=int(mode, 8))

    def _setxattr(self, number: int, path: str, name: str, value: str) -> None:
        inode = self._inode(path)
        if inode in self.links or path in self.unnamed:
            raise InvalidCall(path)
        self.attributes.add((inode, name))
        self._event(Kind.SETXATTR, inode=inode, path=b"user." + name.encode(), data=value.encode())

    def _delxattr(self, number: int, path: str, name: str) -> None:
        inode = self._inode(path)
        if (inode, name) not in self.attributes or path in self.unnamed:
            raise InvalidCall(path)
        self.attributes.discard((inode, name))
        self._event(Kind.DELXATTR, inode=inode, path=b"user." + name.encode())

    def _store(self, number: int, path: str, at: str, count: str) -> None:
        inode = self._file(path)
        if int(at) + int(count) > self.size[inode] or int(at) // 8 != (int(at) + int(count) - 1) // 8:
            raise InvalidCall(path)
        value = int.from_bytes(letter(number) * int(count), "little")
        records = [(1, 0, 0, 0, MemoryKind.THREAD, 0), (inode, 0, 0, inode, MemoryKind.FILE, 0)]
        records.append((value, int(at), 0, inode, MemoryKind.STORE, int(count)))
        self.writer.memory(records)
        self._next_event += len(records)

    def _msync(self, number: int, path: str, at: str, count: str) -> None:
        inode = self._file(path)
        if int(at) >= self.size[inode]:
            raise InvalidCall(path)
        end = min(int(at) + int(count), self.size[inode])
        self._event(Kind.MSYNC, inode=inode, offset=int(at), length=end - int(at), extra=4)

    def _fsync(self, number: int, path: str) -> None:
        if self._inode(path) in self.links:
            raise InvalidCall(path)
        self._event(Kind.FSYNC, inode=self._inode(path))

    def _fdatasync(self, number: int, path: str) -> None:
        if self._inode(path) in self.links:
            raise InvalidCall(path)
        self._event(Kind.FDATASYNC, inode=self._inode(path))

    def _syncfs(self, number: int) -> None:
        self._event(Kind.SYNCFS)

    def _sync(self, number: int) -> None:
        self._event(Kind.SYNC)


def story_of(lines: list[str]) -> Story:
    """A whole workload, told."""
    story = Story()
    for number, line in enumerate(lines):
        story.tell(number, line)
    return story
