"""What refers to an object becomes, if that was never made, what its maker replaced by it."""

from __future__ import annotations

from pathlib import Path

from powercut.guard.history import History
from powercut.guard.log import RecordKind
from powercut.heal.dependents import dependents
from powercut.heal.references import References
from tests.guard_kit import Made, history_of, start_of_log, write_segment

HEAD, SIZE = 64, 32
FIRST, SECOND, THIRD, FOURTH = (1024 + 64 * i for i in range(4))


def word(value: int) -> bytes:
    return value.to_bytes(8, "little")


def push(sequence: int, place: int, following: int, number: int) -> list[Made]:
    """A transaction that puts an object, whose first word is its link, before all others."""
    return [
        Made(sequence, RecordKind.ALLOCATE, place, bytes(SIZE), 0x10, number),
        Made(sequence + 1, RecordKind.UPDATE, place, word(following) + b"x" * 8, 0x11, number),
        Made(sequence + 2, RecordKind.UPDATE, HEAD, word(place), 0x12, number),
        Made(sequence + 3, RecordKind.COMMIT, 0, b"", transaction=number),
    ]


def listed(folder: Path, *more: Made) -> History:
    """Four objects, each linked to the one that was made before."""
    base, made = bytes(4096), []
    for index, place in enumerate((FIRST, SECOND, THIRD, FOURTH)):
        made += push(10 * (index + 1), place, place - 64 if index else 0, 100 + index)
    write_segment(folder, 1, [*start_of_log(folder, base), *made, *more])
    content = bytearray(base)
    for record in [*made, *more]:
        if record.kind == RecordKind.UPDATE:
            content[record.offset : record.offset + len(record.data)] = record.data
    (folder / "pool").write_bytes(bytes(content))
    return history_of(folder)


def made_by(history: History, number: int) -> frozenset[int]:
    own = history.log.records["transaction"][history.changes] == number
    return frozenset(history.changes[own].tolist())


def test_the_entry_before_one_that_was_never_made_leads_to_the_one_behind(tmp_path: Path) -> None:
    history = listed(tmp_path)
    patches = References(history).relinked(made_by(history, 102))
    assert [(patch.offset, patch.new) for patch in patches] == [(FOURTH, word(SECOND))]
    assert not dependents(history, made_by(history, 102)), "nothing else has to go"


def test_of_several_all_are_passed_over(tmp_path: Path) -> None:
    history = listed(tmp_path)
    patches = References(history).relinked(made_by(history, 101) | made_by(history, 102))
    assert [(patch.offset, patch.new) for patch in patches] == [(FOURTH, word(FIRST))]


def test_the_first_one_leaves_its_own_word_to_undoing(tmp_path: Path) -> None:
    history = listed(tmp_path)
    assert References(history).relinked(made_by(history, 103)) == []


def test_a_reference_of_which_nobody_knows_what_it_would_be_goes_with_the_object(tmp_path: Path) -> None:
    """The object was put into two words that held different links, and another one was copied from neither."""
    two = [
        Made(90, RecordKind.ALLOCATE, 2048, bytes(SIZE), 0x20, 200),
        Made(91, RecordKind.UPDATE, HEAD + 8, word(2048), 0x21, 200),
        Made(92, RecordKind.UPDATE, HEAD, word(2048), 0x22, 200),
        Made(93, RecordKind.UPDATE, HEAD + 64, word(2048), 0x23, 201),
    ]
    history = listed(tmp_path, *two)
    assert References(history).relinked(made_by(history, 200)) == []
    assert dependents(history, made_by(history, 200)) == made_by(history, 201)


def test_behind_the_end_of_a_list_later_ones_stay_linked(tmp_path: Path) -> None:
    """Objects that are added at the end: the one before leads to the one behind, with the number of the pool."""
    number, made = 0x1234, []
    for index, place in enumerate((FIRST, SECOND, THIRD, FOURTH)):
        end = place - 64 if index else HEAD
        made += [
            Made(10 * index + 10, RecordKind.ALLOCATE, place, bytes(SIZE), 0x10, 100 + index),
            Made(10 * index + 11, RecordKind.UPDATE, end, word(number) + word(place), 0x12, 100 + index),
        ]
    write_segment(tmp_path, 1, [*start_of_log(tmp_path, bytes(4096)), *made])
    content = bytearray(4096)
    for record in made[1::2]:
        content[record.offset : record.offset + 16] = record.data
    (tmp_path / "pool").write_bytes(bytes(content))
    history = history_of(tmp_path)
    taken = made_by(history, 101) | made_by(history, 102)
    patches = References(history).relinked(taken)
    assert sorted((patch.offset, patch.new) for patch in patches if patch.offset < SECOND) == [
        (FIRST, word(number)),
        (FIRST + 8, word(FOURTH)),
    ]
    last = References(history).relinked(made_by(history, 103))
    assert last == [], "the last one has nothing behind it"
