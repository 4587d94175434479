"""What a check can ask of an image, and what the image of a state answers, without building it.

A question names a place by its path in the image as it was before the check ran. Answers are digests: two images that
give the same answer hold the same there. An answer tells at least as much as the check could have learned, so a check
that is told the same everywhere it looked cannot tell the two images apart.

Not asked, because images do not model it: times, inode and block numbers, the order of a listing, the size of a folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from struct import Struct

from xxhash import xxh3_128_digest

from powercut.image.image import Image
from powercut.states.objects import ObjectKind
from powercut.states.tree import ROOT

ABSENT = b""
TO_THE_END = (1 << 63) - 1  # as a length
PAGE, WORD = 4096, 8  # bytes
MOST_BYTES = 64 << 20  # that one question may be about
_FACTS = Struct("<2q")
_SIZE = Struct("<q")


class Ask(IntEnum):
    """What a question is about."""

    NAME = 1  # whether something is there, what, and who may use it
    DATA = 2  # bytes of a file, and its end if that lies among them
    FACTS = 3  # size and number of names
    LIST = 4  # the names in a folder and their kinds
    ATTRIBUTES = 5
    PRINTED = 6  # what the program had printed
    SENT = 7
    WORDS = 8  # words of 8 bytes of one page, those whose bits are set in what is a length elsewhere; no end


Question = tuple[int, bytes, int, int]  # Ask, path, offset, length or bits
Answer = bytes
Asked = list[tuple[Question, Answer]]


class UndecidableError(Exception):
    """An image of which it cannot be told what a folder on disk would show."""


class Answers:
    """The answers of one image. Each question is answered once."""

    def __init__(self, image: Image, words: Mapping[int, bytes]) -> None:
        """`words`: the answers to PRINTED and SENT."""
        self._image = image
        self._words = words
        self._objects: dict[bytes, int | None] = {b"": ROOT}
        self._known: dict[Question, Answer] = {}

    def __call__(self, question: Question) -> Answer:
        """What the image holds there."""
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = self._find(question)
        return answer

    def object_at(self, path: bytes) -> int | None:
        """What a path stands for; links are not followed."""
        if path not in self._objects:
            above, _, name = path.rpartition(b"/")
            folder = self.object_at(above)
            found = None
            if folder is not None and self._image.kind(folder) is ObjectKind.FOLDER:
                found = self._image.entry(folder, name)
            self._objects[path] = found if found is None or self._is_built(found) else None
        return self._objects[path]

    def _find(self, question: Question) -> Answer:
        ask, path, offset, length = question
        if ask in self._words:
            return self._words[ask]
        obj = self.object_at(path)
        if obj is None:
            return ABSENT
        if ask == Ask.NAME:
            return self._name(obj)
        if ask == Ask.DATA:
            return self._data(obj, offset, length)
        if ask == Ask.WORDS:
            return self._words_of(obj, offset, length)
        if ask == Ask.FACTS:
            return self._facts(obj)
        if ask == Ask.LIST:
            return self._list(obj)
        return b"a" + _mapping(self._image.xattrs(obj))

    def _is_built(self, obj: int) -> bool:
        """Whether an object with a name is on disk, too. A folder can only stand under one name."""
        kind = self._image.kind(obj)
        if kind is ObjectKind.FOLDER and len(self._image.names_of(obj)) != 1:
            raise UndecidableError
        return kind is not ObjectKind.OTHER

    def _name(self, obj: int) -> Answer:
        image, kind = self._image, self._image.kind(obj)
        told = _FACTS.pack(kind, image.mode(obj))
        if kind is ObjectKind.SYMLINK:
            told += image.target(obj) + b"\0"
        attributes = image.xattrs(obj)  # access lists may be among them
        if attributes:
            told += _mapping(attributes)
        names = () if kind is ObjectKind.FOLDER else self._visible_names(obj)
        if len(names) > 1:  # by which other names it can be changed
            told += xxh3_128_digest(repr(sorted(names)).encode())
        return told

    def _visible_names(self, obj: int) -> Sequence[tuple[int, bytes]]:
        names = self._image.names_of(obj)
        return names if len(names) == 1 else [place for place in names if self._is_reachable(place[0])]

    def _is_reachable(self, folder: int) -> bool:
        passed: set[int] = set()
        while folder != ROOT:
            names = self._image.names_of(folder)
            if len(names) > 1:
                raise UndecidableError
            if not names or folder in passed:
                return False
            passed.add(folder)
            folder = names[0][0]
        return True

    def _data(self, obj: int, offset: int, length: int) -> Answer:
        if self._image.kind(obj) is not ObjectKind.FILE:
            return ABSENT
        size = self._image.size(obj)
        whole = offset + length <= size
        length = length if whole else max(0, size - offset)
        if length > MOST_BYTES:
            raise UndecidableError
        return xxh3_128_digest(self._image.read(obj, offset, length)) + _SIZE.pack(length) + (b"" if whole else b"e")

    def _words_of(self, obj: int, offset: int, bits: int) -> Answer:
        """Behind its end, a file is zero to the end of its last page, and has no pages."""
        if self._image.kind(obj) is not ObjectKind.FILE or self._image.size(obj) <= offset:
            return ABSENT
        page = self._image.read(obj, offset, PAGE).ljust(PAGE, b"\0")
        return xxh3_128_digest(b"".join(page[start:end] for start, end in _runs(bits)))

    def _facts(self, obj: int) -> Answer:
        kind = self._image.kind(obj)
        if kind is ObjectKind.FILE:
            return _FACTS.pack(self._image.size(obj), len(self._visible_names(obj)))
        if kind is ObjectKind.FOLDER:  # it has as many more names as folders in it
            inside = self._image.entries(obj).values()
            return _SIZE.pack(sum(self._image.kind(o) is ObjectKind.FOLDER and self._is_built(o) for o in inside))
        return b"l"

    def _list(self, obj: int) -> Answer:
        if self._image.kind(obj) is not ObjectKind.FOLDER:
            return ABSENT
        entries = self._image.entries(obj)
        found = [(name, int(self._image.kind(o))) for name, o in entries.items() if self._is_built(o)]
        return xxh3_128_digest(repr(sorted(found)).encode())


@lru_cache(maxsize=4096)
def _runs(bits: int) -> list[tuple[int, int]]:
    """The bytes of the words whose bits are set: where each run starts and ends."""
    runs: list[tuple[int, int]] = []
    for word in range(PAGE // WORD):
        if bits >> word & 1:
            joins = bool(runs) and runs[-1][1] == word * WORD
            runs[-1:] = [(runs[-1][0], (word + 1) * WORD)] if joins else [*runs[-1:], (word * WORD, (word + 1) * WORD)]
    return runs


def _mapping(attributes: Mapping[bytes, bytes]) -> bytes:
    return xxh3_128_digest(repr(sorted(attributes.items())).encode())
