"""The composite action: its script runs as GitHub would run it; recipes in the docs are YAML that means something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from powercut.commands.test import command
from tests.cli.kit import SAFE, SAVE, World

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "test")


def run_step(world: World, workload: str) -> subprocess.CompletedProcess[bytes]:
    """The step `test`, with powercut on the path and the files that a runner gives."""
    (world.here / "bin").mkdir(exist_ok=True)
    tool = world.here / "bin" / "powercut"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m powercut "$@"\n')
    tool.chmod(0o755)
    inputs = {"COMMAND": f"sh -c '{workload}'", "DIR": "data", "CHECK": "sh check", "FS": "xfs", "BUDGET": "60s"}
    assert set(SCRIPT["env"]) == {*inputs, "OPTIONS"}
    env = {**world.env, **inputs, "OPTIONS": "--seed 3", "PATH": f"{tool.parent}:{world.env['PATH']}"}
    env |= {"RUNNER_TEMP": str(world.here), "GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "out"}
    return subprocess.run(["bash", "-e", "-c", SCRIPT["run"]], cwd=world.here, env=env, capture_output=True)


def test_the_step_reports_and_compares_with_the_last_run(world: World) -> None:
    first = run_step(world, SAFE)
    assert first.returncode == 0, first.stderr
    second = run_step(world, SAVE)
    assert second.returncode == 1, second.stderr
    assert b"::error title=powercut" in second.stdout
    summary = (world.here / "summary").read_text()
    assert "nothing found" in summary and "Since the last run" in summary and "\nnew:\n" in summary
    assert (world.here / "out").read_text().splitlines()[-1] == f"junit={world.here}/powercut.xml"
    assert world.runs() == ["0002"]  # what the next job needs


def test_inputs_are_variables_not_pieces_of_scripts() -> None:
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert scripts and not any("${{" in script for script in scripts)


def test_recipes_are_yaml_that_uses_what_there_is() -> None:
    page = (ROOT / "docs" / "ci.md").read_text()
    github, gitlab = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    step = next(step for step in github["jobs"]["powercut"]["steps"] if step.get("id") == "powercut")
    assert set(step["with"]) <= set(ACTION["inputs"])
    line = next(line for line in gitlab["powercut"]["script"] if line.startswith("powercut test"))
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in line.partition(" -- ")[0].split() if word.startswith("--")} <= known
