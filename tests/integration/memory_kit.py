"""What tests of the memory tracer share: programs that map a file, and their memory events as tests compare them.

Before: a C compiler, and the tracer with its Valgrind tool. After: programs written by hand give exactly the events
that their instructions mean, and the stores of larger ones, replayed, give the very bytes they left.
"""

from __future__ import annotations

import os
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from powercut.trace.layout import Fence, Flag, Flush, Kind

from .tracer_kit import Event, Recording, Replay, compile_c, real_tree, record

TOOL = Path(
    os.environ.get("POWERCUT_GRIND") or Path(sysconfig.get_paths()["platlib"]) / "powercut/_native/powercut-grind"
)

MEMORY = (Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.UNMAP)

WORD, LINE, PAGE = 8, 64, 4096

PLAIN = Flag(0)

MAPPED = r"""
#include <setjmp.h>
#include <signal.h>
static unsigned char *map_file(const char *name, size_t size, int flags, void *where) {
    int fd = must(open(name, O_CREAT | O_RDWR, 0600));
    OK(ftruncate(fd, size));
    void *at = mmap(where, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
    if (at == MAP_FAILED) { perror("mmap"); exit(9); }
    OK(close(fd));
    return at;
}
static inline void fence(void) { __asm__ volatile("sfence" ::: "memory"); }
"""

needs_tool = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")


def trace(data: Path, body: str, *arguments: str | Path, **settings: object) -> Recording:
    """Compile a program of this text and run it in the memory tracer."""
    program = compile_c(data.parent, MAPPED + body)
    return opened(record(data, [program, *arguments], "--memory-tool", str(TOOL), **settings))


def opened(recording: Recording) -> Recording:
    """The same, with all events at hand: looking at them one by one is slow."""
    recording.trace.events = recording.trace.events[:]
    return recording


class MemoryReplay(Replay):
    """A folder to which stores are applied, too. They never make a file longer."""

    def on_store(self, event: Event) -> None:
        assert event.offset + event.length <= len(self.files[event.inode]), event
        self.on_write(event)


def assert_explained(recording: Recording) -> None:
    """The trace explains the folder, byte for byte."""
    assert MemoryReplay(recording).tree() == real_tree(recording.folder)


@dataclass(frozen=True)
class Happening:
    """One memory event, as far as tests compare it. `what` holds the bytes of a store, or how it was flushed."""

    kind: Kind
    offset: int = 0
    what: bytes | int = 0
    flags: Flag = PLAIN


def happenings(recording: Recording) -> list[Happening]:
    """All memory events of a recording that are about mapped files."""
    return [happening(event) for event in recording.events(*MEMORY) if not is_of_no_file(event)]


def is_of_no_file(event: Event) -> bool:
    """A flush of ordinary memory, which is recorded as a mistake to be told."""
    return event.kind == Kind.FLUSH and event.inode == 0


def happening(event: Event) -> Happening:
    what = event.data if event.kind == Kind.STORE else event.length if event.kind == Kind.UNMAP else event.extra
    return Happening(event.kind, event.offset, what, event.flags)


def store(offset: int, text: str, flags: Flag = PLAIN, rest: bool = False) -> list[Happening]:
    """What one instruction that stores these bytes gives: a part for each aligned word."""
    content, parts = bytes.fromhex(text), []
    while content:
        size = min(len(content), WORD - offset % WORD)
        parts.append(Happening(Kind.STORE, offset, content[:size], flags | (Flag.REST if rest else PLAIN)))
        content, offset, rest = content[size:], offset + size, True
    return parts


def nontemporal(offset: int, text: str, rest: bool = False) -> list[Happening]:
    return store(offset, text, Flag.NONTEMPORAL, rest)


def locked(offset: int, text: str) -> list[Happening]:
    return store(offset, text, Flag.LOCKED)


def flush(offset: int, how: Flush) -> list[Happening]:
    return [Happening(Kind.FLUSH, offset // LINE * LINE, how)]


def fence(how: Fence) -> list[Happening]:
    return [Happening(Kind.FENCE, 0, how)]
