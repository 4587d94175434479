"""Writing files of powercut's own as it asks others to: a name appears only when what it names is complete and durable.

Before: a path. After: the whole new file under that name, whatever happens meanwhile, or what
was there before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name, in the place of one that has it, when it is complete and durable; else it is gone."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    file = part.open("xb")  # one that is there is somebody else's
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
