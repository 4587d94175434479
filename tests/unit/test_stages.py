"""The time of stages that go on inside others."""

from __future__ import annotations

import time
from unittest.mock import patch

from powercut.search.stages import Stages


def test_a_stage_inside_another_counts_for_itself() -> None:
    stages = Stages()
    now = [0.0]
    with patch.object(time, "monotonic", lambda: now[0]):
        with stages.taking("search"):
            now[0] += 1
            with stages.taking("explaining"):
                now[0] += 2
                with stages.taking("counting"):
                    now[0] += 4
            with stages.taking("explaining"):
                now[0] += 8
            now[0] += 16
        with stages.taking("lint"):
            now[0] += 32
    assert stages.seconds == {"search": 17, "explaining": 10, "counting": 4, "lint": 32}
