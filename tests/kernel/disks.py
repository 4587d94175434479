"""Real file systems on disks that remember: made, mounted, recorded, rebuilt as a power cut would leave them.

Before: root, /dev/fuse, loop devices, and the mkfs of the file system. After `Bench` is closed, or its process is
gone, nothing is mounted and no loop device is taken: all mounts stand in a namespace of the process alone, and loop
devices clear themselves. The recorder (recorder.c) stays outside of that namespace, and ends by itself after it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE, _MNT_DETACH = 0x20000, 0x4000, 1 << 18, 2
_LOOP_CONFIGURE, _LOOP_CTL_GET_FREE, _AUTOCLEAR, _DIRECT_IO = 0x4C0A, 0x4C82, 4, 16
_LOOP_CONFIG = struct.Struct("=II40x12xI160x16x64x")  # struct loop_config: fd, block_size, ..., lo_flags, ...
_RECORD = struct.Struct("=IIQ")
WRITE, FLUSH, MARK = 1, 2, 3
_CHUNK = 1 << 16  # bytes of a disk that are kept if they are not all zeros


@dataclass(frozen=True, slots=True)
class Kind:
    """How a file system is made and mounted for one row of powercut's models.

    Attributes:
        row: the name of the row.
        size: of the disk, in MiB: small, so that images are made fast.
        make: the command that makes it, without the device.
        type: for mount.
        options: while the workload runs; nothing is committed or discarded but by the workload.
        readout: while an image is looked at.
    """

    row: str
    size: int
    make: tuple[str, ...]
    type: str
    options: str
    readout: str


_EXT4 = ("mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", "-E", "lazy_itable_init=1,nodiscard")


def _ext4(row: str, more: str) -> Kind:
    return Kind(row, 32, _EXT4, "ext4", f"commit=300,nodiscard{more}", f"nodiscard{more}")


KINDS = {
    kind.row: kind
    for kind in (
        _ext4("ext4-ordered", ""),
        _ext4("ext4-journal", ",data=journal"),
        _ext4("ext4-writeback", ",data=writeback"),
        _ext4("ext4-nodelalloc", ",nodelalloc"),
        _ext4("ext4-noauto_da_alloc", ",noauto_da_alloc"),
        Kind("xfs", 300, ("mkfs.xfs", "-q", "-f", "-K"), "xfs", "nouuid,nodiscard", "nouuid,nodiscard"),
        Kind("btrfs", 128, ("mkfs.btrfs", "-q", "-f", "-K"), "btrfs", "commit=300,nodiscard", "nodiscard"),
    )
}


class Missing(Exception):
    """What the machine lacks, in one line."""


def missing(rows: list[str]) -> str | None:
    """What is missing here to record these file systems, or None."""
    if os.geteuid() != 0:
        return "recording file systems needs root"
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse: the kernel has no FUSE, or the container does not show it"
    if not os.path.exists("/dev/loop-control"):
        return "there is no /dev/loop-control: the kernel has no loop devices, or the container does not show them"
    known = Path("/proc/filesystems").read_text().split()
    for row in rows:
        kind = KINDS[row]
        if shutil.which(kind.make[0]) is None:
            return f"{kind.make[0]} is not installed (Debian: apt-get install e2fsprogs xfsprogs btrfs-progs)"
        if kind.type not in known and not _load_module(kind.type):
            return f"this kernel has no {kind.type}"
    return None


def _load_module(name: str) -> bool:
    modprobe = shutil.which("modprobe")
    return modprobe is not None and subprocess.run([modprobe, "-q", name], check=False).returncode == 0


def build_recorder(folder: Path) -> Path:
    """Compile recorder.c; what it is linked with is Debian's libfuse3-dev."""
    program = folder / "recorder"
    source = Path(__file__).with_name("recorder.c")
    try:
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "fuse3"], check=True, capture_output=True, text=True
        )
        command = ["gcc", "-O2", str(source), "-o", str(program), *flags.stdout.split()]
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        hint = "apt-get install gcc pkg-config libfuse3-dev"
        raise Missing(f"the recorder could not be built; on Debian: {hint}") from error
    return program


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter_namespace() -> None:
    """From now on this process's mounts are its own, and go with it."""
    _check(_LIBC.unshare(_CLONE_NEWNS), "unshare")
    _check(_LIBC.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-private")


def mount(source: str, target: Path, kind: str, options: str) -> None:
    """mount(8), without its cost. Options that only mount(8) knows cannot be given."""
    _check(_LIBC.mount(source.encode(), bytes(target), kind.encode(), 0, options.encode()), f"mount of {kind}")


def unmount(target: Path) -> None:
    """Unmount, and wait for what still holds it for a moment."""
    for _ in range(200):
        if _LIBC.umount2(bytes(target), 0) == 0:
            return
        if ctypes.get_errno() != errno.EBUSY:
            break
        time.sleep(0.005)
    _check(_LIBC.umount2(bytes(target), _MNT_DETACH), "umount")


def leave(target: Path) -> None:
    """Unmount what may be mounted there, and do not wait for it."""
    _LIBC.umount2(bytes(target), _MNT_DETACH)


@contextmanager
def loop_device(backing: int, *, direct: bool) -> Iterator[str]:
    """A fresh loop device over an open file; it goes once it is closed and unmounted."""
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(100):
            path = f"/dev/loop{fcntl.ioctl(control, _LOOP_CTL_GET_FREE)}"
            device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                flags = _AUTOCLEAR | (_DIRECT_IO if direct else 0)
                fcntl.ioctl(device, _LOOP_CONFIGURE, _LOOP_CONFIG.pack(backing, 0, flags))
                break
            except OSError as error:  # somebody else was faster
                os.close(device)
                if error.errno != errno.EBUSY:
                    raise
        else:
            raise Missing("no loop device is free")
    finally:
        os.close(control)
    try:
        yield path
    finally:
        os.close(device)


@dataclass(slots=True)
class Base:
    """A file system as it is before the workload: its size, and the bytes of it that are not zeros."""

    size: int
    extents: list[tuple[int, bytes]]

    @classmethod
    def read(cls, path: Path) -> Base:
        extents = []
        with path.open("rb") as file:
            size, at = path.stat().st_size, 0
            while at < size:
                try:
                    start = os.lseek(file.fileno(), at, os.SEEK_DATA)
                except OSError:
                    break
                end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                for at in range(start, end, _CHUNK):
                    data = os.pread(file.fileno(), min(_CHUNK, end - at), at)
                    if data.strip(b"\0"):
                        extents.append((at, data))
                at = end
        return cls(size, extents)

    def image(self, writes: list[tuple[int, bytes]]) -> int:
        """An open file in memory with this disk and some writes on it."""
        image = os.memfd_create("image", os.MFD_CLOEXEC)
        os.ftruncate(image, self.size)
        for offset, data in [*self.extents, *writes]:
            os.pwrite(image, data, offset)
        return image


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a recorded log: a write (offset, data), a flush, or a mark (its number)."""

    kind: int
    where: int = 0
    data: bytes = b""


def parse_log(log: bytes) -> list[Entry]:
    """The log of the recorder."""
    entries, at = [], 0
    while at < len(log):
        kind, length, where = _RECORD.unpack_from(log, at)
        at += _RECORD.size
        entries.append(Entry(kind, where, log[at : at + length]))
        at += length
    return entries


class Bench:
    """One file system under a recorder, in a namespace of this process: recorded, and read back from images.

    Attributes:
        data: the data folder, while a workload is recorded.
        elsewhere: a folder of the same file system outside of it.
    """

    def __init__(self, kind: Kind, recorder: Path, folder: Path, populate: Callable[[Path], None]) -> None:
        self._kind = kind
        self._mounted = folder / "mounted"
        self._disk = folder / "disk"
        self.data, self.elsewhere = self._mounted / "data", self._mounted / "elsewhere"
        for place in (self._mounted, self._disk):
            place.mkdir(parents=True)
        image = folder / "base"
        self._make(image, populate)
        self._base = Base.read(image)
        daemon = subprocess.Popen(
            [recorder, image, self._disk], stdout=subprocess.PIPE, start_new_session=True, text=True
        )
        assert daemon.stdout is not None
        if daemon.stdout.readline() != "ready\n":
            raise Missing("the recorder could not mount its folder (is /dev/fuse allowed here?)")

    def _make(self, image: Path, populate: Callable[[Path], None]) -> None:
        with image.open("wb") as file:
            file.truncate(self._kind.size << 20)
        subprocess.run([*self._kind.make, str(image)], check=True, stdout=subprocess.DEVNULL)
        with image.open("r+b") as file, loop_device(file.fileno(), direct=False) as device:
            mount(device, self._mounted, self._kind.type, self._kind.options)
            self.data.mkdir()
            self.elsewhere.mkdir()
            (self.elsewhere / "other").write_bytes(b"other")
            populate(self.data)
            os.sync()
            unmount(self._mounted)

    def record(self, work: Callable[[Path, Callable[[int], None]], None], slowest: int = 0) -> list[Entry]:
        """What a workload, which is given the data folder and a way to set marks, makes the file system write."""
        control = os.open(self._disk / "ctl", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(control, b"reset")
            os.write(control, b"delay %d" % slowest)
            disk = os.open(self._disk / "disk", os.O_RDWR | os.O_CLOEXEC)
            try:
                with loop_device(disk, direct=True) as device:
                    mount(device, self._mounted, self._kind.type, self._kind.options)
            finally:
                os.close(disk)
            try:
                work(self.data, lambda number: void(os.write(control, b"mark %d" % number)))
            finally:
                unmount(self._mounted)
            return parse_log((self._disk / "log").read_bytes())
        finally:
            os.close(control)

    def look(self, writes: list[tuple[int, bytes]], read: Callable[[Path], object]) -> object:
        """What `read` says of the data folder after a power cut that left the disk with these writes."""
        image = self._base.image(writes)
        try:
            with loop_device(image, direct=False) as device:
                mount(device, self._mounted, self._kind.type, self._kind.readout)
        finally:
            os.close(image)
        try:
            return read(self.data)
        finally:
            unmount(self._mounted)


def void(_: object) -> None:
    """Drop a result."""
