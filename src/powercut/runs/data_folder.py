"""Folders that nobody means when they say where their data are.

A slip (`--dir /`, or no `--dir` in the home folder) must not copy a machine. Whoever means it says so.
"""

from __future__ import annotations

import os
from pathlib import Path

from powercut.errors import UsageError
from powercut.record.private_copy import require_folder

_OF_THE_ROOT = "bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var"
_BELOW = "/usr/bin /usr/lib /usr/local /usr/share /var/lib /var/log /var/tmp"
_SYSTEM = frozenset(["/", *(f"/{name}" for name in _OF_THE_ROOT.split()), *_BELOW.split()])
_KERNELS = (Path("/proc"), Path("/sys"))  # no files, but what the kernel says


def require_data_folder(folder: Path, *, any_folder: bool) -> None:
    """Refuse a folder that is missing, and, unless `any_folder`, one that is a machine's or a person's."""
    require_folder(folder)
    if any_folder:
        return
    home = os.environ.get("HOME", "")
    whose = ""
    if home and folder == Path(home).resolve():
        whose = "your home folder"
    elif str(folder) in _SYSTEM or any(folder.is_relative_to(kernels) for kernels in _KERNELS):
        whose = "a folder of the system"
    if whose:
        hint = "Choose the folder that the program writes to with --dir, or say --any-folder if you mean it."
        raise UsageError("system-folder", f"the data folder would be {folder}, {whose}.", hint)
