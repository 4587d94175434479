"""Where an observed image differs from that of a crash state: names, kinds, targets, modes, sizes, bytes, attributes.

Bytes that the model calls garbage differ from nothing. A folder that only one of them has is one difference, whatever
is in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from powercut.image.state_image import StateImage
from powercut.matching.observed import Node, ObservedImage, join
from powercut.matching.things import Things
from powercut.quick_dataclass import dataclass
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.tree import ROOT

_KINDS = {
    ObjectKind.FILE: "a file",
    ObjectKind.FOLDER: "a folder",
    ObjectKind.SYMLINK: "a symbolic link",
    ObjectKind.OTHER: "a special file",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One place in which an image is not what a state would have left.

    Attributes:
        path: of the file, folder or link.
        what: the difference in words; what was observed comes first.
        whole: whether it is the name, kind or target: all behind it differs, too.
        length: how many bytes differ, are missing, or are too many.
    """

    path: bytes
    what: str
    whole: bool = False
    length: int = 0


def differences(things: Things, state: State, image: ObservedImage) -> Iterator[Difference]:
    """Where an image differs from that of a state."""
    return _Comparison(things, StateImage(things.timeline, state), image).of_folder(b"", ROOT)


class _Comparison:
    def __init__(self, things: Things, wanted: StateImage, image: ObservedImage) -> None:
        self._things = things
        self._wanted = wanted
        self._image = image

    def of_folder(self, path: bytes, folder: int) -> Iterator[Difference]:
        yield from self._of_metadata(path, folder)
        wanted, found = self._wanted.entries(folder), set(self._image.names(path))
        for name in sorted({*wanted, *found}):
            inner = join(path, name)
            if name not in wanted:
                yield Difference(inner, f"{_KINDS[self._image.nodes[inner].kind]} that should not exist", True)
            elif name not in found:
                yield Difference(inner, f"missing; should be {_KINDS[self._wanted.kind(wanted[name])]}", True)
            else:
                yield from self._of_object(inner, wanted[name], self._image.nodes[inner])

    def _of_object(self, path: bytes, obj: int, node: Node) -> Iterator[Difference]:
        kind = self._wanted.kind(obj)
        if kind is not node.kind:
            yield Difference(path, f"{_KINDS[node.kind]} instead of {_KINDS[kind]}", True)
        elif kind is ObjectKind.FOLDER:
            yield from self.of_folder(path, obj)
        elif kind is ObjectKind.SYMLINK:
            if node.target != self._wanted.target(obj):
                wanted = _text(self._wanted.target(obj))
                yield Difference(path, f"points to {_text(node.target)} instead of {wanted}", True)
        else:
            yield from self._of_metadata(path, obj)
            if kind is ObjectKind.FILE:
                yield from self._of_content(path, obj, node)

    def _of_metadata(self, path: bytes, obj: int) -> Iterator[Difference]:
        node = self._image.nodes[path]
        if self._things.counts_mode(obj, node) and node.mode != self._wanted.mode(obj):
            yield Difference(path, f"mode {node.mode:04o} instead of {self._wanted.mode(obj):04o}")
        found = self._things.counted_attributes(obj, node)
        if found is not None:
            wanted = self._things.known_attributes(obj, self._wanted, found)
            for name in sorted({*wanted, *found}):
                if wanted.get(name) != found.get(name):
                    yield Difference(path, _of_attribute(name, found.get(name), wanted.get(name)))

    def _of_content(self, path: bytes, file: int, node: Node) -> Iterator[Difference]:
        size = self._wanted.size(file)
        if node.content.size != size:
            what = f"{node.content.size} bytes long instead of {size}"
            yield Difference(path, what, length=abs(node.content.size - size))
        survivors, issued = self._wanted.survivors, self._things.timeline.issued(self._wanted.state.point)
        for start, end in self._things.bytes_of(file).differing(node.content, survivors, issued):
            yield Difference(path, f"bytes {start} to {end} differ", length=end - start)


def _of_attribute(name: bytes, found: bytes | None, wanted: bytes | None) -> str:
    return f"attribute {_text(name)} {_value(found)} instead of {_value(wanted)}"


def _value(value: bytes | None) -> str:
    return "missing" if value is None else repr(value)[1:]


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
