"""libpmemobj's view of a pool, read in a separate process, because a damaged pool can crash libpmemobj.

    python -m powercut.heal.objects list FILE              prints offset and size of the root, then of all objects
    python -m powercut.heal.objects free FILE OFFSETS      frees the objects at the offsets that a file lists

Before: a copy of a pool (libpmemobj writes into what it opens). After `free`: the objects are gone as if the service
had freed them.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from powercut.errors import EnvironmentFailure

_LIBRARY = "libpmemobj.so.1"
_PATIENCE = 120.0  # seconds


class _Id(ctypes.Structure):
    _fields_ = (("pool", ctypes.c_uint64), ("offset", ctypes.c_uint64))


def list_objects(file: Path) -> list[tuple[int, int]]:
    """Offset and size of the root (0, 0: there is none), then of all objects."""
    pairs = (line.split() for line in _ask("list", file).splitlines())
    return [(int(offset), int(size)) for offset, size in pairs]


def free_objects(file: Path, offsets: Sequence[int], notes: Path) -> None:
    """Free objects; `notes` is a file that may be written."""
    notes.write_text("\n".join(map(str, offsets)))
    _ask("free", file, notes)


def _ask(*words: str | Path) -> str:
    command = [sys.executable, "-m", __name__, *map(str, words)]
    environment = {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}
    environment.pop("LD_PRELOAD", None)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailure("heal-objects", f"libpmemobj did not finish with {words[1]}.") from error
    if done.returncode != 0:
        said = done.stderr.strip().rpartition("\n")[2] or f"it exited with status {done.returncode}"
        raise EnvironmentFailure("heal-objects", f"libpmemobj cannot open a copy of the pool: {said}.")
    return done.stdout


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(_LIBRARY)
    library.pmemobj_open.restype = ctypes.c_void_p
    library.pmemobj_errormsg.restype = ctypes.c_char_p
    library.pmemobj_root_size.restype = library.pmemobj_alloc_usable_size.restype = ctypes.c_size_t
    for function in (library.pmemobj_root, library.pmemobj_first, library.pmemobj_next):
        function.restype = _Id
    library.pmemobj_root.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for function in (library.pmemobj_first, library.pmemobj_root_size, library.pmemobj_close):
        function.argtypes = [ctypes.c_void_p]
    return library


def _main(what: str, file: str, offsets: str = "") -> int:
    library = _library()
    pool = library.pmemobj_open(os.fsencode(file), None)
    if not pool:
        return _fail(library.pmemobj_errormsg().decode("utf-8", "replace"))
    size = library.pmemobj_root_size(pool)
    root = library.pmemobj_root(pool, size) if size else _Id(0, 0)
    found = library.pmemobj_first(pool)
    number = found.pool or root.pool
    if what == "list":
        sys.stdout.write(f"{root.offset} {size}\n")
        while found.offset:
            sys.stdout.write(f"{found.offset} {library.pmemobj_alloc_usable_size(found)}\n")
            found = library.pmemobj_next(found)
    else:
        for offset in Path(offsets).read_text().split():
            library.pmemobj_free(ctypes.byref(_Id(number, int(offset))))
    library.pmemobj_close(pool)
    return 0


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
