"""The composite action: its scripts run as GitHub would run them; recipes in the docs are what these services read."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from powercut.commands.test import command
from tests.cli.kit import SAFE, SAVE, World
from tests.unit.schemas import ACTION as ACTION_SCHEMA
from tests.unit.schemas import GITLAB, WORKFLOW, stored_schema

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = [step for step in ACTION["runs"]["steps"] if "run" in step]
SCRIPT = next(step for step in STEPS if step.get("id") == "test")
BASH = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"]  # as a runner starts it for `shell: bash`
# Variables that the runner or the step sets; functions as conditions, which is meant so; braces and [[ ]] are taste.
ACCEPTED = "SC2154,SC2153,SC2310,SC2312,SC2250,SC2292"


def run_step(world: World, workload: str, **inputs: str) -> subprocess.CompletedProcess[bytes]:
    """The step `test`, with powercut on the path and the files that a runner gives."""
    (world.here / "bin").mkdir(exist_ok=True)
    tool = world.here / "bin" / "powercut"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m powercut "$@"\n')
    tool.chmod(0o755)
    usual = {"COMMAND": f"sh -c '{workload}'", "DIR": "data", "CHECK": "sh check", "FS": "xfs", "BUDGET": "60s"}
    given = {**usual, "OPTIONS": "--seed 3", **inputs}
    assert set(SCRIPT["env"]) == set(given)
    env = {**world.env, **given, "PATH": f"{tool.parent}:{world.env['PATH']}"}
    env |= {"RUNNER_TEMP": str(world.here), "GITHUB_STEP_SUMMARY": "summary", "GITHUB_OUTPUT": "out"}
    script = world.here / "step.sh"
    script.write_text(SCRIPT["run"])
    return subprocess.run([*BASH, str(script)], cwd=world.here, env=env, capture_output=True)


def test_the_step_reports_and_compares_with_the_last_run(world: World) -> None:
    first = run_step(world, SAFE)
    assert first.returncode == 0, first.stderr
    second = run_step(world, SAVE)
    assert second.returncode == 1, second.stderr
    assert b"::error title=powercut" in second.stdout
    summary = (world.here / "summary").read_text()
    assert "No findings" in summary and "Since the last run" in summary and "\nnew:\n" in summary
    outputs = dict(line.split("=", 1) for line in (world.here / "out").read_text().splitlines())
    assert set(outputs) == set(ACTION["outputs"])
    assert all(Path(file).is_file() for file in outputs.values())
    assert world.runs() == ["0002"]  # what the next job needs


def test_words_of_a_command_are_what_a_shell_would_make_of_them(world: World) -> None:
    program = "import sys; open('data/f', 'w').write(repr(sys.argv[1:]))"
    words = ["python3", "-c", program, "a b", "", "\n", "$HOME", "*"]
    check = "sh -c 'cat f; exit 1'"
    ended = run_step(world, "", COMMAND=shlex.join(words), CHECK=check, OPTIONS="")
    assert ended.returncode == 3, ended.stderr  # also the folder that the program left is refused, and shown
    assert repr(words[3:]).encode() in ended.stderr


@pytest.mark.parametrize(("name", "line"), [("COMMAND", "sh -c 'x"), ("OPTIONS", "--seed '3"), ("COMMAND", " ")])
def test_a_line_that_cannot_be_split_is_named(world: World, name: str, line: str) -> None:
    ended = run_step(world, SAFE, **{name: line})
    assert ended.returncode == 2
    assert ended.stdout.startswith(f"::error title=powercut::the input {name.lower()} ".encode())
    assert world.runs() == []


def test_a_program_that_fails_fails_the_step_and_leaves_no_outputs(world: World) -> None:
    ended = run_step(world, "exit 7")
    assert ended.returncode == 3
    assert not (world.here / "out").exists()


@pytest.mark.parametrize("script", [*(step["run"] for step in STEPS), (ROOT / "tools/system-packages.sh").read_text()])
def test_scripts_have_no_known_mistakes(script: str) -> None:
    shell = "sh" if script.startswith("#!/bin/sh") else "bash"
    looked = [str(Path(sys.executable).with_name("shellcheck")), "--shell", shell, "--enable", "all"]
    ended = subprocess.run([*looked, "--exclude", ACCEPTED, "-"], input=script, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_the_action_is_one() -> None:
    stored_schema(ACTION_SCHEMA).validate(ACTION)
    with pytest.raises(jsonschema.ValidationError):
        stored_schema(ACTION_SCHEMA).validate({**ACTION, "runs": {"using": "composite"}})
    known = {step["id"] for step in STEPS if "id" in step}
    used = re.findall(r"steps\.(\w+)\.outputs\.(\w+)", str(ACTION["outputs"]))
    assert {step for step, _ in used} <= known
    asked = set(re.findall(r"inputs\.(\w+)", str(ACTION["runs"])))
    assert asked == set(ACTION["inputs"])


def test_inputs_are_variables_not_pieces_of_scripts() -> None:
    scripts = [step["run"] for step in STEPS]
    assert scripts and not any("${{" in script for script in scripts)


def test_recipes_are_what_these_services_read() -> None:
    page = (ROOT / "docs" / "howto" / "ci.md").read_text()
    github, gitlab = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    stored_schema(WORKFLOW).validate({"on" if key is True else key: value for key, value in github.items()})
    stored_schema(GITLAB).validate(gitlab)
    step = next(step for step in github["jobs"]["powercut"]["steps"] if step.get("id") == "powercut")
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert set(re.findall(r"steps\.powercut\.outputs\.(\w+)", page)) <= set(ACTION["outputs"])
    line = next(line for line in gitlab["powercut"]["script"] if line.startswith("powercut test"))
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in line.partition(" -- ")[0].split() if word.startswith("--")} <= known
