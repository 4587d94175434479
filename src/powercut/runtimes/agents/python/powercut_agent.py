"""Tells powercut's tracer who asked for what a thread, a pool's process or an event loop does.

Before: a Python program starts, and has imported nothing yet. After: once it imports threads, pools or asyncio, each
job, thread and task notes the stack that asked for it, and while it runs, the thread's slot holds that stack's number
(native/told_format.h). What the thread itself does, the tracer finds in memory. Where no tracer listens, nothing is
changed.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from _frozen_importlib_external import PathFinder
from typing import Any

_TRACER = 0x70637374
_DEPTH = 60  # frames of a stack
_MOST = 20_000  # stacks that are remembered; one forgotten is told again
_ASKED = 16  # where in a slot, behind 8 bytes that say what it is
_LIBRARY = re.compile(r"/lib(64)?/python3(\.\d+)?/|/python3\d+\.zip/|/(site|dist)-packages/|<frozen ")


class _Agent:
    """What one process has told."""

    def __init__(self) -> None:
        import threading

        self.off = False
        self.local = threading.local()
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.texts: dict[str, int] = {}
        self.rows: dict[int, list[str]] = {}
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
        """The number of the caller's stack, from outside of this file on, and on with whoever asked for that."""
        frame = sys._getframe(1)
        found: list[tuple[Any, int]] = []
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back  # type: ignore[assignment]
        while frame is not None and len(found) < _DEPTH:
            if frame.f_code is _RUN:
                break  # outside of it is the pool or the loop
            found.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        slot = getattr(self.local, "slot", None)
        asked = struct.unpack_from("<Q", slot, _ASKED)[0] if slot is not None else 0
        key = (asked, *((id(code), line) for code, line in found))
        number = self.numbers.get(key)
        return number if number is not None else self.define(key, found, asked)

    def define(self, key: tuple[Any, ...], found: list[tuple[Any, int]], asked: int) -> int:
        """A number for a stack. Tasks that ask for tasks without end come to the same few: stacks have an end."""
        if len(self.numbers) >= _MOST:
            for table in (self.numbers, self.texts, self.rows, self.kept):
                table.clear()
        rows = [f"{_name(code)}\t{os.path.abspath(code.co_filename)}\t{line}" for code, line in found]
        self.kept += [code for code, _ in found]
        number = self.numbers[key] = self.number_of([*rows, *self.rows.get(asked, ())][:_DEPTH])
        return number

    def number_of(self, rows: list[str]) -> int:
        text = "\n".join(rows)
        number = self.texts.get(text)
        if number is None:
            self.last += 1
            number = self.texts[text] = self.last
            self.rows[number] = rows
            self.send(b"D", struct.pack("<Q", number) + b"python\0" + text.encode("utf-8", "surrogateescape"))
        return number

    def slot(self) -> bytearray:
        """This thread's slot."""
        slot: bytearray | None = getattr(self.local, "slot", None)
        if slot is None:
            slot = self.local.slot = bytearray(b"pctold1S" + bytes(24))
            self.write(slot)
        return slot

    def run(self, number: int, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function for whoever asked. Whoever reads the stack knows this frame: there it goes on with that."""
        slot = self.slot()
        before = struct.unpack_from("<Q", slot, _ASKED)[0]
        struct.pack_into("<Q", slot, _ASKED, number)
        try:
            return function(*args, **kwargs)
        finally:
            struct.pack_into("<Q", slot, _ASKED, before)


_RUN = _Agent.run.__code__


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
    """A function that notes who asked for it, also where a process of a pool runs it."""

    __slots__ = ("function", "number")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.number = _get().stack()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _get().run(self.number, self.function, args, kwargs)

    def __reduce__(self) -> Any:
        return eval, (_UNPICKLE, {"function": self.function, "rows": _get().rows.get(self.number, [])})


_UNPICKLE = (
    "(lambda agent: agent._unpickled(function, rows) if agent else function)"
    "(__import__('sys').modules.get('powercut_agent'))"
)
"""By words alone: a process without the agent gets the function itself."""


def _unpickled(function: Any, rows: list[str]) -> Any:
    """A job in another process, which numbers stacks anew."""
    job = _Job.__new__(_Job)
    job.function, job.number = function, _get().number_of(rows)
    return job


def _job(function: Any) -> Any:
    return function if _get().off or isinstance(function, _Job) else _Job(function)


def _patch_executor(owner: str) -> Any:
    def patch(module: Any) -> None:
        executor = getattr(module, owner)
        submit = executor.submit

        def followed(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return submit(self, _job(fn), *args, **kwargs)

        _replace(executor, "submit", followed)

    return patch


def _patch_pool(module: Any) -> None:
    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
        _patch_method(module.Pool, name)


def _patch_method(owner: Any, name: str) -> None:
    original = getattr(owner, name)

    def followed(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, _job(func), *args, **kwargs)

    _replace(owner, name, followed)


def _patch_threads(module: Any) -> None:
    """A thread was asked for by the line that starts it, unless a library does: its threads wait for jobs of others."""
    start, run = module.Thread.start, module.Thread._bootstrap_inner

    def followed_start(self: Any) -> None:
        if not _get().off and _LIBRARY.search(sys._getframe(1).f_code.co_filename) is None:
            self._powercut_asked = _get().stack()
        start(self)

    def followed_run(self: Any) -> None:
        number = getattr(self, "_powercut_asked", 0)
        if number:
            _get().run(number, run, (self,), {})
        else:
            run(self)

    _replace(module.Thread, "start", followed_start)
    _replace(module.Thread, "_bootstrap_inner", followed_run)


def _patch_loop(module: Any) -> None:
    """Tasks and callbacks carry the number of whoever asked in their context; the loop runs them with it.

    A loop that starts with a task has that start on its stack. What asyncio itself schedules goes on for the same.
    """
    from contextvars import ContextVar

    asked: ContextVar[int] = ContextVar("powercut_asked", default=0)
    loop, handle = module.BaseEventLoop, module.events.Handle
    run = handle._run

    def follow(name: str, *, also_by_asyncio: bool) -> None:
        original = getattr(loop, name)

        def followed(self: Any, *args: Any, **kwargs: Any) -> Any:
            inside = sys._getframe(1).f_globals.get("__name__", "").startswith("asyncio.")
            if (inside and not (also_by_asyncio and self.is_running())) or kwargs.get("context") or _get().off:
                return original(self, *args, **kwargs)
            before = asked.set(_get().stack())
            try:
                return original(self, *args, **kwargs)
            finally:
                asked.reset(before)

        _replace(loop, name, followed)

    def followed_run(self: Any) -> None:
        number = self._context.get(asked, 0)
        if number:
            _get().run(number, run, (self,), {})
        else:
            run(self)

    follow("create_task", also_by_asyncio=True)
    for name in ("call_soon", "call_soon_threadsafe", "call_later", "call_at"):
        follow(name, also_by_asyncio=False)
    _replace(handle, "_run", followed_run)


def _patch_trio(module: Any) -> None:
    """Threads of trio wait for jobs in a cache of its own."""
    if hasattr(getattr(module, "ThreadCache", None), "start_thread_soon"):
        _patch_method(module.ThreadCache, "start_thread_soon")


def _patch_anyio(module: Any) -> None:
    """So do those of anyio on asyncio, from its version 4 on; on trio they are trio's."""
    backend, name = getattr(module, "AsyncIOBackend", None), "run_sync_in_worker_thread"
    original = getattr(getattr(backend, name, None), "__func__", None)
    if original is None:
        return

    def followed(cls: Any, func: Any, args: Any, *more: Any, **kwargs: Any) -> Any:
        return original(cls, _job(func), args, *more, **kwargs)

    followed.__name__, followed.__qualname__, followed.__doc__ = name, original.__qualname__, original.__doc__
    setattr(backend, name, classmethod(followed))


def _replace(owner: Any, name: str, function: Any) -> None:
    original = getattr(owner, name)
    function.__name__, function.__qualname__, function.__doc__ = name, original.__qualname__, original.__doc__
    setattr(owner, name, function)


_PATCHES = {
    "threading": _patch_threads,
    "concurrent.futures.thread": _patch_executor("ThreadPoolExecutor"),
    "concurrent.futures.process": _patch_executor("ProcessPoolExecutor"),
    "multiprocessing.pool": _patch_pool,
    "asyncio.base_events": _patch_loop,
    "trio._core._thread_cache": _patch_trio,
    "anyio._backends._asyncio": _patch_anyio,
}


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
