"""Healing with the service's bitcode: a plan starts with what leads to the failing line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.test_heal_aliases import Ledger
from tests.needs import needs_memory_tool, needs_pmdk

SOURCE = Path(__file__).parents[1] / "guard_programs" / "gauge.c"

pytestmark = [
    needs_pmdk,
    needs_memory_tool,
    pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not there"),
]


def test_bitcode_puts_what_leads_to_the_failing_line_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The restart looks at the bad value first, and at three others before it fails."""
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    program, code = tmp_path / "gauge", tmp_path / "gauge's code.bc"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, SOURCE, "-lpmemobj"], check=True)
    subprocess.run(["clang", "-g", "-O0", "-c", "-emit-llvm", "-o", code, SOURCE], check=True)
    gauge = Ledger(program, tmp_path)
    gauge.guard("set")
    plain, refined = gauge.session(), gauge.session(bitcode=[code])
    bad = next(at for at, line in enumerate(SOURCE.read_text().splitlines(), 1) if "SITE: bad" in line)
    healed = []
    for session in (plain, refined):
        plan, _ = session.plan()
        places = [session.place(step.cause) for step in plan.steps]
        healing = session.heal(plan)
        assert healing is not None and len(healing.records) == 1
        healed.append((healing.attempts, [place.line == bad for place in places if place], len(plan.steps)))
    assert healed == [(5, [False, False, False, True], 4), (2, [True, False, False, False], 4)]
