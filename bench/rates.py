"""What the two benchmarks of speed share: the workload with many states, and the C loop they are compared with."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kit import Broken, compile_c, run

FILES, BLOCKS, BLOCK = 8, 250, 4096
SPAWN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Arena:
    """The programs, and the data folder of the workload."""

    folder: Path
    spawner: Path
    workload: list[str]

    @classmethod
    def make(cls, space: Path) -> Arena:
        """Compile, and fill the folder: every second file is there already."""
        folder = space / "data"
        folder.mkdir()
        for number in range(1, FILES, 2):
            (folder / f"file-{number:02}").write_bytes(b"old\n" * (BLOCKS * BLOCK // 4))
        writer = compile_c("write_blocks.c", space)
        return cls(folder, compile_c("spawn_loop.c", space), [str(writer), str(folder), str(FILES), str(BLOCKS)])

    def spawn_rate(self, seconds: float = SPAWN_SECONDS) -> float:
        """How many times a second a C loop on all cores starts and reaps `true`."""
        program = shutil.which("true")
        if program is None:
            raise Broken("there is no program true")
        return float(run([str(self.spawner), f"{seconds:g}", str(os.cpu_count() or 1), program]))
