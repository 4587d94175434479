"""A second, independent statement of the patterns of mapped memory: slow, naive, from docs/lint.md alone.

Every byte is an object of its own that knows who stored it, whether it is still in a cache, and at whose next fence it
persists. There are no bit sets, no tables of lines and nothing is ever used again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

LINE, WORD, PAGE = 64, 8, 4096


@dataclass
class Byte:
    """A byte that was stored and is not persistent yet."""

    stack: int
    value: int
    cached: bool  # not flushed since
    harmless: bool  # storing over it is no mistake: it was cleared, or changed by a locked instruction
    sent: set[int] = field(default_factory=set)  # threads whose next fence makes it persistent


@dataclass
class Line:
    """What is remembered of a cache line."""

    bytes: dict[int, Byte] = field(default_factory=dict)
    flushed: bool = False  # ever
    bypassed: bool = False  # written back by a non-temporal store last
    stores: int = 0  # plain store instructions since it was flushed, or wholly persistent
    overwrites: list[tuple[int, int]] = field(default_factory=list)
    written_back: int = 0  # the stack of its last flush, sync or non-temporal store


@dataclass
class Thread:
    """What a thread has done since its fences."""

    work: bool = False  # since its last sfence or mfence
    own_work: bool = False  # of the program itself, since the last one of the program itself
    last_line: tuple[int, int] | None = None


class Twin:
    """Finds the patterns, one record after the other."""

    def __init__(self, internal: set[int], eadr: bool) -> None:
        self.found: Counter[tuple[str, int, int, int]] = Counter()  # (pattern, file, stack, other)
        self.internal = internal
        self.eadr = eadr
        self.lines: dict[tuple[int, int], Line] = {}
        self.threads: dict[int, Thread] = {}
        self.written: dict[int, tuple[int, int]] = {}
        self.stored: set[int] = set()  # files, since their last sync

    def own(self, stack: int) -> bool:
        return stack not in self.internal

    def see(self, pattern: str, file: int, stack: int, other: int = 0) -> None:
        if self.own(stack):
            self.found[pattern, file, stack, other] += 1

    def line(self, file: int, offset: int) -> Line:
        return self.lines.setdefault((file, offset // LINE), Line())

    def thread(self, tid: int) -> Thread:
        return self.threads.setdefault(tid, Thread())

    def worked(self, tid: int, stack: int) -> None:
        self.thread(tid).work = True
        if self.own(stack):
            self.thread(tid).own_work = True

    def settle_overwrites(self, file: int, line: Line, stack: int) -> None:
        """The line is written back: only now do the overwrites count, and not if a library does it."""
        for first, second in line.overwrites if self.own(stack) else ():
            self.see("overwrite", file, second, first)
        line.overwrites.clear()

    def persist(self, line: Line, offsets: set[int]) -> None:
        for offset in offsets:
            line.bytes.pop(offset, None)
        if not line.bytes:
            line.stores = 0

    def store(self, tid, file, offset, size, kind, value, stack, rest):
        line, thread, bypasses = self.line(file, offset), self.thread(tid), kind == "nontemporal"
        covered = range(offset, offset + size)
        self.stored.add(file)
        same_instruction = rest and thread.last_line == (file, offset // LINE)
        thread.last_line = (file, offset // LINE)
        if bypasses or self.eadr:
            self.worked(tid, stack)
        if self.eadr and not bypasses:
            self.persist(line, set(covered))
            return
        values = dict(zip(covered, value.to_bytes(8, "little"), strict=False))
        known = {b: line.bytes[b] for b in covered if b in line.bytes}
        over = {byte.stack for b, byte in known.items() if not byte.harmless and byte.value != values[b]}
        is_new = line.bypassed and not self.own(line.written_back)  # a library has cleared it
        if kind != "locked" and self.own(stack) and not is_new:
            line.overwrites += [(first, stack) for first in over if self.own(first)]
        for b in covered:
            line.bytes[b] = Byte(stack, values[b], not bypasses, kind == "locked" or not any(values.values()))
        if bypasses:
            self.settle_overwrites(file, line, stack)
            line.bypassed, line.written_back = True, stack
            for byte in line.bytes.values():
                byte.sent.add(tid)
        elif not same_instruction or line.stores == 0:
            line.stores += 1

    def flush(self, tid, file, offset, how, stack):
        if self.eadr:
            self.see("flush-eadr", file, stack)
            return
        line = self.line(file, offset)
        self.worked(tid, stack)
        if any(byte.cached or tid not in byte.sent for byte in line.bytes.values()):
            if line.stores > 1:
                self.see("flush-several", file, stack)
            self.settle_overwrites(file, line, stack)
            line.stores, line.bypassed, line.written_back = 0, False, stack
        elif not self.own(line.written_back):
            pass  # what a library wrote back on its own account nobody can rely on
        elif line.bypassed:
            self.see("flush-bypassed", file, stack)
        elif line.flushed:
            self.see("flush-again", file, stack)
        elif not self.was_written(file, offset // LINE * LINE):
            self.see("flush-clean", file, stack)
        if not (line.flushed or line.bypassed):
            line.written_back = stack
        line.flushed = True
        for byte in line.bytes.values():
            byte.cached = False
            byte.sent.add(tid)
        if how == "clflush":
            self.persist(line, set(line.bytes))

    def was_written(self, file: int, start: int) -> bool:
        low, high = self.written.get(file, (0, 0))
        return start < high and start + LINE > low

    def fence(self, tid, how, stack):
        thread, lines = self.thread(tid), 0
        for line in self.lines.values():
            done = {offset for offset, byte in line.bytes.items() if tid in byte.sent}
            lines += bool(done)
            if done:
                self.persist(line, done)
        if lines > 1:
            self.see("fence-several", 0, stack)
        if how == "locked":
            return
        if not thread.work and not thread.own_work:
            self.see("fence-idle", 0, stack)
        thread.work = False
        if self.own(stack):
            thread.own_work = False

    def sync(self, file: int, low: int, high: int, stack: int) -> bool:
        useful = self.eadr and file in self.stored
        self.stored.discard(file)
        for (owner, number), line in self.lines.items():
            if owner == file and line.bytes and number * LINE < high and (number + 1) * LINE > low:
                self.settle_overwrites(file, line, stack)
                self.persist(line, set(line.bytes))
                line.flushed, line.bypassed, line.written_back = True, False, stack
                useful = True
        return useful

    def write(self, file: int, offset: int, length: int) -> None:
        low, high = self.written.get(file, (offset, offset + length))
        self.written[file] = (min(low, offset), max(high, offset + length))

    def forget(self, file: int) -> None:
        for (owner, _), line in self.lines.items():
            if owner == file:
                self.persist(line, set(line.bytes))
                line.overwrites.clear()

    def end(self) -> None:
        for (file, _), line in self.lines.items():
            words = set()
            for offset, byte in line.bytes.items():
                words.add((offset // WORD, byte.stack, bool(byte.sent)))
            for _, stack, sent in words:
                never = "unflushed" if line.flushed else "transient"
                self.see("unfenced" if sent else never, file, stack)
