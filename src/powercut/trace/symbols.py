"""Turns recorded stacks into frames with functions, files and lines.

The tracer stores only addresses. Names are looked up once per distinct address, in batches per file, when a report
needs them: most recorded stacks are never shown.
"""

from __future__ import annotations

import posixpath
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from powercut.quick_dataclass import dataclass
from powercut.runtimes.known import runtime_of, told_frames
from powercut.runtimes.python import JOINT
from powercut.runtimes.runtime import AGENTS
from powercut.trace import others_code as theirs
from powercut.trace.debug_file import debug_file
from powercut.trace.demangle import demangled, is_mangled
from powercut.trace.elf import Elf, ElfError
from powercut.trace.go_lines import GoLines
from powercut.trace.layout import TableKind
from powercut.trace.lines import Line, line_reader, read_lines
from powercut.trace.pycode import parse_pycode
from powercut.trace.reader import Trace
from powercut.trace.symbol_table import SymbolTable

_FRAME = struct.Struct("<IIQ")
_NATIVE = 1
_PYTHON = 2
_TOLD = 3
_ASKED = 4

_AGENTS = f"{AGENTS}/"
_FEW_STACKS = 1000
"""So many take no longer than one: nearly all the time goes into reading line information, once for each run of it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of a call stack, as a person reads it.

    Attributes:
        address: in the module, for native code: tells calls apart where there are no lines. It makes no other frame.
        column: in the line, counted from 1 (in Python in bytes), where that is known: tells calls in one line apart.
            It makes no other frame, either.
        language: whose runtime told of it; empty for what was found in the program's memory.
        asked: of whoever asked another thread for the call, or asked for it before it could be made.
    """

    function: str
    file: str | None
    line: int | None
    module: str | None
    python: bool = False
    address: int = field(default=0, compare=False)
    column: int | None = field(default=None, compare=False)
    language: str = ""
    asked: bool = field(default=False, compare=False)

    @property
    def interpreted(self) -> bool:
        """Whether it is of a language that a runtime runs: then native frames say nothing."""
        return self.python or bool(self.language)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file or self.module or "?"
        return f"{self.function} at {place}"


@dataclass(slots=True)
class _Module:
    """What can be said of one file: read once, then the file is closed. `debug` is where its lines are."""

    debug: str | None = None
    build_id: str = ""
    symbols: SymbolTable | None = None
    go: GoLines | None = None

    def name(self, address: int) -> str:
        """The name of the function at an address, in the table of symbols; empty if there is none."""
        return (self.symbols.name(address) if self.symbols else None) or ""


def _open_module(path: str) -> _Module:
    try:
        with open(path, "rb") as stream:
            elf = Elf(stream)
            debug = debug_file(path, elf)
            return _Module(debug, elf.build_id(), _symbols(path, elf, debug), _go_lines(elf))
    except (OSError, ElfError):
        return _Module()  # gone, replaced by something else, or malformed


def _go_lines(elf: Elf) -> GoLines | None:
    try:
        return GoLines(elf)
    except ElfError:
        return None


def _symbols(path: str, elf: Elf, debug: str | None) -> SymbolTable:
    """Those of the file with debug information, where it has them: what is stripped has only those it exports."""
    if debug is not None and debug != path:
        with open(debug, "rb") as stream:
            apart = Elf(stream)
            if apart.has(".symtab"):
                return SymbolTable(apart)
    return SymbolTable(elf)


