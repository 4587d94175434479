"""A second, independent statement of the rules of assertions: byte by byte, slow, and written from the rules alone.

Operations are tuples; their place is their position in the list. The answer: for each kind, reason and place of what
must be found, the pairs (write, other) that may stand beside it. `EXACT` kinds must come with exactly these pairs,
others with at least one of them.

  ("write", a, n) ("write_nt", a, n) ("flush", a, n) ("library_flush", a, n) ("fence",) ("ofence",) ("dfence",)
  ("tx_begin",) ("tx_add", a, n) ("tx_add_if", a, n) ("tx_alloc", a, n) ("tx_end",)
  ("tx_abort",) ("trace_end",)
  ("is_persistent", a, n) ("order", a, n, b, m) ("checker_start",) ("checker_end",) ("scope_start",)
  ("exclude", a, n) ("include", a, n) ("pool", a, n) ("unpool", a, n) ("start",) ("end",) ("thread_end",)
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

LINE = 64
LARGEST = 1 << 30
EXACT = {"not-persistent", "incomplete-transaction"}


@dataclass
class Byte:
    """What is known of one byte that was written."""

    write: int  # position
    epoch: int
    through: bool  # around the cache (x86), or into a cache that survives (eADR)
    flush: int | None = None
    flush_epoch: int | None = None
    lucky: bool = False  # flushed with other bytes of its line, not by itself


class Twin:
    """One thread under one model."""

    def __init__(self, model):
        self.model = model
        self.memory = {}
        self.epoch = 1
        self.drained = 0  # everything of an earlier epoch is persistent (HOPS)
        self.pools, self.excluded = set(), set()
        self.any_pool = False
        self.log = {}  # byte -> (position, new)
        self.depth, self.begun = 0, None
        self.scopes = []  # (position, is transaction, depth before, bytes written)
        self.started = None
        self.found = defaultdict(set)

    # What holds.

    def lacks(self, byte):
        """What a byte lacks to be persistent."""
        if self.model == "hops":
            return None if byte.epoch < self.drained else "fence"
        if self.model == "eadr":
            return None if byte.through or byte.epoch < self.epoch else "fence"
        if byte.flush_epoch is None:
            return "flush"
        return None if byte.flush_epoch < self.epoch else "fence"

    def before(self, a, b):
        """Whether a persists before b for sure."""
        if self.model == "hops":
            return a.epoch < b.epoch
        if self.lacks(a):
            return False
        if self.model == "eadr":
            return a.write < b.write if a.through else a.epoch < b.epoch
        return a.flush_epoch < b.epoch

    # Operations.

    def run(self, operations):
        """All of them; what is found."""
        for position, (name, *rest) in enumerate(operations):
            if name == "order":
                self.order(position, *rest)
            elif rest:
                self.ranged(name, position, *rest)
            else:
                getattr(self, name)(position)
        return self.found

    def tell(self, kind, why, at, write=None, other=None):
        self.found[kind, why, at].add((write, other))

    def sound(self, name, position, a, n):
        about_pools = name in ("pool", "unpool", "exclude", "include")
        if n == 0:
            self.tell("wrong-use", "zero-size", position)
        elif n > LARGEST and not about_pools:
            self.tell("wrong-use", "huge-size", position)
        elif self.pools and not about_pools and not all(x in self.pools for x in range(a, a + n)):
            self.tell("wrong-use", "outside-pool", position)
        else:
            return True
        return False

    def ranged(self, name, position, a, n):
        if self.sound(name, position, a, n):
            getattr(self, name)(position, range(a, a + n))

    def write(self, position, span, through=False):
        for piece in self.pieces(span):
            self.back_up(position, piece)
            for x in piece:
                byte = self.memory[x] = Byte(position, self.epoch, through or self.model == "eadr")
                if through and self.model == "x86":
                    byte.flush, byte.flush_epoch = position, self.epoch
            for scope in self.scopes:
                scope[3].update(piece)

    def write_nt(self, position, span):
        if self.model == "eadr":
            for piece in self.pieces(span):
                self.back_up(position, piece)
                for x in piece:
                    self.memory[x] = Byte(position, self.epoch, False)
                for scope in self.scopes:
                    scope[3].update(piece)
        else:
            self.write(position, span, through=True)

    def pieces(self, span):
        """What is not excluded, in stretches."""
        piece = []
        for x in span:
            if x in self.excluded:
                if piece:
                    yield piece
                piece = []
            else:
                piece.append(x)
        if piece:
            yield piece

    def back_up(self, position, piece):
        if not self.depth:
            return
        logged = [x for x in piece if x in self.log]
        if not logged:
            self.tell("missing-backup", "", position, position)
        elif len(logged) < len(piece):
            for x in logged:
                self.tell("missing-backup", "partial", position, position, self.log[x][0])

    def flush(self, position, span):
        if self.model == "eadr":
            self.tell("unnecessary-writeback", "cache-survives", position)
        if self.model in ("eadr", "hops"):
            return
        lines = range(span.start // LINE, (span.stop - 1) // LINE + 1)
        lined = range(lines.start * LINE, lines.stop * LINE)
        if not any(x in self.excluded for x in lined):
            for line in lines:
                self.look_for_need(position, [self.memory.get(x) for x in range(line * LINE, (line + 1) * LINE)])
        self.write_back(position, lined, lined if len(span) == 1 else span)

    def library_flush(self, position, span):
        """As a flush, but not asked whether it is needed."""
        if self.model not in ("eadr", "hops"):
            lined = range(span.start // LINE * LINE, -(-span.stop // LINE) * LINE)
            self.write_back(position, lined, lined)

    def write_back(self, position, lined, meant):
        for x in lined:
            byte = self.memory.get(x)
            if byte and byte.flush_epoch is None:
                byte.flush, byte.flush_epoch, byte.lucky = position, self.epoch, x not in meant
            elif byte and x in meant:
                byte.lucky = False

    def look_for_need(self, position, line):
        written = [byte for byte in line if byte]
        if not written:
            self.tell("unnecessary-writeback", "not-written", position)
        elif all(byte.flush_epoch is not None for byte in written):
            for byte in written:
                self.tell("unnecessary-writeback", "flushed-before", position, None, byte.flush)

    def fence(self, position):
        self.epoch += 1
        if self.model == "hops":
            self.drained = self.epoch

    def ofence(self, position):
        if self.model == "hops":
            self.epoch += 1
        else:
            self.tell("wrong-use", "foreign-operation", position)

    def dfence(self, position):
        if self.model == "hops":
            self.fence(position)
        else:
            self.tell("wrong-use", "foreign-operation", position)

    def is_persistent(self, position, span, kind="not-persistent"):
        for x in span:
            byte = self.memory.get(x)
            lacks = byte and self.lacks(byte)
            if lacks:
                self.tell(
                    kind, {"flush": "not-flushed", "fence": "not-fenced"}[lacks], position, byte.write, byte.flush
                )
            elif byte and byte.lucky:
                self.tell("lucky-writeback", "", position, byte.write, byte.flush)

    def order(self, position, a, n, b, m):
        first, second = self.sound("order", position, a, n), self.sound("order", position, b, m)
        if not (first and second):
            return
        befores = [self.memory[x] for x in range(a, a + n) if x in self.memory]
        afters = [self.memory[x] for x in range(b, b + m) if x in self.memory]
        for one in befores:
            for other in afters:
                if not self.before(one, other):
                    self.tell("not-ordered", "", position, one.write, other.write)

    def exclude(self, position, span):
        self.excluded.update(span)
        for x in span:
            self.memory.pop(x, None)

    def include(self, position, span):
        self.excluded.difference_update(span)

    def pool(self, position, span):
        self.pools.update(span)

    def unpool(self, position, span):
        self.pools.difference_update(span)

    # Transactions.

    def tx_begin(self, position):
        if not self.depth:
            self.begun = position
        self.depth += 1

    def tx_end(self, position):
        if not self.depth:
            self.tell("transaction-misuse", "end-without-begin", position)
        self.depth = max(0, self.depth - 1)
        if not self.depth:
            self.log.clear()

    def tx_abort(self, position):
        self.depth = min(self.depth, 1)
        self.tx_end(position)

    def tx_add(self, position, span, new=False):
        if not self.depth:
            self.tell("transaction-misuse", "add-outside", position)
            return
        for x in span:
            if not new and x in self.log and not self.log[x][1]:
                self.tell("duplicate-log", "", position, None, self.log[x][0])
            self.log[x] = (position, new)

    def tx_add_if(self, position, span):
        if self.depth:
            self.tx_add(position, span)

    def trace_end(self, position):
        self.leave_scopes()

    def tx_alloc(self, position, span):
        self.tx_add(position, span, new=True)

    def checker_start(self, position, is_transaction=False):
        self.scopes.append((position, is_transaction, self.depth, set()))
        if is_transaction:
            self.tx_begin(position)

    def scope_start(self, position):
        self.checker_start(position, is_transaction=True)

    def checker_end(self, position):
        if not self.scopes:
            self.tell("wrong-use", "checker-end-without-start", position)
            return
        _, is_transaction, depth, written = self.scopes.pop()
        self.is_persistent(position, sorted(written), "incomplete-transaction")
        if is_transaction and self.depth > depth:
            self.tx_end(position)
        if self.depth > depth:
            self.tell("incomplete-transaction", "not-ended", position, self.begun)

    # Start, end.

    def start(self, position):
        if self.started is not None:
            self.tell("wrong-use", "started-twice", position, None, self.started)
        self.started = position

    def end(self, position):
        if self.started is None:
            self.tell("wrong-use", "end-without-start", position)
        self.started = None
        self.leave_scopes()

    def leave_scopes(self):
        """They are never ended; a transaction that one of them is ends with it."""
        while self.scopes:
            position, is_transaction, depth, _ = self.scopes.pop()
            self.tell("wrong-use", "checker-start-without-end", position)
            if is_transaction and self.depth > depth:
                self.tx_end(position)

    def thread_end(self, position):
        if self.depth:
            self.tell("incomplete-transaction", "not-ended", position, self.begun)
        self.leave_scopes()
        if self.started is not None:
            self.tell("wrong-use", "start-without-end", self.started)
