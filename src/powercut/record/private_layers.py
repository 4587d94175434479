"""The user's data folder with a layer of changes over it, for a program to be recorded in: nothing is copied.

Before: the user's folder. After the `with` block: the layer is gone, and the user's folder is as it was: the kernel
(overlayfs) reads it and writes to the layer alone. Inside, after the program has ended: what it touched is in the
layer, and what that was before is still in the folder.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from powercut import _engine
from powercut.image.layers import is_mounted, make_layer
from powercut.image.scratch import ScratchPolicy, make_scratch
from powercut.image.survey import Survey
from powercut.record.private_copy import FULL

_COPIED_FASTER = (200, 4 << 20)  # things and bytes up to which a copy costs less than layers do in every image
_LINKS = 1  # what `try_layers` says of a kernel that keeps files with several names one


class PrivateLayers:
    """A layer over a data folder, for the time of a recording.

    Attributes:
        path: the upper layer: what the program changed.
        left_out: nothing; everything in the folder is there.
    """

    def __init__(self, survey: Survey, scratch: Path | None) -> None:
        self.survey = survey
        self.left_out: list[Path] = []
        self._policy = scratch
        self._number = 0

    def __enter__(self) -> PrivateLayers:
        self._scratch = make_scratch(ScratchPolicy(folder=self._policy), self.survey.folder, 1, namespaces=False)
        try:
            self.path, self._work = make_layers(self._scratch.path / "layers", self.survey)
        except BaseException:
            self._scratch.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.remove()

    def why_not(self) -> str:
        """Why the kernel cannot show the folder so that a recording of it is right; empty if it can."""
        folder, rows = self.survey.folder, self.survey.rows
        if not len(self._probe):
            return "it holds no file to try it with"
        if is_mounted(folder):
            return "it is a file system of its own"
        if self._policy is not None and self._policy.resolve().is_relative_to(folder.parent):
            return "the scratch folder is beside it"
        if os.geteuid() != 0 and ((rows["uid"] != os.geteuid()) | (rows["gid"] != os.getegid())).any():
            return "not everything in it belongs to you"
        trial = self._scratch.path / "trial"
        upper, work = make_layers(trial, self.survey)
        row = self._probe[0]
        kind, why, number = _engine.try_layers(upper, work, folder, self.survey.path(row))
        self._number = number - int(rows["inode"][row])
        if kind > _LINKS and self.survey.has_linked_files:
            return "files in it have several names, which the kernel would take apart"
        return why or ("" if kind else "it cannot be tried")

    @property
    def _probe(self) -> list[int]:
        rows = self.survey.rows
        files = (rows["size"] > 0) & self.survey.is_file
        small = files & (rows["size"] <= _COPIED_FASTER[1])
        return [int(row) for row in (small.nonzero()[0] if small.any() else files.nonzero()[0])[:1]]

    def number_below(self, inode: int) -> int:
        """The inode in the user's folder of a file that the program saw under a number."""
        return inode - self._number

    def number_seen(self, inode: int) -> int:
        """The number under which the program sees an inode of the user's folder."""
        return inode + self._number

    @property
    def root_number(self) -> int:
        """The number under which it sees the folder itself."""
        return self.path.stat().st_ino

    def view_options(self) -> list[str]:
        """What the tracer must be told."""
        return ["--view", str(self.path), *self.attach_options()]

    def attach_options(self) -> list[str]:
        """The same for a program that enters the view itself."""
        return ["--work", str(self._work)]

    def enter(self) -> None:
        """Show the layers at the folder's own path, to this process and its children."""
        _engine.enter_layers(self.path, self._work, self.survey.folder)

    def is_full(self) -> bool:
        """Whether the program may have failed for want of space for its files."""
        return shutil.disk_usage(self.path).free < FULL

    def check_original(self, keep: Path) -> None:
        """Nothing to do: in a private view the program cannot find its way to the folder."""


def make_layers(home: Path, survey: Survey) -> tuple[Path, Path]:
    """Make an empty layer over a folder, and the place that the kernel works in."""
    upper, work = home / "upper", home / "work"
    make_layer(upper, survey.folder, survey.hidden)
    work.mkdir()
    return upper, work


def is_worth_it(survey: Survey) -> bool:
    """Whether layers cost less than a copy, in the recording and in every image."""
    return survey.left_out > 0 or not is_little(len(survey.rows), survey.size)


def is_little(things: int, size: int) -> bool:
    """Whether so much is copied faster than it is shown."""
    most_things, most_bytes = _COPIED_FASTER
    return things <= most_things and size <= most_bytes
