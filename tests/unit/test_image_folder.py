"""The folder on disk equals the image, whatever the path through the states and whatever a check did in between."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import random
import shutil
import stat
import sys
import tempfile
import traceback
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.image import content as content_module
from powercut.image import folder as folder_module
from powercut.image.folder import ImageFolder
from powercut.image.inotify import Watch, WatchLimit
from powercut.image.scratch import ScratchError
from powercut.states.objects import BLOCK
from powercut.states.state import State
from tests.unit.plain_images import FILE, FOLDER, OTHER, SYMLINK, PlainImage, PlainTimeline, Thing, state


def found(root: Path) -> dict[bytes, tuple[object, ...]]:
    """What is on disk, by path."""
    everything: dict[bytes, tuple[object, ...]] = {}
    base = os.fsencode(root)
    waiting = [base]
    while waiting:
        folder = waiting.pop()
        for name in os.listdir(folder):
            path = folder + b"/" + name
            status = os.lstat(path)
            key = path[len(base) + 1 :]
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                everything[key] = ("link", os.readlink(path), status.st_nlink)
            elif stat.S_ISDIR(status.st_mode):
                everything[key] = ("folder", mode)
                waiting.append(path)
            else:
                xattrs = {os.fsencode(n): os.getxattr(path, n) for n in os.listxattr(path)}
                with open(path, "rb") as file:
                    everything[key] = ("file", file.read(), mode, xattrs, status.st_nlink)
    return everything


def expected(image: PlainImage) -> dict[bytes, tuple[object, ...]]:
    reachable = list(image.reachable())
    links: dict[int, int] = {}
    for _, obj in reachable:
        links[obj] = links.get(obj, 0) + 1
    everything: dict[bytes, tuple[object, ...]] = {}
    for path, obj in reachable:
        thing = image.things[obj]
        if thing.kind is SYMLINK:
            everything[path] = ("link", thing.target, links[obj])
        elif thing.kind is FOLDER:
            everything[path] = ("folder", thing.mode)
        else:
            everything[path] = ("file", thing.content, thing.mode, thing.xattrs, links[obj])
    return everything


# Random images: a little file system that is changed step by step and written down after each


def random_content(rng: random.Random) -> bytes:
    size = rng.choice([0, 1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 17])
    return bytes(size) if rng.random() < 0.2 else rng.randbytes(size)


def change(image: PlainImage, rng: random.Random, number: int) -> None:
    """One random change, of the kinds a file system knows and some that only a crash leaves."""
    things = image.things
    folders = [o for o, t in things.items() if t.kind is FOLDER]
    files = [o for o, t in things.items() if t.kind is FILE]
    parent = things[rng.choice(folders)]
    name = rng.choice([b"a", b"b", b"c", b"d", b"\xff\xfe", b"with space"])
    action = rng.randrange(12)
    if action <= 1:
        thing = things[number] = Thing(FILE, random_content(rng), rng.choice([0o644, 0o600, 0o444, 0o000, 0o4755]))
        if rng.random() < 0.3:
            thing.xattrs[b"user.x"] = rng.randbytes(3)
        parent.entries[name] = number
    elif action == 2:
        things[number] = Thing(FOLDER, mode=rng.choice([0o755, 0o700, 0o555, 0o000]))
        parent.entries[name] = number
    elif action == 3:
        things[number] = Thing(SYMLINK, target=rng.choice([b"a", b"/nowhere", b"../b"]))
        parent.entries[name] = number
    elif action == 4:
        parent.entries.pop(name, None)
    elif action == 5 and files:
        parent.entries[name] = rng.choice(files)
    elif action == 6:
        other = things[rng.choice(folders)]
        if name in other.entries:
            obj = other.entries.pop(name)
            if things[obj].kind is not FOLDER or not inside(image, obj, parent):
                parent.entries[rng.choice([name, b"moved"])] = obj
    elif action == 7 and files:
        thing = things[rng.choice(files)]
        thing.content = random_content(rng)
    elif action == 8 and files:
        thing = things[rng.choice(files)]
        at = rng.randrange(len(thing.content) + 1)
        thing.content = thing.content[:at] + rng.randbytes(50) + thing.content[at + 50 :]
    elif action == 9:
        thing = things[rng.choice(folders + files)]
        if thing is not things[0]:
            thing.mode = rng.choice([0o755, 0o700, 0o511, 0o000])
    elif action == 10 and files:
        things[rng.choice(files)].xattrs = rng.choice([{}, {b"user.x": b"1"}, {b"user.y": b"22"}])
    elif action == 11:
        things[number] = Thing(OTHER)
        parent.entries[name] = number


def inside(image: PlainImage, obj: int, folder: Thing) -> bool:
    if image.things[obj] is folder:
        return True
    return any(inside(image, o, folder) for o in image.things[obj].entries.values() if image.things[o].kind is FOLDER)


def one_name_for_each_folder(image: PlainImage) -> bool:
    named = [o for t in image.things.values() for o in t.entries.values() if image.things[o].kind is FOLDER]
    return len(named) == len(set(named))


def random_timeline(rng: random.Random) -> PlainTimeline:
    image = PlainImage()
    images = []
    number = 1
    for _ in range(rng.randrange(2, 7)):
        for _ in range(rng.randrange(1, 8)):
            before = deepcopy(image)
            change(image, rng, number)
            number += 1
            if not one_name_for_each_folder(image):
                image = before
        images.append(deepcopy(image))
    return PlainTimeline(images, superset=rng.random() < 0.2)


# Vandals: what a check may do


def pick(root: Path, rng: random.Random) -> Path:
    paths = [Path(os.fsdecode(os.path.join(top, n))) for top, d, f in os.walk(os.fsencode(root)) for n in d + f]
    return rng.choice(sorted(paths)) if paths else root / "a"


def write(path: Path, rng: random.Random, outside: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(rng.randrange(9000))
        file.write(rng.randbytes(100))


def store_mapped(path: Path, rng: random.Random, outside: Path) -> None:
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[rng.randrange(len(memory))] ^= 0xFF


def cut(path: Path, rng: random.Random, outside: Path) -> None:
    os.truncate(path, rng.randrange(20000))


def delete(path: Path, rng: random.Random, outside: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def rename(path: Path, rng: random.Random, outside: Path) -> None:
    path.rename(path.parent / rng.choice(["a", "b", "foreign"]))


def change_mode(path: Path, rng: random.Random, outside: Path) -> None:
    if not path.is_symlink():
        path.chmod(rng.choice([0o000, 0o444, 0o777, 0o500]))


def add_file(path: Path, rng: random.Random, outside: Path) -> None:
    (path.parent / rng.choice(["a", "c", "new"])).write_bytes(rng.randbytes(3000))


def add_tree(path: Path, rng: random.Random, outside: Path) -> None:
    deep = path.parent / "tree" / "x" / "y"
    deep.mkdir(parents=True)
    (deep / "file").write_text("garbage")
    deep.chmod(0)


def swap_for_link(path: Path, rng: random.Random, outside: Path) -> None:
    path.rename(path.parent / "away")
    path.symlink_to(outside)


def replace(path: Path, rng: random.Random, outside: Path) -> None:
    delete(path, rng, outside)
    path.mkdir() if rng.random() < 0.5 else path.write_text("replaced")


def link(path: Path, rng: random.Random, outside: Path) -> None:
    os.link(path, path.parent / "linked", follow_symlinks=False)


def set_attribute(path: Path, rng: random.Random, outside: Path) -> None:
    os.setxattr(path, "user.vandal", b"1", follow_symlinks=False)


def move_into(path: Path, rng: random.Random, outside: Path) -> None:
    new = path.parent / "hall"
    new.mkdir()
    path.rename(new / "guest")


def replace_by_rename(path: Path, rng: random.Random, outside: Path) -> None:
    new = path.parent / "tmp"
    new.write_bytes(rng.randbytes(200))
    new.rename(path)


VANDALS: list[Callable[[Path, random.Random, Path], None]] = [
    write, store_mapped, cut, delete, rename, change_mode, add_file, add_tree, swap_for_link, replace, link,
    set_attribute, move_into, replace_by_rename,
]  # fmt: skip


def vandalise(root: Path, rng: random.Random, outside: Path) -> None:
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4, 8])):
        vandal = rng.choice(VANDALS)
        with contextlib.suppress(OSError, ValueError):
            vandal(pick(root, rng), rng, outside)
        for name in ("file", "deep/file"):
            assert (outside / name).read_text() == "precious"


def walk(seed: int, base: Path) -> ImageFolder:
    rng = random.Random(seed)
    timeline = random_timeline(rng)
    work = Path(tempfile.mkdtemp(dir=base))
    outside = work / "outside"
    (outside / "deep").mkdir(parents=True)
    for name in ("file", "a", "deep/file"):
        (outside / name).write_text("precious")
    limit = rng.choice([0, 10000, 1 << 20])
    content_module.COMPARED = rng.choice([BLOCK, 2 * BLOCK, 1 << 17])  # small files must have several pieces, too
    folder = ImageFolder(work / "root", work / "store", timeline, store_limit=limit)
    try:
        for _ in range(8):
            number = rng.randrange(len(timeline.images))
            folder.move_to(state(number))
            privileged = os.geteuid() == 0
            if privileged:
                assert found(work / "root") == expected(timeline.images[number])
                assert (outside / "a").read_text() == "precious"
            else:
                compare_as_owner(work / "root", timeline.images[number])
            vandalise(work / "root", rng, outside)
            assert {"a", "deep", "file"} <= set(os.listdir(outside))
            assert outside.stat().st_mode & 0o777 == 0o755
    finally:
        folder.close()
    return folder


def compare_as_owner(root: Path, image: PlainImage) -> None:
    """Without privilege, modes keep us from looking: note them, open everything, look, and put them back."""
    modes: dict[int, tuple[bytes, int]] = {}
    wanted = expected(image)
    for path in wanted:
        full = os.fsencode(root) + b"/" + path
        status = os.lstat(full)
        if not stat.S_ISLNK(status.st_mode) and status.st_ino not in modes:
            modes[status.st_ino] = full, stat.S_IMODE(status.st_mode)
            os.chmod(full, 0o700)
    inodes = {path: os.lstat(os.fsencode(root) + b"/" + path).st_ino for path in wanted}
    actual = found(root)
    for full, mode in reversed(modes.values()):
        os.chmod(full, mode)
    for path, values in actual.items():
        if values[0] == "folder":
            actual[path] = ("folder", modes[inodes[path]][1])
        elif values[0] == "file":
            actual[path] = (*values[:2], modes[inodes[path]][1], *values[3:])
    assert actual == wanted


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_any_walk_with_vandals(seed: int) -> None:
    with tempfile.TemporaryDirectory(dir=memory()) as base:
        walk(seed, Path(base))


def memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_any_walk_on_disk(seed: int) -> None:
    with tempfile.TemporaryDirectory() as base:
        walk(seed, Path(base))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_any_walk_without_watches(seed: int) -> None:
    class NoWatch(Watch):
        def __init__(self) -> None:
            raise WatchLimit("none left")

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=memory()) as base:
        patch.setattr(folder_module, "Watch", NoWatch)
        walk(seed, Path(base))


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run without privilege already")
def test_walks_without_privilege() -> None:
    """The same as an ordinary user, whom modes keep out."""
    with tempfile.TemporaryDirectory(dir=memory()) as base:
        os.chmod(base, 0o777)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                for seed in range(40):
                    walk(seed, Path(base))
                status = 0
            except BaseException:
                traceback.print_exc(file=sys.__stderr__)
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0


# What it costs


def one_file(content: bytes, size: int = 2) -> PlainTimeline:
    images = []
    for number in range(size):
        image = PlainImage()
        image.add(1, 0, b"file", kind=FILE, content=content + b"%d" % number)
        images.append(image)
    return PlainTimeline(images)


def test_a_rename_moves_the_file_and_writes_nothing(tmp_path: Path) -> None:
    before, after = PlainImage(), PlainImage()
    before.add(1, 0, b"old", kind=FILE, content=b"x" * 100000)
    after.add(1, 0, b"new", kind=FILE, content=b"x" * 100000)
    unnamed = PlainImage()
    unnamed.things[1] = after.things[1]
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", PlainTimeline([before, after, unnamed]))
    folder.move_to(state(0))
    status = (tmp_path / "root/old").stat()
    for number in (1, 2, 1):
        folder.move_to(state(number))
    moved = (tmp_path / "root/new").stat()
    assert (moved.st_ino, moved.st_mtime_ns) == (status.st_ino, status.st_mtime_ns)
    folder.close()


def test_untouched_checks_never_cause_a_rebuild(tmp_path: Path) -> None:
    timeline = one_file(b"x" * 10000, 10)
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", timeline)
    for number in range(10):
        folder.move_to(state(number))
        (tmp_path / "root/file").read_bytes()
    assert folder.rebuilds == 1
    folder.close()


def test_a_flood_of_events_is_survived(tmp_path: Path) -> None:
    timeline = one_file(b"content")
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", timeline)
    folder.move_to(state(0))
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(limit // 3 + 10):
        (tmp_path / f"root/{number}").touch()
        (tmp_path / f"root/{number}").unlink()
    (tmp_path / "root/file").write_text("other")
    folder.move_to(state(1))
    assert found(tmp_path / "root") == expected(timeline.images[1])
    assert folder.rebuilds == 2
    folder.close()


def test_holes_stay_holes(tmp_path: Path) -> None:
    image = PlainImage()
    image.add(1, 0, b"sparse", kind=FILE, content=b"x" + bytes(8 << 20) + b"y")
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", PlainTimeline([image]))
    folder.move_to(state(0))
    status = (tmp_path / "root/sparse").stat()
    assert status.st_blocks * 512 < 1 << 20
    assert found(tmp_path / "root") == expected(image)
    folder.close()


def test_a_big_file_that_was_only_opened_is_not_read_from_the_image_again(tmp_path: Path) -> None:
    image = PlainImage()
    image.add(1, 0, b"big", kind=FILE, content=random.Random(1).randbytes(8 << 20))
    reads = []

    class Counting(PlainTimeline):
        def image(self, at: State) -> PlainImage:
            copy = deepcopy(super().image(at))
            copy.read = lambda *piece: reads.append(piece) or image.read(*piece)  # type: ignore[method-assign,func-returns-value]
            return copy

    folder = ImageFolder(tmp_path / "root", tmp_path / "store", Counting([image]))
    for number in range(4):
        folder.move_to(state(0))
        with open(tmp_path / "root/big", "r+b") as file:
            if number == 2:
                file.seek(5 << 20)
                file.write(b"changed")
        if number == 1:
            reads.clear()
    folder.move_to(state(0))
    assert len(reads) == 1
    assert found(tmp_path / "root") == expected(image)
    folder.close()


def test_very_deep_garbage_is_removed(tmp_path: Path) -> None:
    timeline = one_file(b"content")
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", timeline)
    folder.move_to(state(0))
    here = os.open(tmp_path / "root", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    folder.move_to(state(1))
    assert found(tmp_path / "root") == expected(timeline.images[1])
    folder.close()


def test_a_deleted_root_is_made_again(tmp_path: Path) -> None:
    timeline = one_file(b"content")
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", timeline)
    folder.move_to(state(0))
    shutil.rmtree(tmp_path / "root")
    folder.move_to(state(1))
    assert found(tmp_path / "root") == expected(timeline.images[1])
    folder.close()


def test_a_second_name_of_a_folder_is_shown_when_the_first_goes(tmp_path: Path) -> None:
    both, one = PlainImage(), PlainImage()
    both.add(1, 0, b"a", kind=FOLDER, mode=0o755)
    both.things[0].entries[b"b"] = 1
    one.add(1, 0, b"b", kind=FOLDER, mode=0o755)
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", PlainTimeline([both, one]))
    folder.move_to(state(0))
    assert os.listdir(tmp_path / "root") in (["a"], ["b"])
    folder.move_to(state(1))
    assert os.listdir(tmp_path / "root") == ["b"]
    folder.close()


def test_a_full_disk_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = ImageFolder(tmp_path / "root", tmp_path / "store", one_file(b"x"))
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ScratchError, match="--scratch"):
        folder.move_to(state(0))
    folder.close()


def test_more_names_than_the_kernels_queue_holds(tmp_path: Path) -> None:
    """Building, and every move, tells of more changes than inotify keeps; nothing is lost and nothing built again."""
    held = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    many, few = PlainImage(), PlainImage()
    few.add(1, 0, b"kept", kind=FILE, content=b"x")
    many.add(1, 0, b"kept", kind=FILE, content=b"x")
    for number in range(2, min(held, 16384) // 2 + 100):  # at least two events each
        many.add(number, 0, b"%d" % number, kind=FILE, content=b"y")
    folder = ImageFolder(tmp_path / "root", tmp_path / "store", PlainTimeline([many, few, many]))
    for number, image in enumerate([many, few, many]):
        folder.move_to(state(number))
        assert found(tmp_path / "root") == expected(image)
    assert folder.rebuilds == 1
    (tmp_path / "root/kept").write_bytes(b"changed")  # it is still watched
    folder.move_to(state(2))
    assert found(tmp_path / "root") == expected(many)
    folder.close()
