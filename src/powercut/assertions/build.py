"""The flags for building a program with assertions: the folders of powercut.h and libpowercut."""

from __future__ import annotations

from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure

_NATIVE = Path(_engine.__file__).parent / "_native"
_SYSTEM = ["-pthread", "-ldl"]


def include_folder() -> Path:
    """Where powercut.h and pmtest.h are."""
    return _required(_NATIVE / "include")


def library_folder() -> Path:
    """Where libpowercut.so and libpowercut.a are."""
    return _required(_NATIVE / "lib")


def checker() -> Path:
    """The process that checks."""
    return _required(_NATIVE / "powercut-checker")


def compiler_flags() -> list[str]:
    """For compiling: the header's folder, and that its macros do something."""
    return [f"-I{include_folder()}", "-DPOWERCUT"]


def linker_flags(*, static: bool = False) -> list[str]:
    """For linking, at the end of the command line."""
    folder = library_folder()
    if static:
        return [str(folder / "libpowercut.a"), *_SYSTEM]
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lpowercut"]


def _required(path: Path) -> Path:
    if not path.exists():
        what = f"libpowercut is incomplete: {path} is missing."
        raise EnvironmentFailure("no-library", what, "Install powercut again.")
    return path
