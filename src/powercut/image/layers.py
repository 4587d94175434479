"""The user's data folder below an image: what the program did not touch is shown as it is, and never copied.

Before: the user's folder, and a folder of our own in which there is room for changes. After `renew`: the data folder's
path shows, to this process and its children, the user's folder with an empty layer over it (overlayfs), in which an
image is built and checks may write. The user's folder itself is only read. Its parent is the lower layer, so that the
image and what waits to be seen again lie on one mount, as `disk_index` needs.
"""

# Names are bytes here, which pathlib does not hold.
# ruff: noqa: PTH101, PTH116
from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure
from powercut.image.disk_index import DiskIndex
from powercut.image.inotify import Watch
from powercut.image.trash import empty_folder


def make_layer(upper: Path, folder: Path, hidden: Iterable[bytes]) -> None:
    """Make the layer over a folder, with nothing in it but what hides some names.

    The folder's own mode and owner are those of its layer.
    """
    upper.mkdir(parents=True)
    status = folder.stat()
    with suppress(PermissionError):
        os.chown(upper, status.st_uid, status.st_gid)
    for name in hidden:
        if os.path.lexists(os.fsencode(folder) + b"/" + name):
            with suppress(OSError):  # before Linux 5.8 only root could
                os.mknod(os.fsencode(upper) + b"/" + name, stat.S_IFCHR, 0)  # what stands for nothing in a layer
    upper.chmod(stat.S_IMODE(status.st_mode))
    os.utime(upper, ns=(status.st_atime_ns, status.st_mtime_ns))


def is_mounted(folder: Path) -> bool:
    """Whether something is mounted at a folder: then the folder above it does not hold it."""
    wanted = os.fsencode(folder).replace(b"\\", b"\\134").replace(b" ", b"\\040").replace(b"\t", b"\\011")
    return any(line.split()[4] == wanted for line in Path("/proc/self/mountinfo").read_bytes().splitlines())


class Layers:
    """The layers of one image.

    Attributes:
        root: where the data folder is, with its layer, beside its own path.
        store: a folder on the same mount that nobody sees.
        shown: what the folder at the data folder's path is; another one after each `renew`.
    """

    def __init__(self, folder: Path, home: Path, hidden: Sequence[bytes]) -> None:
        """To be made while the folder's path still leads to the user's own; `hidden`: names in it not to be shown."""
        if is_mounted(folder):
            raise EnvironmentFailure(
                "folder-mounted",
                f"the images need the rest of {folder}, which is a mount point now.",
                "Record the program again.",
            )
        self._hidden = hidden
        self._folder = folder
        self._home = home
        self._lower = os.open(folder.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._below = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._mount = home / "shown"
        self._upper = home / "layers/upper"
        self._mounted = False
        self._fresh = False  # nobody has been shown it yet
        self.root = self._mount / folder.name
        self.store = self._mount / f"store-{os.getpid()}-{os.urandom(8).hex()}"
        self.shown = folder.stat()

    def renew(self) -> None:
        """Throw away all changes: the data folder's path shows the user's folder as it is.

        It is another mount then; whoever is in the last one stays there.
        """
        if self._fresh:
            self._fresh = False
            return
        if self._mounted:
            _engine.unmount(self._folder)
            _engine.unmount(self._mount)
            self._mounted = False
        layers = self._upper.parent
        if layers.is_dir():
            path = os.fsencode(layers)
            empty_folder(path, path)
            shutil.rmtree(layers)
        self._mount.mkdir(exist_ok=True)
        make_layer(self._upper / self._folder.name, Path(f"/proc/self/fd/{self._below}"), self._hidden)
        (layers / "work").mkdir()
        (self._upper / self.store.name).mkdir()
        _engine.mount_layers(f"/proc/self/fd/{self._lower}", self._upper, layers / "work", self._mount)
        self._mounted = True
        _engine.bind_mount(self.root, self._folder)
        self.shown = self._folder.stat()

    def show(self) -> None:
        """Have the folder shown before the first image is built, which then needs no other mount."""
        self.renew()
        self._fresh = True

    def holds(self, path: bytes) -> bool:
        """Whether the user's folder holds something at a path of the image."""
        inside = path[len(os.fsencode(self.root)) + 1 :]
        try:
            os.stat(inside, dir_fd=self._below, follow_symlinks=False)
        except OSError:
            return False
        return True

    def open_folder(self, path: bytes) -> None:
        """Have a folder of the user's in the layer, so that it can be watched there."""
        os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))

    def watch(self, watch: Watch, disk_index: DiskIndex, folder: int) -> None:
        """Watch what comes into the layer of a folder: whatever a check changes below it comes there, too.

        It is registered under a number that no folder has: -1 less the folder's.
        """
        path = disk_index.folder_path(folder)
        watch.add(-1 - folder, os.fsencode(self._upper) + path[len(os.fsencode(self._mount)) :])
