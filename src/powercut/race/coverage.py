"""Coverage of all executions together: alias pairs and blocks of code, from the bitmaps of the board."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from powercut.quick_dataclass import dataclass

Bitmap = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Bitmaps:
    """What one execution covered."""

    aliases: Bitmap
    blocks: Bitmap


@dataclass(slots=True)
class Coverage:
    """What all executions covered so far."""

    _aliases: Bitmap = field(default_factory=lambda: np.zeros(0, np.uint8))
    _blocks: Bitmap = field(default_factory=lambda: np.zeros(0, np.uint8))
    alias_pairs: int = 0
    blocks: int = 0

    def add(self, seen: Bitmaps) -> tuple[int, int]:
        """Add an execution; how many alias pairs and blocks are new."""
        self._aliases, self._blocks = _or(self._aliases, seen.aliases), _or(self._blocks, seen.blocks)
        before = self.alias_pairs, self.blocks
        self.alias_pairs, self.blocks = _bits(self._aliases), _bits(self._blocks)
        return self.alias_pairs - before[0], self.blocks - before[1]


def _or(one: Bitmap, other: Bitmap) -> Bitmap:
    return one | other if len(one) == len(other) else other.copy()


def _bits(bitmap: Bitmap) -> int:
    return int(np.bitwise_count(bitmap).sum()) if hasattr(np, "bitwise_count") else int(np.unpackbits(bitmap).sum())
