"""Images and timelines that are simply written down, for tests of what is built from them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from powercut.states.objects import BLOCK, Changes, ObjectKind
from powercut.states.state import Base, State

FILE, FOLDER, SYMLINK, OTHER = ObjectKind.FILE, ObjectKind.FOLDER, ObjectKind.SYMLINK, ObjectKind.OTHER


@dataclass
class Thing:
    kind: ObjectKind
    content: bytes = b""
    mode: int = 0o644
    target: bytes = b""
    xattrs: dict[bytes, bytes] = field(default_factory=dict)
    entries: dict[bytes, int] = field(default_factory=dict)


class PlainImage:
    """An image that is simply written down."""

    def __init__(self) -> None:
        self.things: dict[int, Thing] = {0: Thing(FOLDER, mode=0o755)}

    def entries(self, folder: int) -> Mapping[bytes, int]:
        return self.things[folder].entries if folder in self.things else {}

    def entry(self, folder: int, name: bytes) -> int | None:
        return self.entries(folder).get(name)

    def names_of(self, obj: int) -> list[tuple[int, bytes]]:
        return [
            (folder, name) for folder, thing in self.things.items() for name, o in thing.entries.items() if o == obj
        ]

    def kind(self, obj: int) -> ObjectKind:
        return self.things[obj].kind

    def size(self, file: int) -> int:
        return len(self.things[file].content) if file in self.things else 0

    def read(self, file: int, offset: int, length: int) -> bytes:
        return self.things[file].content[offset : offset + length]

    def data_from(self, file: int, offset: int) -> int:
        content = self.things[file].content
        rest = content[offset:].lstrip(b"\0")
        return len(content) - len(rest) if rest else 1 << 60

    def patch(self, fd: int, file: int, blocks: set[int], end: int) -> None:
        for block in blocks:
            os.pwrite(fd, self.things[file].content[block * BLOCK : min(block * BLOCK + BLOCK, end)], block * BLOCK)

    def fill(self, fd: int, file: int, start: int, end: int) -> int:
        content = self.things[file].content
        for offset in range(start, end, BLOCK):
            piece = content[offset : min(offset + BLOCK, end)]
            if piece.strip(b"\0"):
                os.pwrite(fd, piece, offset)
        return start  # the caller gives the file its length

    def mode(self, obj: int) -> int:
        return self.things[obj].mode

    def target(self, link: int) -> bytes:
        return self.things[link].target

    def xattrs(self, obj: int) -> Mapping[bytes, bytes]:
        return self.things[obj].xattrs

    def owner(self, obj: int) -> tuple[int, int]:
        return os.geteuid(), os.getegid()

    def add(self, obj: int, parent: int, name: bytes, **what: object) -> Thing:
        thing = self.things[obj] = Thing(**what)  # type: ignore[arg-type]
        self.things[parent].entries[name] = obj
        return thing

    def reachable(self, folder: int = 0, path: bytes = b"") -> Iterator[tuple[bytes, int]]:
        for name, obj in self.things[folder].entries.items():
            kind = self.things[obj].kind
            if kind is not OTHER:
                yield path + name, obj
            if kind is FOLDER:
                yield from self.reachable(obj, path + name + b"/")


class PlainTimeline:
    """States are numbers of written-down images; changes are found by comparing, or everything is said to change."""

    below = None

    def __init__(self, images: list[PlainImage], superset: bool = False) -> None:
        self.images = images
        self.superset = superset

    def image(self, state: State) -> PlainImage:
        return self.images[state.point]

    def acked(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        return b"acked %d" % point

    def sent(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        return b"sent %d" % point

    def changes(self, before: State | None, after: State) -> Changes:
        return self._between(
            self.images[before.point] if before is not None else PlainImage(), self.images[after.point]
        )

    def changes_from(self, other: PlainTimeline, before: State, after: State) -> Changes:
        return self._between(other.images[before.point], self.images[after.point])

    def _between(self, old: PlainImage, new: PlainImage) -> Changes:
        changes = Changes()
        for obj in old.things.keys() | new.things.keys():
            a, b = old.things.get(obj, Thing(FILE)), new.things.get(obj, Thing(FILE))
            for name in a.entries.keys() | b.entries.keys():
                if self.superset or a.entries.get(name) != b.entries.get(name):
                    changes.entries.add((obj, name))
            if self.superset:
                changes.meta.add(obj)
                changes.blocks[obj] = None
                continue
            if (a.mode, len(a.content), a.xattrs) != (b.mode, len(b.content), b.xattrs):
                changes.meta.add(obj)
            shared = min(len(a.content), len(b.content))  # what is cut off or added is the size's business
            differing = {
                start // BLOCK
                for start in range(0, shared, BLOCK)
                if a.content[start : min(start + BLOCK, shared)] != b.content[start : min(start + BLOCK, shared)]
            }
            if differing:
                changes.blocks[obj] = differing
        return changes


def state(number: int) -> State:
    return State(number, Base.ISSUED, frozenset())
