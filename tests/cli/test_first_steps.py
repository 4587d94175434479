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
    assert "s.json is not valid JSON" in found.out or "s.json was acknowledged but is missing" in found.out


REPLACE = "printf new > data/t && mv data/t data/f"


def test_the_first_check_finds_what_the_built_in_check_finds(world: World) -> None:
    """A replaced file of no known format: the check of init must not accept an empty one, as it did."""
    built_in = world.run("test", "--dir", "data", "--fs", "posix", "--", "sh", "-c", REPLACE)
    assert built_in.code == 1
    assert world.run("init", "--", "sh", "-c", REPLACE).code == 0
    assert "neither old nor new: 'f'" in (world.here / "powercut_check.py").read_text()
    found = world.run("test", "--fs", "posix", "--", "sh", "-c", REPLACE)
    assert found.code == 1
    assert "f is empty" in found.out


def test_a_number_is_not_taken_for_json(world: World) -> None:
    assert world.run("init", "--", "sh", "-c", "echo 3 > data/count").code == 0
    assert "count: unknown format, 2 bytes" in (world.here / "powercut.toml").read_text()
    assert "import json" not in (world.here / "powercut_check.py").read_text()


def test_what_is_there_is_kept(world: World) -> None:
    (world.here / "powercut.toml").write_text("seed = 3\n")
    (world.here / "powercut_check.py").write_text("mine")
    refused = world.run("init", "--dir", "data", "--", "sh", "-c", SAVE)
    assert (refused.code, refused.err) == (
        2,
        "powercut: powercut.toml already exists. Use --force to overwrite it. [settings-exist]\n",
    )
    written = world.run("init", "--force", "--dir", "data", "--", "sh", "-c", SAVE)
    assert written.code == 0
    assert written.out.startswith("Kept the existing powercut_check.py.\n")
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
    assert done.stdout.splitlines() == ["replay report", "xfs,btrfs", "--max-states"], done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(world: World, shell: str) -> None:
    ended = world.run("completion", shell)
    assert ended.code == 0
    assert f"_POWERCUT_COMPLETE={shell}_complete" in ended.out


@pytest.mark.parametrize(("shell", "path"), [("bash", "/bin/bash"), ("fish", "/usr/local/bin/fish")])
def test_the_shell_is_detected(world: World, shell: str, path: str) -> None:
    world.env["SHELL"] = path
    assert world.run("completion").out == world.run("completion", shell).out


@pytest.mark.parametrize(
    ("path", "why"), [("/bin/tcsh", "$SHELL is /bin/tcsh, which is not supported"), ("", "$SHELL is not set")]
)
def test_a_shell_that_is_not_supported_gets_the_list(world: World, path: str, why: str) -> None:
    world.env["SHELL"] = path
    ended = world.run("completion")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"powercut: name your shell: bash, zsh or fish ({why}). See powercut completion --help [usage]\n"
    )


def test_doctor_ends_a_gap_with_the_command_that_closes_it(world: World) -> None:
    only = world.here / "only"
    only.mkdir()
    (only / "apt-get").symlink_to("/bin/true")
    world.env["PATH"] = str(only)
    ended = world.run("doctor")
    assert ended.code == 0
    sudo = "" if os.geteuid() == 0 else "sudo "
    lines = ended.out.splitlines()
    gap = lines.index("limited  building programs with assertions: cannot find the C compiler cc")
    assert lines[gap + 2] == f"         run: {sudo}apt-get install gcc"


