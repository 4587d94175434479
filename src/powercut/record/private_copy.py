"""The private copy of the data folder that a program is recorded in.

Before: the user's folder. After the `with` block: the copy is gone, and the user's folder is as it was. In a private
view nothing else is possible; without one a program may find its way to the real folder, so that is looked for, and
what it overwrote is kept.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure, UsageError
from powercut.image.scratch import ScratchPolicy, make_scratch
from powercut.image.snapshot_copy import copy_tree
from powercut.oracle.command import substitute_path

FULL = 1 << 16  # bytes free below which a file system counts as full
Looks = dict[str, tuple[int, ...]]


class PrivateCopy:
    """A copy of a data folder, for the time of a recording.

    Attributes:
        path: where the copy is.
        left_out: fifos, sockets and devices of the folder, which are not copied.
    """

    def __init__(
        self,
        folder: Path,
        scratch: Path | None,
        skip: tuple[Path, ...],
        in_view: bool,
        content: Path | None = None,
    ) -> None:
        """A copy of the folder; or of another one, `content`, in its place."""
        self._folder = folder
        self._content = content or folder
        self._policy = scratch
        self._skip = {os.path.realpath(path) for path in skip}
        self._in_view = in_view

    def __enter__(self) -> PrivateCopy:
        folder = self._folder
        require_folder(folder)
        copies = 1 if self._in_view else 2
        need = copies * sum(512 * blocks for _, (blocks, *_) in self._entries(self._content))
        self._scratch = make_scratch(ScratchPolicy(folder=self._policy, need=need), folder, 1, namespaces=False)
        try:
            self.path = self._scratch.path / "data"
            self.left_out = self._copy_to(self.path, self._content)
            if not self._in_view:
                self._copy_to(self._scratch.path / "before", self._folder)
                self._looks = self._look()
        except BaseException:
            self._scratch.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.remove()

    def view_options(self) -> list[str]:
        """What the tracer must be told, to show the copy at the folder's own path."""
        return ["--view", str(self.path)]

    def attach_options(self) -> list[str]:
        """The same for a program that enters the view itself."""
        return []

    def enter(self) -> None:
        """Show the copy at the folder's own path, to this process and its children."""
        _engine.enter_view(str(self.path), str(self._folder))

    def is_full(self) -> bool:
        """Whether the program may have failed for want of space for its files."""
        return shutil.disk_usage(self.path).free < FULL

    def check_original(self, keep: Path) -> None:
        """Refuse a recording in which the user's folder changed; what it held goes to a new folder `keep`."""
        if self._in_view:
            return
        now = self._look()
        changed = sorted(name for name in {*self._looks, *now} if self._looks.get(name) != now.get(name))
        if not changed:
            return
        copy_tree(self._scratch.path / "before", keep)
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise EnvironmentFailure(
            "folder-changed",
            f"the program changed the real folder {self._folder} ({changed[0]}{more}): without private mounts, only "
            "paths in the arguments point to the copy.",
            f"The previous content of the folder is in {keep}. Pass the folder's path to the program as an argument, "
            "start powercut in the data folder, or run powercut doctor to enable private mounts.",
        )

    def _copy_to(self, target: Path, source: Path) -> list[Path]:
        return copy_tree(source, target, skip=lambda path: str(path) in self._skip).left_out

    def _look(self) -> Looks:
        """What every file looks like from outside."""
        return dict(self._entries(self._folder))

    def _entries(self, folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Names in a folder with blocks, mode, size, change time and inode. What vanishes meanwhile is left out."""
        waiting = [os.fspath(folder)]
        while waiting:
            with suppress(FileNotFoundError, PermissionError), os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.path in self._skip:
                        continue
                    with suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        looks = (status.st_blocks, status.st_mode, status.st_size, status.st_ctime_ns, status.st_ino)
                        yield os.path.relpath(entry.path, folder), looks
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)


def require_folder(folder: Path) -> None:
    """Refuse a data folder that is missing."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(
            "no-such-folder", f"the data folder {folder} {what}.", "Create it, or choose another one with --dir."
        )


def led_to_copy(argument: str, cwd: Path, folder: Path, copy: Path) -> str:
    """An argument for a program that has no private view: a path to or into the folder becomes one of the copy."""
    path = cwd / argument
    inside = Path(os.path.realpath(path.parent)) / path.name
    if Path(os.path.realpath(path)) == folder:
        return str(copy)
    if os.sep in argument and inside.is_relative_to(folder):
        return str(copy / inside.relative_to(folder))
    return substitute_path([argument], folder, copy)[0]