@dataclass(slots=True)
class Symbolizer:
    """Names addresses of files. Keeps every answer: the same few call sites come again and again."""

    reader: Path | None = field(default_factory=line_reader)
    _modules: dict[str, _Module] = field(default_factory=dict)
    _known: dict[tuple[str, int], tuple[Frame, ...]] = field(default_factory=dict)
    _expected: dict[str, str] = field(default_factory=dict)

    def expect_build_id(self, path: str, build_id: str) -> None:
        """Says which build the recorded program had mapped. Another one at the same path would give wrong lines."""
        if build_id:
            self._expected[path] = build_id

    def resolve(self, requests: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[Frame, ...]]:
        """Frames for each (path, file address), inlined functions first; never empty."""
        wanted = list(requests)
        missing: defaultdict[str, set[int]] = defaultdict(set)
        for path, address in wanted:
            if (path, address) not in self._known:
                missing[path].add(address)
        for path, addresses in missing.items():
            self._resolve_module(path, sorted(addresses))
        return {request: self._known[request] for request in wanted}

    def _module(self, path: str) -> _Module:
        module = self._modules.get(path)
        if module is None:
            module = _open_module(path)
            expected = self._expected.get(path)
            if expected and module.build_id != expected:
                module = _Module()
            self._modules[path] = module
        return module

    def _resolve_module(self, path: str, addresses: Sequence[int]) -> None:
        module = self._module(path)
        known = module.go.lines(addresses) if module.go is not None else {}
        others = [address for address in addresses if address not in known]
        if self.reader and module.debug and others:
            known |= read_lines(self.reader, module.debug, others)
        lines = [(address, self._named(module, address, known.get(address, []))) for address in addresses]
        names = iter(demangled([line.function for _, found in lines for line in found]))
        for address, found in lines:
            self._known[path, address] = tuple(
                Frame(
                    next(names) or _place(path, address),
                    line.file,
                    line.line,
                    path,
                    address=address,
                    column=line.column,
                )
                for line in found
            )

    @staticmethod
    def _named(module: _Module, address: int, lines: list[Line]) -> list[Line]:
        """The functions at an address, at least one, with names where there are any.

        Debug information has no linker's name of functions that no other file sees; the table of symbols has.
        """
        if not lines:
            return [Line(module.name(address), None, None, None)]
        outermost = lines[-1]
        if is_mangled(outermost.function):
            return lines
        symbol = module.name(address).partition(".")[0]  # what follows tells parts of a function apart
        better = symbol if is_mangled(symbol) or not outermost.function else outermost.function
        return [*lines[:-1], replace(outermost, function=better)]


def _place(path: str, address: int) -> str:
    return f"{posixpath.basename(path)}+{address:#x}"


def _unnamed(frame: Frame) -> bool:
    return frame.module is not None and frame.function.startswith(f"{posixpath.basename(frame.module)}+0x")


_ALIAS = re.compile(r"^_*(GI_+)?(libc_)?")
"""What glibc puts in front of names that it calls itself."""


def in_c_library(frame: Frame) -> bool:
    return frame.module is not None and theirs.C_LIBRARY.fullmatch(posixpath.basename(frame.module)) is not None


def _library_frame(frame: Frame) -> bool:
    """Is this the C library, as a file of its own or linked into a static program?"""
    if in_c_library(frame):
        return True
    return frame.line is None and theirs.C_FUNCTIONS.fullmatch(frame.function) is not None


def _user_python_file(file: str | None) -> bool:
    return file is not None and not file.startswith("<") and theirs.STANDARD_LIBRARY.search(file) is None


def is_runtime(module: str | None) -> bool:
    """Whether a file is a program that runs those of the user."""
    return (
        theirs.RUNTIME.fullmatch(posixpath.basename(module or "")) or theirs.TOOL.fullmatch(module or "")
    ) is not None


def is_own(frame: Frame) -> bool:
    """Whether a frame is a line of the user's own code, as far as that can be told."""
    if frame.python:
        return _user_python_file(frame.file)
    if frame.language:
        runtime = runtime_of(frame.language)
        return runtime is not None and frame.line is not None and runtime.is_own(frame.function, frame.file)
    if frame.line is None or in_c_library(frame) or theirs.SYSTEM_LIBRARY.match(frame.module or ""):
        return False
    if is_runtime(frame.module):
        return False
    return theirs.LIBRARY_SOURCE.match(frame.file or "") is None


def only_own(frames: Sequence[Frame]) -> list[Frame]:
    """The frames that are the user's own, innermost first; under an interpreter only its language counts."""
    own = _whose_source_is_there([frame for frame in frames if is_own(frame)])
    compiled = [frame for frame in own if not frame.interpreted]
    if any(frame.interpreted and not frame.asked for frame in frames) or not compiled:
        return [frame for frame in own if frame.interpreted] if any(frame.interpreted for frame in frames) else own
    return own  # a compiled program of the user's, which a script may have started


def _whose_source_is_there(own: list[Frame]) -> list[Frame]:
    """Without what a runtime tells of files that are nowhere, if others are there: classes of libraries in jars."""
    if not any(frame.language and (frame.file or "").startswith("/") for frame in own):
        return own
    return [frame for frame in own if not frame.language or (frame.file or "").startswith("/")]


def user_frame(frames: Sequence[Frame]) -> Frame | None:
    """The frame to blame: the innermost one that is the user's own code, as far as that can be told."""
    own = only_own(frames)
    interpreted = [frame for frame in frames if frame.interpreted]
    if own or interpreted:
        packages = [frame for frame in interpreted if frame.language and not in_language_library(frame)]
        return next(iter([*own, *packages, *interpreted]))
    lines = [
        frame for frame in frames if frame.line is not None and not theirs.SYSTEM_LIBRARY.match(frame.module or "")
    ]
    outside = [frame for frame in frames if not _library_frame(frame)]
    if addon := _addon(outside):
        return next((frame for frame in addon if not _unnamed(frame)), addon[0])
    named = [frame for frame in (*lines, *outside) if not in_language_library(frame)]
    at_exit = [frame for frame in frames if in_c_library(frame) and plain_name(frame) == "exit"]  # flushes what is left
    return next(iter([*named, *lines, *outside, *at_exit, *frames]), None)


