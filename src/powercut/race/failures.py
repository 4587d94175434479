"""Executions that did not end well: how they ended, how often, and what is kept of them.

Before: campaigns whose program was killed, failed or did not end. After: `RUN/failed/N/` holds what the program read,
how its threads were scheduled, what it printed, and what the tracer noted, of the first few of each ending.
"""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from powercut.quick_dataclass import dataclass
from powercut.race.campaign import Campaign
from powercut.race.schedule import save_schedule
from powercut.runs.store import write_durably

FAILED = "failed"  # folder in a run
_KEPT = 3  # executions of each ending
_SEED, _PLAN, _NOTE = "seed", "schedule.json", "ending.txt"


@dataclass(slots=True)
class Failures:
    """Keeps them.

    Attributes:
        endings: how executions ended, and how often.
    """

    folder: Path
    endings: Counter[str] = field(default_factory=Counter)
    kept: int = 0

    def add(self, campaign: Campaign) -> None:
        """An execution did not end well."""
        self.endings[campaign.ending] += 1
        if self.endings[campaign.ending] > _KEPT:
            return
        self.kept += 1
        home = self.folder / FAILED / str(self.kept)
        home.mkdir(parents=True, exist_ok=True)
        write_durably(home / _SEED, campaign.seed)
        save_schedule(home / _PLAN, campaign.replay)
        for name, file in zip(("out", "err"), campaign.execution.printed, strict=True):
            with suppress(FileNotFoundError):
                shutil.copyfile(file, home / name)
        words = [f"the program {campaign.ending}", *campaign.execution.trace.notes()]
        write_durably(home / _NOTE, "".join(f"{line}\n" for line in words).encode("utf-8", "surrogateescape"))
