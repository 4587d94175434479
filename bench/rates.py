"""What the two benchmarks of speed share: workloads with many states, and the C loop they are compared with."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kit import Broken, compile_c, run

BLOCK = 4096
SPAWN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Shape:
    """A workload that writes blocks, none of them synced: every state holds other bytes.

    Attributes:
        exists: the files are there and are overwritten; otherwise they are made and grow, and a state that lost a
            block lost all that lay behind it.
    """

    name: str
    files: int
    blocks: int
    exists: bool


# The first two have enough updates for the early strategies; the third is small, so that most states are sampled.
SHAPES = (Shape("overwrites", 8, 256, True), Shape("appends", 64, 32, False), Shape("sampled", 16, 16, False))


@dataclass(frozen=True, slots=True)
class Arena:
    """The programs, and the data folder of the workload."""

    folder: Path
    spawner: Path
    workload: list[str]

    @classmethod
    def make(cls, space: Path, shape: Shape) -> Arena:
        """Compile, and fill the data folder."""
        folder = space / "data"
        folder.mkdir(parents=True)
        if shape.exists:
            for number in range(shape.files):
                (folder / f"file-{number:02}").write_bytes(b"old\n" * (shape.blocks * BLOCK // 4))
        writer = compile_c("write_blocks.c", space)
        command = [str(writer), str(folder), str(shape.files), str(shape.blocks)]
        return cls(folder, compile_c("spawn_loop.c", space), command)

    def spawn_rate(self, seconds: float = SPAWN_SECONDS) -> float:
        """How many times a second a C loop on all cores starts and reaps `true`."""
        program = shutil.which("true")
        if program is None:
            raise Broken("there is no program true")
        return float(run([str(self.spawner), f"{seconds:g}", str(os.cpu_count() or 1), program]))