def _addon(outside: Sequence[Frame]) -> list[Frame]:
    """The frames of an extension that a runtime has loaded and that made the call; none if the runtime made it itself.

    Lines of the runtime, where it has them, only say that one of its threads ran the extension.
    """
    inner = list(takewhile(lambda frame: not is_runtime(frame.module), outside))
    return inner if len(inner) < len(outside) else []


def own_frames(frames: Sequence[Frame]) -> Sequence[Frame]:
    """The frames from the user's own innermost one outwards."""
    frame = user_frame(frames)
    return frames[frames.index(frame) :] if frame is not None else frames


def plain_name(frame: Frame) -> str:
    """A function of the C library as programs call it."""
    return _ALIAS.sub("", frame.function)


def library_frames(frames: Sequence[Frame]) -> list[Frame]:
    """The named frames of libraries below the user's own innermost one, innermost first, without the C library."""
    own = only_own(frames)
    inside = frames[: frames.index(own[0])] if own else frames
    return [frame for frame in inside if not _library_frame(frame) and not _unnamed(frame)]


def in_language_library(frame: Frame) -> bool:
    """Whether a frame is of the library that comes with a language: of Rust, C++, Go, or what a runtime runs."""
    if frame.language and not frame.python:
        runtime = runtime_of(frame.language)
        return runtime is not None and runtime.is_standard(frame.function, frame.file)
    if theirs.LANGUAGE_SOURCE.match(frame.file or "") or theirs.LANGUAGE_MODULE.fullmatch(
        posixpath.basename(frame.module or "")
    ):
        return True
    return not frame.python and theirs.LANGUAGE_FUNCTION.match(frame.function) is not None


def library_function(frames: Sequence[Frame]) -> str | None:
    """The innermost named function between the C library and the user's own code; None if they meet."""
    own = user_frame(frames)
    inside = frames[: frames.index(own)] if own is not None else ()
    return next((f.function for f in inside if not _library_frame(f) and not _unnamed(f)), None)


_CANCEL = re.compile(r"_*(internal_|GI_)*_*syscall_cancel(_arch)?")


