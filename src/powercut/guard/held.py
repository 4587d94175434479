"""Where the file of a pool is not what somebody says the pool holds.

Before: what a pool holds, by a log. After: whether the file is of that pool, and the ranges in which it differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from powercut.guard.log import Pool

_AT_ONCE = 1 << 20  # bytes compared together
_BLOCK = 64  # differences are told in cache lines
_IDENTITY = (0, 56)  # of PMDK's pools: signature, version, the pool's unique numbers
_PMDK = b"PMEM"  # how the signature of any pool of PMDK begins
_SIGNATURE = b"PMEMOBJ\0"
_LANES_AND_HEAP = (5120, 5136)  # in the descriptor of a pool of libpmemobj


class Held(ABC):
    """What one pool holds."""

    pool: Pool

    @abstractmethod
    def now(self, start: int, end: int) -> bytes:
        """A range as it is by the log."""

    def is_of_this_pool(self) -> bool:
        """Whether the file is the one that the log tells of, and no other that has its name.

        A file that the program maps itself carries no number that could tell; a pool of PMDK does once it is made.
        """
        identity, there = self.now(*_IDENTITY), self._identity_in_file()
        if not identity.startswith(_PMDK):
            return self.pool.path.is_file() and not there.startswith(_PMDK)
        return there == identity

    def _identity_in_file(self) -> bytes:
        try:
            with self.pool.path.open("rb") as file:
                return file.read(_IDENTITY[1])[_IDENTITY[0] :]
        except OSError:
            return b""

    @cached_property
    def private(self) -> range:
        """Where libpmemobj notes what is under way: of use to nobody but itself."""
        if self.now(0, len(_SIGNATURE)) != _SIGNATURE:
            return range(0)
        lanes, heap = (int.from_bytes(self.now(at, at + 8), "little") for at in _LANES_AND_HEAP)
        return range(lanes, heap)

    def differences(self, of: Path | None = None) -> Iterator[tuple[int, bytes]]:
        """Where the file is not what the log says, and what it holds there: in whole cache lines, runs together."""
        with (of or self.pool.path).open("rb") as file:
            size = file.seek(0, 2)
            for start in range(0, size, _AT_ONCE):
                end = min(start + _AT_ONCE, size)
                file.seek(start)
                now, then = file.read(end - start), self.now(start, end)
                if now != then:
                    different = _different(start, now, then)
                    yield from ((at, data) for at, data in different if at not in self.private)


def _different(start: int, now: bytes, then: bytes) -> Iterator[tuple[int, bytes]]:
    lines = range(0, len(now), _BLOCK)
    changed = [i for i in lines if now[i : i + _BLOCK] != then[i : i + _BLOCK]]
    run: list[int] = []
    for line in [*changed, len(now) + _BLOCK]:
        if run and line != run[-1] + _BLOCK:
            yield start + run[0], now[run[0] : run[-1] + _BLOCK]
            run = []
        run.append(line)