def test_doctor_has_a_command_for_every_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is possible: each of the answers is made by the code that asks a real machine."""
    from powercut import _engine
    from powercut.record import doctor

    monkeypatch.setattr(_engine, "can_enter_view", lambda: (False, "no"))
    monkeypatch.setattr(doctor, "memory_tool", lambda: None)
    monkeypatch.setattr(doctor, "line_reader", lambda: None)
    monkeypatch.setattr(doctor, "call_tracer", lambda: Path("/bin/false"))
    monkeypatch.setattr(doctor, "_free_memory_disk", lambda: 0)
    monkeypatch.setenv("PATH", "")
    gaps = [found for found in doctor.examine() if not found.fine]
    assert [gap.name for gap in gaps] == [
        "recording",
        "private mounts",
        "stores into mapped files",
        "line numbers of C and C++",
        "building programs with assertions",
        "space for crash images",
    ]
    assert all(gap.command for gap in gaps)


def _script(folder: Path, name: str, text: str) -> Path:
    script = folder / name
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return script


TRACERS = {  # what a tracer does -> what doctor blames
    "echo 'powercut-ptrace: cannot trace the program: Operation not permitted' >&2; exit 125": (
        "ptrace or seccomp is not allowed here: cannot trace the program: Operation not permitted",
        ("docker run --cap-add SYS_PTRACE", "sysctl kernel.yama.ptrace_scope"),
    ),
    "echo 'powercut-ptrace: cannot start the program: seccomp: Invalid argument' >&2; exit 125": (
        "ptrace or seccomp is not allowed here: cannot start the program: seccomp: Invalid argument",
        ("docker run --cap-add SYS_PTRACE", "sysctl kernel.yama.ptrace_scope"),
    ),
    "echo 'powercut-ptrace: cannot write /tmp/x/trace: No space left on device' >&2; exit 125": (
        "cannot write /tmp/x/trace: No space left on device",
        ("TMPDIR=/var/tmp powercut doctor",),
    ),
    "echo 'powercut-ptrace: /bin/sh: not found' >&2; exit 127": ("cannot run /bin/sh: not found", (" dash",)),
    "exit 9": ("the tracer failed: exit status 9", ("make -C ", "pip install ")),
}


@pytest.mark.parametrize("does", TRACERS)
def test_doctor_blames_what_the_tracer_failed_for(does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from powercut.record import doctor

    tracer = _script(tmp_path, "tracer", does)
    monkeypatch.setattr(doctor, "call_tracer", lambda: tracer)
    found = {examined.name: examined for examined in doctor.examine()}
    why, commands = TRACERS[does]
    assert (found["recording"].fine, found["recording"].text) == (False, why)
    assert any(command in found["recording"].command for command in commands)
    if found["stores into mapped files"].text != "powercut was built on a machine without Valgrind":
        assert found["stores into mapped files"].text == "it needs recording, which does not work (see above)"
        assert found["stores into mapped files"].command == found["recording"].command


def test_doctor_blames_one_missing_thing_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from powercut import _engine
    from powercut.errors import EnvironmentFailure
    from powercut.record import doctor

    def no_tracer() -> Path:
        raise EnvironmentFailure("no-tracer", "the tracer /x is missing.", "Install powercut again.")

    def gaps() -> dict[str, str]:
        return {examined.name: examined.text for examined in doctor.examine() if not examined.fine}

    everything_there = gaps()
    broken = _script(tmp_path, "broken", "exit 127")
    tool = tmp_path / "tool"
    tool.write_text("")
    empty = tmp_path / "bin"
    empty.mkdir()
    (empty / "cc").symlink_to("/bin/true")
    cases: list[tuple[object, str, object, dict[str, str]]] = [
        (_engine, "can_enter_view", lambda: (False, "forbidden"), {"private mounts": "forbidden"}),
        (
            doctor,
            "memory_tool",
            lambda: None,
            {"stores into mapped files": "powercut was built on a machine without Valgrind"},
        ),
        (
            doctor,
            "memory_tool",
            lambda: tool,
            {"stores into mapped files": f"the memory tracer {tool} is not executable"},
        ),
        (doctor, "line_reader", lambda: None, {"line numbers of C and C++": "powercut was built without libdw"}),
        (doctor, "line_reader", lambda: broken, {"line numbers of C and C++": f"cannot run {broken}: exit status 127"}),
        (doctor, "available_memory", lambda: 5 << 20, {"space for crash images": "only 5 MB are free in memory"}),
        (doctor, "call_tracer", no_tracer, {"recording": "the tracer /x is missing"}),
    ]
    monkeypatch.setattr(doctor, "why_no_memory_tool", lambda: "powercut was built on a machine without Valgrind")
    for where, name, fake, blamed in cases:
        with monkeypatch.context() as patch:
            patch.setattr(where, name, fake)
            new = {thing: text for thing, text in gaps().items() if everything_there.get(thing) != text}
        if "recording" in blamed:
            new.pop("stores into mapped files", None)
        assert new == blamed
    monkeypatch.setenv("PATH", str(empty))
    assert gaps()["building programs with assertions"] == "cannot find the assembler as"
