"""Records that a thread wrote at once, in a group, are read like others; of one that is damaged none is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.guard.log import CHANGES, GuardLog, RecordKind
from tests.guard_kit import POOLLESS, Made, group_of, start_of_log, write_segment

FIRST = 100
KINDS = (*CHANGES, RecordKind.ALLOCATE, RecordKind.FREE, RecordKind.COMMIT)
MEMBERS = st.lists(
    st.builds(
        Made,
        st.just(0),
        st.sampled_from(KINDS),
        st.sampled_from((0, 8, 1 << 40)),
        st.binary(min_size=1, max_size=90),
        st.sampled_from((0, 0x1000)),
        st.sampled_from((0, 7, 9)),
        st.just(5),
        st.just(3),
    ),
    min_size=1,
    max_size=12,
)


def as_written(made: Made) -> Made:
    """Fills have one byte many times; what has no data has as many bytes as it says."""
    same = made.data[:1] * len(made.data) if made.kind == RecordKind.FILL else made.data
    return replace(made, data=same if made.kind in CHANGES else bytes(len(made.data)))


def read(folder: Path) -> list[Made]:
    log = GuardLog(folder)
    found = []
    for index, row in enumerate(log.records):
        kind = RecordKind(row["kind"])
        data = log.data(index) if kind in CHANGES else bytes(row["size"])
        numbers = (int(row[name]) for name in ("site", "transaction", "time", "thread"))
        assert log.pool_of[index] == (0 if kind in POOLLESS else 1)
        found.append(Made(int(row["sequence"]), kind, int(row["offset"]), data, *numbers))
    return [made for made in found if made.sequence >= FIRST]


@settings(max_examples=200, deadline=None)
@given(MEMBERS, MEMBERS)
def test_members_are_read_as_records(one: list[Made], two: list[Made]) -> None:
    one = [replace(made, sequence=FIRST + i) for i, made in enumerate(one)]
    two = [replace(made, sequence=FIRST + len(one) + i) for i, made in enumerate(two)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_segment(folder, 1, start_of_log(folder, bytes(64)))
        with (folder / "1.segment").open("ab") as file:
            file.write(group_of(one) + bytes(64) + group_of(two))
        assert read(folder) == [as_written(made) for made in one + two]


@pytest.mark.parametrize("at", [0, 3, 5, 20, 47, 50, 60, 90, 111])
def test_of_a_damaged_group_no_member_counts(tmp_path: Path, at: int) -> None:
    members = [Made(FIRST + i, RecordKind.UPDATE, 8 * i, bytes([i + 1]) * 8, 0x1000) for i in range(3)]
    whole = group_of(members)
    assert len(whole) == 128, "112 bytes, and zeros"
    write_segment(tmp_path, 1, start_of_log(tmp_path, bytes(64)))
    start = (tmp_path / "1.segment").read_bytes()
    (tmp_path / "1.segment").write_bytes(start + whole)
    assert read(tmp_path) == members
    (tmp_path / "1.segment").write_bytes(start + whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert read(tmp_path) == []
