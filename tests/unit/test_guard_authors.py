"""Who made each word of a pool what it is: the C code agrees with a twin that keeps the rule in a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powercut import _engine
from powercut.guard.log import CHANGE
from powercut.guard.pieces import PIECE

WORD, SIZE = 8, 64
UNKNOWN, KNOWN, CHANGER, FREED = range(4)
Change = tuple[int, int, bytes, int, bool]  # offset, size, data, who, fill


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    """Few values, so that words often stay as they are."""
    found = []
    for _ in range(draw(st.integers(0, 12))):
        offset = draw(st.integers(0, SIZE - 1))
        size = draw(st.integers(1, SIZE + 8 - offset))
        fill = draw(st.booleans())
        data = draw(st.lists(st.sampled_from(b"\0\1"), min_size=1 if fill else size, max_size=1 if fill else size))
        found.append((offset, size, bytes(data), draw(st.integers(UNKNOWN, FREED)), fill))
    return found


def twin(given_changes: list[Change]) -> tuple[bytes, list[set[int]]]:
    """The image, and the bytes that each change is the author of."""
    image, known, made = bytearray(SIZE), [False] * (SIZE // WORD), []
    for offset, size, data, who, fill in given_changes:
        mine: set[int] = set()
        for word in range(offset // WORD, -(-min(offset + size, SIZE) // WORD)):
            inside = range(max(offset, word * WORD), min(offset + size, word * WORD + WORD, SIZE))
            new = bytes(data[0] if fill else data[at - offset] for at in inside)
            if who == FREED:
                known[word] = False
            elif new != image[inside.start : inside.stop] or (who == KNOWN and not known[word]):
                image[inside.start : inside.stop] = new
                known[word] = who != UNKNOWN
                mine |= set(inside)
        made.append(mine)
    return bytes(image), made


def replay(given_changes: list[Change]) -> tuple[bytes, list[set[int]]]:
    rows, content = np.zeros(len(given_changes), CHANGE), b""
    for row, (offset, size, data, who, fill) in zip(rows, given_changes, strict=True):
        row["offset"], row["size"], row["position"], row["who"], row["fill"] = offset, size, len(content), who, fill
        content += data
    rows["record"] = np.arange(len(rows))
    image, known = np.zeros(SIZE, np.uint8), np.zeros(SIZE // WORD, np.uint8)
    pieces = np.frombuffer(_engine.guard_authors(image, known, [content], rows.tobytes()), PIECE)
    made: list[set[int]] = [set() for _ in rows]
    for record, start, end in pieces.tolist():
        made[record] |= set(range(start, end))
    return image.tobytes(), made


@given(changes())
def test_it_agrees_with_its_twin(given_changes: list[Change]) -> None:
    assert replay(given_changes) == twin(given_changes)


def test_data_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="record 0 has no data"):
        replay([(0, 16, b"\1", KNOWN, False)])
