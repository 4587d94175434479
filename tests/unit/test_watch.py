"""The watch tells which names were touched, by whom ever, and forgets what was taken."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from powercut.image.inotify import Watch


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    watch = Watch()
    watch.add(7, os.fsencode(tmp_path))
    yield watch
    watch.close()


def test_quiet_folders_are_clean(watch: Watch, tmp_path: Path) -> None:
    list(tmp_path.iterdir())
    assert not watch.take()


def test_every_kind_of_change_is_told(watch: Watch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0" * 10000)
    assert watch.take().names == {7: {b"file"}}
    os.truncate(file, 5)
    assert watch.take().names == {7: {b"file"}}
    file.chmod(0o600)
    assert watch.take().names == {7: {b"file"}}
    file.rename(tmp_path / "other")
    assert watch.take().names == {7: {b"file", b"other"}}
    (tmp_path / "other").unlink()
    assert watch.take().names == {7: {b"other"}}
    tmp_path.chmod(0o700)
    assert watch.take().folders == {7}
    assert not watch.take()


def test_stores_through_a_mapping_show_when_it_is_closed(watch: Watch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0" * 10000)
    with open(file, "r+b") as opened:
        memory = mmap.mmap(opened.fileno(), 0)
    watch.take()
    memory[5000] = 1
    memory.close()
    assert watch.take().names == {7: {b"file"}}


def test_a_folder_is_followed_where_it_goes(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    watch.add(8, os.fsencode(tmp_path / "sub"))
    (tmp_path / "sub").rename(tmp_path / "moved")
    watch.take()
    (tmp_path / "moved" / "x").touch()
    assert watch.take().names == {8: {b"x"}}
    (tmp_path / "moved" / "x").unlink()
    (tmp_path / "moved").rmdir()
    assert watch.take().gone == {8}


def test_a_forgotten_folder_is_not_told_about(watch: Watch, tmp_path: Path) -> None:
    watch.remove(7)
    (tmp_path / "x").touch()
    assert not watch.take()


def test_collecting_keeps_a_flood_from_being_lost(watch: Watch, tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(limit // 2):
        (tmp_path / str(number % 10)).touch()
        if number % 1000 == 0:
            watch.collect()
    dirt = watch.take()
    assert not dirt.overflow
    assert len(dirt.names[7]) == 10


def test_a_flood_is_known_to_have_been_one(watch: Watch, tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(limit):
        (tmp_path / str(number % 10)).touch()
    assert watch.take().overflow


def test_own_changes_are_told_from_others(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "ours").touch()
    (tmp_path / "theirs").touch()
    assert watch.take({(7, b"ours")}).names == {7: {b"theirs"}}
