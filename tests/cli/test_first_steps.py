"""The first minutes with powercut: settings and a check from one look at the program, completion, what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.kit import SAVE, World

SAVE_JSON = "printf '{}' > data/s.tmp && mv data/s.tmp data/s.json && echo saved"


def test_from_nothing_to_a_finding_in_two_commands(world: World) -> None:
    ready = world.run("init", "--", "sh", "-c", SAVE_JSON)
    assert ready.code == 0, ready.err
    assert ready.out.startswith("powercut.toml and powercut_check.py are ready. Next: powercut test -- sh -c ")
    settings = tomllib.loads((world.here / "powercut.toml").read_text())
    assert settings == {"dir": "data", "check": "python3 powercut_check.py"}
    found = world.run("test", "--", "sh", "-c", SAVE_JSON)
    assert found.code == 1
    assert "s.json is not whole" in found.out or "s.json was promised, and it is gone" in found.out


def test_a_number_is_not_taken_for_json(world: World) -> None:
    assert world.run("init", "--", "sh", "-c", "echo 3 > data/count").code == 0
    assert "count: bytes, 2 long" in (world.here / "powercut.toml").read_text()
    assert "import json" not in (world.here / "powercut_check.py").read_text()


def test_what_is_there_is_kept(world: World) -> None:
    (world.here / "powercut.toml").write_text("seed = 3\n")
    (world.here / "powercut_check.py").write_text("mine")
    refused = world.run("init", "--dir", "data", "--", "sh", "-c", SAVE)
    assert (refused.code, refused.err) == (
        2,
        "powercut: powercut.toml exists. Use --force to write it anew. [settings-exist]\n",
    )
    written = world.run("init", "--force", "--dir", "data", "--", "sh", "-c", SAVE)
    assert written.code == 0
    assert written.out.startswith("powercut_check.py is there already and stays as it is\n")
    assert (world.here / "powercut_check.py").read_text() == "mine"
    assert tomllib.loads((world.here / "powercut.toml").read_text())["dir"] == "data"


@pytest.mark.parametrize(
    ("workload", "slug"), [("true", "nothing-written"), ("exit 3", "workload-failed"), ("./none", "workload-failed")]
)
def test_a_program_that_shows_nothing_leaves_nothing(world: World, workload: str, slug: str) -> None:
    ended = world.run("init", "--", "sh", "-c", workload)
    assert ended.code == 3
    assert ended.err.rstrip().endswith(f"[{slug}]") or f"[{slug}]" in ended.err
    assert not list(world.here.glob("powercut*"))


ASKED = {
    "bash": """
        eval "$(powercut completion bash)"
        ask() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _powercut_completion powercut
            echo "${COMPREPLY[@]}"
        }
        ask powercut rep
        ask powercut test --fs xfs,bt
        ask powercut test --max
    """,
    "zsh": """
        autoload -Uz compinit; compinit -u -D
        eval "$(powercut completion zsh)"
        compadd() { echo "${completions[@]}" }
        _describe() { echo "${completions_with_descriptions[@]%%:*}" }
        ask() { words=("$@") CURRENT=$#; _powercut_completion }
        ask powercut rep
        ask powercut test --fs xfs,bt
        ask powercut test --max
    """,
    "fish": """
        powercut completion fish | source
        for line in "powercut rep" "powercut test --fs xfs,bt" "powercut test --max"
            echo (complete -C $line | cut -f 1 | sort -r)
        end
    """,
}


@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_completes_commands_options_and_names(world: World, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (world.here / "bin").mkdir()
    tool = world.here / "bin" / "powercut"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m powercut "$@"\n')
    tool.chmod(0o755)
    env = {**world.env, "PATH": f"{tool.parent}:{world.env['PATH']}", "HOME": str(world.here)}
    done = subprocess.run([shell, "-c", ASKED[shell]], cwd=world.here, env=env, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["report replay", "xfs,btrfs", "--max-states"], done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(world: World, shell: str) -> None:
    ended = world.run("completion", shell)
    assert ended.code == 0
    assert f"_POWERCUT_COMPLETE={shell}_complete" in ended.out


def test_doctor_ends_a_gap_with_the_command_that_closes_it(world: World) -> None:
    only = world.here / "only"
    only.mkdir()
    (only / "apt-get").symlink_to("/bin/true")
    world.env["PATH"] = str(only)
    ended = world.run("doctor")
    assert ended.code == 0
    sudo = "" if os.geteuid() == 0 else "sudo "
    lines = ended.out.splitlines()
    gap = lines.index(
        "limited  building programs with assertions: there is no C compiler: powercut cc has nothing to call"
    )
    assert lines[gap + 2] == f"         run: {sudo}apt-get install gcc"


def test_doctor_has_a_command_for_every_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is possible: each of the answers is made by the code that asks a real machine."""
    from powercut import _engine
    from powercut.record import doctor

    monkeypatch.setattr(_engine, "can_enter_view", lambda: (False, "no"))
    monkeypatch.setattr(doctor, "why_no_memory_tool", lambda: "none")
    monkeypatch.setattr(doctor, "line_reader", lambda: None)
    monkeypatch.setattr(doctor, "call_tracer", lambda: Path("/bin/false"))
    monkeypatch.setattr(doctor, "_free_memory_disk", lambda: 0)
    monkeypatch.setenv("PATH", "")
    gaps = [found for found in doctor.examine() if not found.fine]
    assert [gap.name for gap in gaps] == [
        "recording",
        "private views",
        "stores into mapped files",
        "line numbers of C and C++",
        "building programs with assertions",
        "room for images",
    ]
    assert all(gap.command for gap in gaps)
