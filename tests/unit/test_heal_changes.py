"""Changing a pool and back: whatever cuts it short, undoing gives what was there before."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.errors import UsageError
from powercut.guard.log_folder import nobody_uses
from powercut.heal import changes
from powercut.heal.changes import change, undo
from powercut.heal.reversion import Patch

BEFORE = b"abcdefgh" * 8
PATCHES = [Patch(3, BEFORE[3:9], b"HEALED"), Patch(40, BEFORE[40:44], b"MORE")]


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    path = tmp_path / "pool"
    path.write_bytes(BEFORE)
    (tmp_path / "log").mkdir()
    return path


def cut_after(count: int) -> bytes:
    """The pool, when so many bytes of the patches have reached it."""
    content = bytearray(BEFORE)
    for offset, byte in [(patch.offset + i, byte) for patch in PATCHES for i, byte in enumerate(patch.new)][:count]:
        content[offset] = byte
    return bytes(content)


@pytest.mark.parametrize("count", range(11))
def test_healing_that_is_cut_short_is_undone(pool: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    def cut(path: Path, _: object) -> None:
        path.write_bytes(cut_after(count))
        raise KeyboardInterrupt

    log = pool.parent / "log"
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(changes, "apply", cut)
        change(log, pool, PATCHES)
    undo(log / "heal-1.json")
    assert pool.read_bytes() == BEFORE


def test_undoing_that_is_cut_short_is_done_again(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(path: Path, _: object) -> None:
        path.write_bytes(cut_after(5))
        raise KeyboardInterrupt

    way_back = change(pool.parent / "log", pool, PATCHES)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(changes, "apply", cut)
        undo(way_back)
    undo(way_back)
    assert pool.read_bytes() == BEFORE


def test_a_healing_is_undone_once(pool: Path) -> None:
    way_back = change(pool.parent / "log", pool, PATCHES)
    assert pool.read_bytes() == cut_after(10)
    undo(way_back)
    assert pool.read_bytes() == BEFORE
    with pytest.raises(UsageError) as raised:
        undo(way_back)
    assert raised.value.slug == "heal-undone"


def test_a_pool_that_changed_is_left_alone(pool: Path) -> None:
    way_back = change(pool.parent / "log", pool, PATCHES)
    changed = cut_after(9)
    pool.write_bytes(changed)
    with pytest.raises(UsageError) as raised:
        undo(way_back)
    assert raised.value.slug == "heal-changed"
    assert pool.read_bytes() == changed


def test_a_pool_that_a_program_uses_is_left_alone(pool: Path) -> None:
    way_back = change(pool.parent / "log", pool, PATCHES)
    with nobody_uses(pool), pytest.raises(UsageError) as raised:  # as PMDK locks what it opens
        undo(way_back)
    assert raised.value.slug == "pool-in-use"
    assert pool.read_bytes() == cut_after(10)
    pool.unlink()
    with pytest.raises(UsageError) as raised:
        undo(way_back)
    assert raised.value.slug == "pool-unwritable"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 9}', '{"version": 1, "pool": "p", "patches": [[-1]]}'])
def test_what_is_no_way_back_is_refused(pool: Path, text: str) -> None:
    file = pool.parent / "log" / "heal-1.json"
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        undo(file)
    assert raised.value.slug == "heal-undo"


def test_a_file_with_a_name_like_one_of_ours_is_in_nobodys_way(pool: Path) -> None:
    (pool.parent / "log" / "heal-old.json").write_text("mine")
    assert change(pool.parent / "log", pool, PATCHES).name == "heal-1.json"
