"""Where the native programs of powercut are installed, beside its extension."""

from __future__ import annotations

from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure


def call_tracer() -> Path:
    """The system-call tracer, which is installed beside the extension."""
    path = _native("powercut-ptrace")
    if not path.exists():
        raise EnvironmentFailure("no-tracer", f"the tracer {path} is missing.", "Install powercut again.")
    return path


def memory_tool() -> Path | None:
    """The Valgrind tool, which needs nothing else of Valgrind; None where it was not built."""
    path = _native("powercut-grind")
    return path if path.exists() else None


def loads_tool() -> Path | None:
    """The Valgrind tool that tells which bytes of mapped files a program reads; None where it was not built."""
    path = _native("powercut-loads")
    return path if path.exists() else None


def java_agent() -> Path | None:
    """What is loaded into JVMs to tell lines; None where it was not built."""
    path = _native("lib/libpowercut-java.so")
    return path if path.exists() else None


def why_no_memory_tool() -> str:
    """What is missing for the memory tracer; empty if nothing is."""
    return "" if memory_tool() else "powercut was built on a machine without Valgrind"


def _native(name: str) -> Path:
    return Path(_engine.__file__).parent / "_native" / name
