"""The baseline file: what is known keeps its reason, what is new is added, what is wrong is said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from powercut.errors import UsageError
from powercut.findings.baseline import UNEXPLAINED, Baseline, Known, unmarked


@dataclass
class Item:
    id: str
    kind: str = "redundant-flush"
    message: str = "a.c:3 flushes."
    known: str | None = None


def load(path: Path) -> Baseline:
    return Baseline.load(path, required=True)


def test_what_is_known_gets_its_reason(tmp_path: Path) -> None:
    baseline = Baseline(tmp_path / "b", [Known("aaaa", "on purpose")])
    items = [Item("aaaa"), Item("bbbb")]
    baseline.mark(items)
    assert [item.known for item in items] == ["on purpose", None]
    assert unmarked(items) == items[1:]


def test_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "b"
    odd = 'a "quoted" \\ name,\nin two lines\x07 with ü'
    path.write_text(Baseline(path, [Known("aaaa", odd)]).with_all([Item("bbbb", message=odd)]).text())
    items = [Item("aaaa"), Item("bbbb")]
    load(path).mark(items)
    assert items[0].known == 'a "quoted" \\ name,\ufffdin two lines\ufffd with ü'
    assert items[1].known == UNEXPLAINED


def test_reasons_that_are_there_stay(tmp_path: Path) -> None:
    baseline = Baseline(tmp_path / "b", [Known("aaaa", "on purpose", "ordering", "words")])
    items = [Item("aaaa")]
    baseline.with_all(items).mark(items)
    assert items[0].known == "on purpose"
    assert 'what = "words"' in baseline.with_all(items).text()


def test_only_ids_of_what_was_looked_for_are_missed(tmp_path: Path) -> None:
    entries = [Known("aaaa", "r", "ordering"), Known("bbbb", "r", "redundant-flush"), Known("cccc", "r")]
    baseline = Baseline(tmp_path / "b", entries)
    assert baseline.missing([], ["redundant-flush"]) == ["bbbb", "cccc"]
    assert baseline.missing([Item("bbbb"), Item("cccc")], ["redundant-flush"]) == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert Baseline.load(tmp_path / "b", required=False).missing([], ["ordering"]) == []
    with pytest.raises(UsageError, match=r"there is no baseline .*\[no-baseline\]"):
        load(tmp_path / "b")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("known = 3", "Expected `array`, got `int`"),
        ('[[known]]\nid = "a"', "missing required field `reason`"),
        ('[[known]]\nid = "a"\nreason = "b"\nreasons = "c"', "unknown field `reasons`"),
        ("[[known", "Expected"),
        (b"\xff", "invalid start byte"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: str | bytes, why: str) -> None:
    (tmp_path / "b").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        load(tmp_path / "b")
    assert why in str(caught.value)
    assert caught.value.slug == "bad-baseline"


def test_a_folder_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        load(tmp_path)
