"""In the memory tracer a service sets and reads its limits as it does without: else it fails for another reason."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from powercut.heal.failing_restart import FailingRestart
from tests.needs import needs_memory_tool

SOURCE = Path(__file__).parents[1] / "guard_programs" / "limits.c"

pytestmark = needs_memory_tool


@pytest.fixture(scope="module")
def limits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("limits") / "limits"
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True)
    return program


@pytest.mark.parametrize("soft", [None, 100])
def test_limits_are_as_without_the_tracer(limits: Path, tmp_path: Path, soft: int | None) -> None:
    """Also where the operator has set another one: what the tracer keeps for itself is not seen."""
    (tmp_path / "pool").write_bytes(bytes(4096))
    restart = FailingRestart(tmp_path, [str(limits)], tmp_path, timeout=10, skip=())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft or before[0], before[1]))
    try:
        plain = restart.attempt(lambda _: None)
        traced = restart.explain(plain, lambda _: []).attempt
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert plain.code == traced.code == 3
    assert "fewer for ever: good" in plain.said and traced.said == plain.said
