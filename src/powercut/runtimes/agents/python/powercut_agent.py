"""Tells powercut's tracer who submitted what a thread of a pool does, also for coroutines.

Before: a Python program starts, and has imported nothing yet. After: once it imports a pool of threads, each job notes
the stack of its submit, and while a thread runs it, the thread's slot holds that stack's number
(native/told_format.h). What the thread itself does, the tracer finds in memory. Where no tracer listens, nothing is
changed.
"""

from __future__ import annotations

import os
import struct
import sys
from _frozen_importlib_external import PathFinder
from typing import Any

_TRACER = 0x70637374
_DEPTH = 60  # frames of a stack
_MOST = 20_000  # stacks that are remembered; one forgotten is told again
_ASKED = 16  # where in a slot, behind 8 bytes that say what it is


class _Agent:
    """What one process has told."""

    def __init__(self) -> None:
        import threading

        self.off = False
        self.local = threading.local()
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.kept: list[Any] = []  # code objects by whose addresses stacks are known
        self.last = os.getpid() << 32

    def send(self, letter: bytes, data: bytes) -> None:
        self.write(b"pctold1" + letter + data)

    def write(self, data: bytes | bytearray) -> None:
        try:
            os.write(_TRACER, data)
        except OSError:
            self.off = True

    def stack(self) -> int:
        """The number of the caller's stack, from outside of this file on."""
        frame = sys._getframe(1)
        found: list[tuple[Any, int]] = []
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back  # type: ignore[assignment]
        while frame is not None and len(found) < _DEPTH:
            found.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        key = tuple((id(code), line) for code, line in found)
        number = self.numbers.get(key)
        return number if number is not None else self.define(key, found)

    def define(self, key: tuple[Any, ...], found: list[tuple[Any, int]]) -> int:
        if len(self.numbers) >= _MOST:
            self.numbers.clear()
            self.kept.clear()
        self.last += 1
        self.kept += [code for code, _ in found]
        self.numbers[key] = self.last
        text = "\n".join(f"{_name(code)}\t{os.path.abspath(code.co_filename)}\t{line}" for code, line in found)
        self.send(b"D", struct.pack("<Q", self.last) + b"python\0" + text.encode("utf-8", "surrogateescape"))
        return self.last

    def slot(self) -> bytearray:
        """This thread's slot."""
        slot: bytearray | None = getattr(self.local, "slot", None)
        if slot is None:
            slot = self.local.slot = bytearray(b"pctold1S" + bytes(24))
            self.write(slot)
        return slot

    def run(self, number: int, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function for whoever asked."""
        slot = self.slot()
        before = struct.unpack_from("<Q", slot, _ASKED)[0]
        struct.pack_into("<Q", slot, _ASKED, number)
        try:
            return function(*args, **kwargs)
        finally:
            struct.pack_into("<Q", slot, _ASKED, before)


def _name(code: Any) -> str:
    name: str = getattr(code, "co_qualname", code.co_name)
    return name


_agent: _Agent | None = None


def _get() -> _Agent:
    global _agent
    if _agent is None:
        _agent = _Agent()
        _agent.send(b"H", b"python\0" + sys.version.split()[0].encode())
    return _agent


def _forget() -> None:
    """A forked child tells everything again."""
    global _agent
    _agent = None


class _Job:
    """A function that notes who asked for it."""

    __slots__ = ("function", "number")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.number = _get().stack()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _get().run(self.number, self.function, args, kwargs)


def _job(function: Any) -> Any:
    return function if _get().off or isinstance(function, _Job) else _Job(function)


def _patch_executor(module: Any) -> None:
    submit = module.ThreadPoolExecutor.submit

    def followed(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, _job(fn), *args, **kwargs)

    _replace(module.ThreadPoolExecutor, "submit", followed)


def _patch_pool(module: Any) -> None:
    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
        _patch_method(module.ThreadPool, name)


def _patch_method(owner: Any, name: str) -> None:
    original = getattr(owner, name)

    def followed(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, _job(func), *args, **kwargs)

    _replace(owner, name, followed)


def _replace(owner: Any, name: str, function: Any) -> None:
    original = getattr(owner, name)
    function.__name__, function.__qualname__, function.__doc__ = name, original.__qualname__, original.__doc__
    setattr(owner, name, function)


_PATCHES = {"concurrent.futures.thread": _patch_executor, "multiprocessing.pool": _patch_pool}


class _Finder:
    """Waits for the modules that start threads: until then, nothing is imported for their sake."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name not in _PATCHES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                _PATCHES[name](module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def start() -> None:
    """Follow this process from now on."""
    os.register_at_fork(after_in_child=_forget)
    sys.meta_path.insert(0, _Finder)
    for name, patch in _PATCHES.items():
        if name in sys.modules:
            patch(sys.modules[name])
