"""Where images are stored, and how they are removed.

Memory is the place of choice: with namespaces each worker mounts a tmpfs that only it sees and that the kernel drops
with it; without, ``/dev/shm`` if it has room; else the folder for temporary files. Only folders that powercut made,
which carry a marker file with the maker's process in it, are ever deleted. Whatever interrupts their maker, they are
gone when it has ended; those of makers that were killed are removed by the next run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.image.trash import empty_folder
from powercut.interrupts import HeldBack, at_end
from powercut.quick_dataclass import dataclass

MARKER = ".powercut-scratch"
_PREFIX = "powercut-"
_ROOM = 4  # times the size of the data folder, for each worker
_CAP_DAC_OVERRIDE = 1
_ours: dict[Path, int] = {}  # folders that are there, and the process that made them


class ScratchError(EnvironmentFailure):
    """There is no good place for images."""

    @classmethod
    def full(cls, path: str) -> ScratchError:
        """The place chosen has no room left."""
        return cls(
            "scratch-full",
            f"no space left for crash images in {path}.",
            "Use fewer workers, or choose a folder with more space with --scratch DIR.",
        )


@dataclass(frozen=True, slots=True)
class ScratchPolicy:
    """What the user and the data ask of the place.

    Attributes:
        folder: where the user wants images to be, or None.
        need: size of the data folder in bytes.
    """

    folder: Path | None = None
    need: int = 0


@dataclass(frozen=True, slots=True)
class Scratch:
    """A scratch folder of our own.

    Attributes:
        memory: size of the tmpfs that each worker mounts over its own view of the folder; 0 for none.
    """

    path: Path
    memory: int

    def remove(self) -> None:
        """Delete the folder and all in it, if it is ours."""
        if (self.path / MARKER).is_file():
            _delete(self.path)
        _ours.pop(self.path, None)

    def remove_home(self, name: str) -> None:
        """Delete what a worker left that is no more. What it had in memory of its own is gone already."""
        if (self.path / name).is_dir():
            _delete(self.path / name)


def make_scratch(policy: ScratchPolicy, data_dir: Path, workers: int, namespaces: bool) -> Scratch:
    """Choose a place and make the folder in it."""
    need = policy.need * _ROOM * workers
    available = available_memory()
    memory = namespaces and policy.folder is None and need <= available
    with HeldBack():  # whoever looks for a folder for temporary files tries each with a file
        base = _choose(policy, data_dir, 0 if memory else need)
    _remove_leftovers(base)
    try:
        with HeldBack():
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
            _mark(path)
            _ours[path] = os.getpid()
    except OSError as error:
        raise ScratchError(
            "scratch-unusable",
            f"cannot create a folder for crash images in {base}: {error.strerror}.",
            "Use --scratch DIR.",
        ) from error
    path.chmod(0o755)  # a check that gives up its privileges still reaches its files
    return Scratch(path, max(need, available // 2) // workers if memory else 0)


@at_end
def _remove_ours() -> None:
    """Delete what an interrupt kept from being removed: it can come between any two steps of whoever would do that.

    What cannot be deleted now is left to the next run, which looks for such folders; there is nobody to tell any more.
    """
    for path, maker in list(_ours.items()):
        if maker == os.getpid():  # a forked process has the list, too
            with suppress(OSError):
                Scratch(path, 0).remove()


def _mark(path: Path) -> None:
    """Say in a new folder whose it is; where there is no room even for that, it is gone again."""
    try:
        (path / MARKER).write_text(f"{_pid_namespace()} {os.getpid()} {_start_time(os.getpid())}\n")
    except OSError:
        shutil.rmtree(path)
        raise


def is_privileged() -> bool:
    """Whether permission bits do not bind this process: root, or the only user of its own user namespace."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_DAC_OVERRIDE & 1)
    return False


def _choose(policy: ScratchPolicy, data_dir: Path, need: int) -> Path:
    inside = f"{data_dir}{os.sep}"
    if policy.folder is not None:
        folder = policy.folder.resolve()
        if folder == data_dir or str(folder).startswith(inside):
            raise ScratchError(
                "scratch-in-data", f"the scratch folder {folder} is inside the data folder.", "Choose another one."
            )
        return folder
    candidates = [Path(p) for p in ("/dev/shm", tempfile.gettempdir(), "/var/tmp", "/run", "/mnt", "/")]
    for folder in candidates:
        hidden = folder == data_dir or str(folder.resolve()).startswith(inside)
        if not hidden and os.access(folder, os.W_OK) and need <= shutil.disk_usage(folder).free:
            return folder
    raise ScratchError(
        "scratch-full",
        f"crash images need up to {need >> 20} MB, but neither memory nor {tempfile.gettempdir()} has so much space.",
        "Use fewer workers, or choose a folder with more space with --scratch DIR.",
    )


def available_memory() -> int:
    """Bytes of memory that programs can still get."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _start_time(pid: int) -> str:
    """When a process started, which tells it from a later one with its number; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _remove_leftovers(base: Path) -> None:
    """Delete scratch folders whose makers are gone. Makers in other containers cannot be seen: theirs stay."""
    for folder in base.glob(f"{_PREFIX}*"):
        try:
            namespace, pid, started = (folder / MARKER).read_text().split()
            if int(namespace) == _pid_namespace() and _start_time(int(pid)) != started:
                _delete(folder)
        except (OSError, ValueError):
            continue  # not ours, not readable, or being removed by another run


def _delete(folder: Path) -> None:
    path = os.fsencode(folder)
    empty_folder(path, path)
    shutil.rmtree(folder)
