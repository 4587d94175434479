"""The image of a crash state: what the data folder would hold, read without building it.

Objects (files, folders, symbolic links) are numbered by the timeline; object 0 is the data folder itself. An image
answers questions about one state. `Images` gives those of many states, and says where two of them may differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, Protocol

from powercut.states.objects import Changes, ObjectKind
from powercut.states.state import State


class Image(Protocol):
    """The content of the data folder in one crash state."""

    def entries(self, folder: int) -> Mapping[bytes, int]:
        """All names in a folder and the objects they stand for."""

    def entry(self, folder: int, name: bytes) -> int | None:
        """The object a name stands for, or None."""

    def names_of(self, obj: int) -> Sequence[tuple[int, bytes]]:
        """All (folder, name) that stand for an object."""

    def kind(self, obj: int) -> ObjectKind:
        """What the object is."""

    def size(self, file: int) -> int:
        """The length of a file."""

    def read(self, file: int, offset: int, length: int) -> bytes:
        """Content of a file, cut off at its end; holes read as zeros."""

    def data_from(self, file: int, offset: int) -> int:
        """The first offset, from one on, at which there may be anything but zeros; beyond the end if there is none."""

    def patch(self, fd: int, file: int, blocks: set[int], end: int) -> None:
        """Write some blocks of a file into an open file, none beyond `end`."""

    def fill(self, fd: int, file: int, start: int, end: int) -> int:
        """Write what is not zero between two offsets into an open file that reads as zeros there; how far that went."""

    def mode(self, obj: int) -> int:
        """Permission bits (st_mode & 0o7777)."""

    def owner(self, obj: int) -> tuple[int, int]:
        """User and group."""

    def target(self, link: int) -> bytes:
        """Where a symbolic link points."""

    def xattrs(self, obj: int) -> Mapping[bytes, bytes]:
        """Extended attributes."""


class Below(Protocol):
    """What a trace has of the user's folder, where it does not have all of it.

    Attributes:
        hidden: names in the folder itself that nobody is shown.
    """

    @property
    def hidden(self) -> Sequence[bytes]: ...

    def names(self, folder: int) -> Mapping[bytes, int]:
        """The names in a folder, before the program, that the program touched, and what they stood for."""

    def is_open(self, obj: int) -> bool:
        """Whether something is a folder of the user's that may hold more; it has its place in every state."""


class Images(Protocol):
    """The images of many states, and what the program had told the outside by then: all that a worker needs.

    Attributes:
        below: what they need below them; None if they are all of the folder.
    """

    @property
    def below(self) -> Below | None: ...

    def image(self, state: State) -> Image:
        """The content of the data folder in a state."""

    def changes(self, before: State | None, after: State) -> Changes:
        """Where the images of two states may differ."""

    def changes_from(self, other: Any, before: State, after: State) -> Changes:
        """The same, where `before` is a state of another timeline of the same trace."""

    def acked(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        """What the program had printed by a point, but for some events."""

    def sent(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        """What the program had sent over sockets by a point, but for some events."""
