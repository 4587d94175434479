"""Names of C++ and Rust functions as their authors wrote them.

Before: names as linkers know them. After: the same number of names, those unchanged that nobody here can read. c++filt
of binutils reads both languages. Without it the C++ library does, which is where C++ programs run, and C++ only.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

_SECONDS = 30
_MANGLED = ("_Z", "_R")
_PLAINLY = "--no-verbose"  # neither hashes of Rust nor all of what std::string stands for
_LIBRARY = "libstdc++.so.6"


def is_mangled(name: str) -> bool:
    """Whether this is a name that only linkers use."""
    return name.startswith(_MANGLED)


def demangled(names: Sequence[str]) -> list[str]:
    """The names as people know them."""
    if not any(map(is_mangled, names)):
        return list(names)
    tool = shutil.which("c++filt")
    return _by_tool(tool, names) if tool else _by_library(names)


def _by_tool(tool: str, names: Sequence[str]) -> list[str]:
    text = "".join(f"{name}\n" for name in names).encode("utf-8", "replace")
    try:
        done = subprocess.run([tool, _PLAINLY], input=text, capture_output=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return list(names)
    lines = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    return lines if len(lines) == len(names) else list(names)


def _by_library(names: Sequence[str]) -> list[str]:
    import ctypes  # takes longer than all else here, and is hardly ever needed

    try:
        demangle = ctypes.CDLL(_LIBRARY).__cxa_demangle
        free = ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return list(names)
    demangle.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

    def one(name: str) -> str:
        if not name.startswith("_Z"):  # it takes others for names of types
            return name
        status = ctypes.c_int()
        text = demangle(name.encode("utf-8", "replace"), None, None, ctypes.byref(status))
        if not text:
            return name
        try:
            return ctypes.string_at(text).decode("utf-8", "replace")
        finally:
            free(text)

    return [one(name) for name in names]