def _tidy(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Leaves out what the C library does inside its own functions: newer ones call the kernel from a helper."""
    count = next((index for index, frame in enumerate(frames) if not in_c_library(frame)), len(frames))
    front = [frame for frame in frames[:count] if not _unnamed(frame) and not _CANCEL.fullmatch(frame.function)]
    return (*front, *frames[count:]) if front else tuple(frames)


_INTERPRETER = re.compile(r"(libpython3(\.\d+)?[a-z]*\.so.*|python(3(\.\d+)?)?[a-z]*)")


def _interpreter(module: str) -> bool:
    return _INTERPRETER.fullmatch(posixpath.basename(module)) is not None


Table = Mapping[int, Any] | Callable[[int], Any]
"""A raw table of the trace: a mapping, or a function that raises KeyError for ids it does not know."""


def _lookup(table: Table, key: int) -> Any:
    try:
        return table(key) if callable(table) else table[key]
    except (KeyError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class _Native:
    module: str | None
    address: int


def _up_to_joint(frames: list[Frame]) -> list[Frame]:
    """What a thread did for whoever asked: outside of the agent's call is the pool or the loop, which says nothing."""
    joints = (index for index, frame in enumerate(frames) if (frame.file or "").startswith(_AGENTS))
    return frames[: next((index for index in joints if frames[index].function == JOINT), len(frames))]


class StackResolver:
    """Gives the frames of recorded stacks.

    ``stack`` gives arrays of ``struct pc_frame`` (any buffer), ``module`` paths or whole PC_TABLE_MODULE entries
    (path, NUL, build-id), ``pycode`` PC_TABLE_PYCODE entries, ``told`` PC_TABLE_TOLD entries.
    """

    def __init__(
        self,
        stack: Table,
        module: Table,
        pycode: Table,
        symbolizer: Symbolizer | None = None,
        count: int = 0,
        told: Table | None = None,
    ) -> None:
        """`count` stacks there are, with numbers from 1 on; 0 if that is not known."""
        self._stacks = stack
        self._count = count
        self._modules = module
        self._pycodes = pycode
        self._told: Table = told or {}
        self._symbolizer = symbolizer or Symbolizer()
        self._paths: dict[int, str | None] = {}
        self._stacks_told: dict[int, list[Frame]] = {}
        self._done: dict[int, tuple[Frame, ...]] = {}

    @classmethod
    def of(cls, trace: Trace, symbolizer: Symbolizer | None = None) -> StackResolver:
        """The resolver of a trace's stacks."""
        return cls(
            lambda number: trace.entry(TableKind.STACK, number),
            lambda number: trace.entry(TableKind.MODULE, number),
            lambda number: trace.entry(TableKind.PYCODE, number),
            symbolizer,
            len(trace.table(TableKind.STACK)),
            lambda number: trace.entry(TableKind.TOLD, number),
        )

    def prepare(self, stack_ids: Iterable[int]) -> None:
        """Resolves many stacks at once: lines are read once for each file instead of once for each stack.

        Where there are few, all are resolved with the first: others will be asked for.
        """
        missing = {stack for stack in stack_ids if stack not in self._done}
        if missing and self._count <= _FEW_STACKS:
            missing.update(stack for stack in range(1, self._count + 1) if stack not in self._done)
        parsed = {stack: self._parse(stack) for stack in missing}
        wanted = {
            (native.module, native.address)
            for natives, _ in parsed.values()
            for native in natives
            if native.module is not None
        }
        names = self._symbolizer.resolve(wanted)
        for stack, (natives, python) in parsed.items():
            self._done[stack] = (*_tidy(list(self._native_frames(natives, names))), *python)

    def frames(self, stack_id: int) -> tuple[Frame, ...]:
        """Innermost first: native frames (without those of a Python interpreter), then Python frames."""
        if stack_id not in self._done:
            self.prepare([stack_id])
        return self._done[stack_id]

    @staticmethod
    def _native_frames(
        natives: Iterable[_Native], names: Mapping[tuple[str, int], tuple[Frame, ...]]
    ) -> Iterator[Frame]:
        for native in natives:
            if native.module is None:
                yield Frame(f"{native.address:#x}", None, None, None)
            else:
                yield from names[native.module, native.address]

    def _parse(self, stack_id: int) -> tuple[list[_Native], list[Frame]]:
        raw = _lookup(self._stacks, stack_id) if stack_id else None
        data = b"" if raw is None else bytes(memoryview(raw))
        natives: list[_Native] = []
        python: list[Frame] = []
        for kind, ref, address in _FRAME.iter_unpack(data[: len(data) // _FRAME.size * _FRAME.size]):
            if kind == _NATIVE:
                natives.append(_Native(self._path(ref), address))
            elif kind == _PYTHON:
                python.append(self._python_frame(ref, address))
            elif kind in (_TOLD, _ASKED):
                python = _up_to_joint(python) if kind == _ASKED else python
                python += self._told_frames(ref, asked=kind == _ASKED)
        python = [frame for frame in python if not (frame.file or "").startswith(_AGENTS)]
        return (self._before_interpreter(natives) if python else natives), python

    @staticmethod
    def _before_interpreter(natives: list[_Native]) -> list[_Native]:
        """What an extension or the C library did; from the interpreter outwards the Python frames say it better."""
        for index, native in enumerate(natives):
            if native.module is not None and _interpreter(native.module):
                return natives[:index]
        return natives

    def _path(self, ref: int) -> str | None:
        if ref not in self._paths:
            entry = _lookup(self._modules, ref) if ref else None
            if isinstance(entry, str) or entry is None:
                self._paths[ref] = entry
            else:
                path, _, build_id = bytes(entry).partition(b"\0")
                self._paths[ref] = path.decode("utf-8", "surrogateescape")
                self._symbolizer.expect_build_id(self._paths[ref] or "", build_id.decode("ascii", "replace"))
        return self._paths[ref]

    def _told_frames(self, ref: int, *, asked: bool) -> list[Frame]:
        if ref not in self._stacks_told:
            entry = _lookup(self._told, ref) if ref else None
            language, told = told_frames(bytes(entry)) if entry is not None else ("", [])
            self._stacks_told[ref] = [
                Frame(
                    frame.function,
                    frame.file,
                    frame.line,
                    None,
                    python=language == "python",
                    column=frame.column,
                    language=language,
                )
                for frame in told
            ]
        return [replace(frame, asked=asked) for frame in self._stacks_told[ref]]

    def _python_frame(self, ref: int, offset: int) -> Frame:
        entry = _lookup(self._pycodes, ref) if ref else None
        code = parse_pycode(bytes(entry)) if entry is not None else None
        if code is None:
            return Frame("?", None, None, None, python=True)
        line, column = code.position_of(offset)
        return Frame(code.qualname, code.filename, line, None, python=True, column=column)
