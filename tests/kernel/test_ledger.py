"""Every state that a real kernel left is possible in its row, and in the weakest one. No root is needed for it."""

from __future__ import annotations

from functools import cache

import pytest

from powercut.model.filesystem import FILE_SYSTEMS, FileSystem, file_systems
from tests.kernel import ledger
from tests.kernel.calls import is_background, story_of
from tests.kernel.disks import KINDS
from tests.kernel.model import Model
from tests.kernel.notation import content_of, content_text
from tests.kernel.questions import QUESTIONS
from tests.kernel.rig import last_call, moment
from tests.kernel.wonder import allows

CLASSES = {"1", "2", "2c", "3", "3b", "3c", "3d", "4", "5", "6", "7", "7b", "8", "9", "10", "11"}


@cache
def told(row: FileSystem, lines: tuple[str, ...]) -> tuple[Model, dict[int, int]]:
    story = story_of(list(lines))
    return Model(story, row), dict(story.events)


def is_possible(row: FileSystem, lines: tuple[str, ...], line: int, returned: bool, image) -> bool:
    model, _ = told(row, lines)
    return model.possible(image, moment(story_of(list(lines)), line, returned)) is True


def page_cache(name: str) -> FileSystem:
    return file_systems(name, "page-cache")[0]


@pytest.mark.parametrize("fs", KINDS)
def test_what_a_kernel_left_is_possible_in_its_row_and_in_posix(fs: str) -> None:
    count = 0
    for kernel, row, lines, line, returned, image in ledger.tellings():
        if row == fs:
            count += 1
            for name in (fs, "posix"):
                assert is_possible(page_cache(name), lines, line, returned, image), (
                    kernel,
                    name,
                    lines,
                    line,
                    returned,
                )
    assert count > 20, "the ledger holds states of this file system"


def test_the_ledger_can_fail() -> None:
    """A row with data in its journal forbids much of what ext4-ordered was seen to leave."""
    wrong = page_cache("ext4-journal")
    assert not all(
        is_possible(wrong, lines, line, returned, image)
        for _, row, lines, line, returned, image in ledger.tellings()
        if row == "ext4-ordered"
    )


def test_each_class_was_seen() -> None:
    """The classes of states that the rules of old forbade: each was shown by a kernel, on some file system."""
    shown = {answer.question for answer in ledger.answers() if answer.shown}
    numbers = {
        name: text.rpartition("(")[2].rstrip(")") for name, text in ((q.name, q.text) for q in QUESTIONS.values())
    }
    seen = {number for name, number in numbers.items() if name in shown}
    assert seen >= CLASSES, CLASSES - seen


def test_every_question_was_asked_of_every_file_system() -> None:
    asked = {(answer.fs, answer.question) for answer in ledger.answers() if answer.images}
    assert asked >= {(fs, name) for fs in KINDS for name in QUESTIONS}


def test_every_recorded_file_system_is_a_row() -> None:
    assert set(KINDS) == set(FILE_SYSTEMS) - {"posix"}


def test_texts_of_states_can_be_read_back() -> None:
    for _, _, _, _, _, image in ledger.tellings():
        assert ledger.image_of(ledger.difference(image)) == image
    for content in (b"", b"\0" * 3, b"A" * 4096 + b"\0" + b"@x1"):
        assert content_of(content_text(content)) == content


def test_marks_of_what_happens_behind_the_program_count_for_the_call_before() -> None:
    lines = ("~commit", "create c", "~commit")
    assert [is_background(line) for line in lines] == [True, False, True]
    assert [last_call(lines, mark) for mark in range(6)] == [
        (-1, True),
        (-1, True),
        (1, False),
        (1, True),
        (1, True),
        (1, True),
    ]


def test_what_a_row_forbids_was_tried_and_never_shown() -> None:
    """A model that forbids an outcome has images behind it, and none of them shows it."""
    forbidden = 0
    for answer in ledger.answers():
        if not allows(page_cache(answer.fs), QUESTIONS[answer.question]):
            forbidden += 1
            assert answer.images and not answer.shown, (answer.kernel, answer.fs, answer.question)
    assert forbidden > 100


def test_random_workloads_left_nothing_that_their_rows_forbid() -> None:
    runs = {run.fs: run for run in ledger.runs() if run.workloads >= 1000}
    assert runs.keys() >= {"ext4-ordered", "ext4-journal", "xfs", "btrfs"}
    assert [run.fs for run in runs.values() if run.forbidden] == []
