"""Wrong usage: one line with a code, exit 2, and nothing is run."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from powercut.commands.main import COMMANDS, GROUPS, cli
from tests.cli.kit import World

WRONG = {
    "unknown command": (["frob"], "no such command 'frob'. See powercut --help [usage]"),
    "mistyped command": (["tets"], "no such command 'tets'. Did you mean test? See powercut --help [usage]"),
    "mistyped command that is a program": (
        ["tset", "--", "true"],
        "no such command 'tset'. Did you mean test? See powercut --help [usage]",
    ),
    "near a model": (
        ["test", "--fs", "ext4", "--", "true"],
        "unknown file-system model 'ext4'. Did you mean ext4-ordered? [unknown-fs]",
    ),
    "forgotten value": (
        ["test", "--html", "--", "true"],
        "option '--html' needs a value before --. See powercut test --help [usage]",
    ),
    "word for help": (["help"], "no such command 'help'. Did you mean --help? See powercut --help [usage]"),
    "forgotten command": (
        ["sh", "-c", "echo a b"],
        "no such command 'sh'. To test a program: powercut test -- sh -c 'echo a b'. See powercut --help [usage]",
    ),
    "unknown option": (
        ["test", "--frob", "--", "true"],
        "no such option '--frob'. Did you mean '--fs'? See powercut test --help [usage]",
    ),
    "no workload": (["test"], "missing argument '-- PROGRAM [ARG]...'. See powercut test --help [usage]"),
    "empty workload": (["test", "--"], "missing argument '-- PROGRAM [ARG]...'. See powercut test --help [usage]"),
    "no trace": (["explore"], "missing argument 'TRACE'. See powercut explore --help [usage]"),
    "nothing to weigh": (
        ["syncs", "--check", "true"],
        "give either a program to run or a trace with --trace. See powercut syncs --help [usage]",
    ),
    "two things to weigh": (
        ["syncs", "--trace", "t", "--", "true"],
        "give either a program to run or a trace with --trace. See powercut syncs --help [usage]",
    ),
    "record without a trace": (["record", "--", "true"], "missing option '-o'. See powercut record --help [usage]"),
    "no finding": (["replay"], "missing argument 'FINDING'. See powercut replay --help [usage]"),
    "not a number": (
        ["test", "--max-states", "x", "--", "true"],
        "invalid value for '--max-states': 'x' is not a valid integer. See powercut test --help [usage]",
    ),
    "negative states": (
        ["test", "--max-states", "-1", "--", "true"],
        "max-states must not be negative, but is -1. [bad-setting]",
    ),
    "negative workers": (
        ["test", "--workers", "-1", "--", "true"],
        "workers must be between 0 (one per core) and 1024, not -1. [bad-setting]",
    ),
    "too many workers": (
        ["test", "--workers", "99999", "--", "true"],
        "workers must be between 0 (one per core) and 1024, not 99999. [bad-setting]",
    ),
    "no such unit": (
        ["heal", "--budget", "2 weeks", "--", "true"],
        "invalid value for '--budget': '2 weeks' is not a duration. Write it like 30s, 5m or 1h. "
        "See powercut heal --help [usage]",
    ),
    "no time": (["test", "--timeout", "0", "--", "true"], "timeout must be more than 0 seconds, not 0. [bad-setting]"),
    "no number": (
        ["test", "--timeout", "nan", "--", "true"],
        "timeout must be more than 0 seconds, not nan. [bad-setting]",
    ),
    "all time": (
        ["test", "--timeout", "inf", "--", "true"],
        "timeout must be more than 0 seconds, not inf. [bad-setting]",
    ),
    "budget": (
        ["test", "--budget", "never", "--", "true"],
        "'never' is not a duration. Write it like 30s, 5m or 1h. [bad-budget]",
    ),
    "negative budget": (
        ["test", "--budget", "-3s", "--", "true"],
        "'-3s' is not a duration. Write it like 30s, 5m or 1h. [bad-budget]",
    ),
    "file system": (
        ["test", "--fs", "xfs,zfs", "--", "true"],
        "unknown file-system model 'zfs'. Known: ext4-ordered, ext4-writeback, ext4-journal, ext4-nodelalloc, "
        "ext4-noauto_da_alloc, xfs, btrfs, posix, linux, all. [unknown-fs]",
    ),
    "unset variable": (["test", "--dir", "", "--", "true"], "dir is empty. [bad-setting]"),
    "empty check": (["test", "--check", " ", "--", "true"], "check is empty. [bad-setting]"),
    "open quote": (
        ["test", "--check", "sh 'check", "--", "true"],
        'the check "sh \'check" cannot be split into words: No closing quotation. [bad-check]',
    ),
    "data folder is a file": (
        ["test", "--dir", "check", "--", "true"],
        "invalid value for '--dir': Directory 'check' is a file. See powercut test --help [usage]",
    ),
    "json is a folder": (
        ["test", "--json", "data", "--", "true"],
        "invalid value for '--json': File 'data' is a directory. See powercut test --help [usage]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_one_line_and_exit_2(world: World, case: str) -> None:
    arguments, message = WRONG[case]
    ended = world.run(*arguments)
    assert (ended.err, ended.out, ended.code) == (f"powercut: {message}\n", "", 2)
    assert not (world.here / ".powercut").exists()


def test_a_script_as_command_is_told_how_it_is_tested(world: World) -> None:
    (world.here / "notes.py").write_text("print()")
    ended = world.run("notes.py", "a b")
    assert ended.code == 2
    assert "To test a program: powercut test -- python3 notes.py 'a b'. " in ended.err


def test_powercut_alone_explains_itself(world: World) -> None:
    ended = world.run()
    assert ended.code == 2
    assert ended.out.startswith("Usage: powercut ")
    assert all(f"\n  {name} " in ended.out for name in COMMANDS)
    assert [title for title in GROUPS if f"\n{title}:\n" in ended.out] == list(GROUPS)
    assert "..." not in ended.out.partition("\nMain commands:")[2], "no line is cut"


@pytest.mark.parametrize("command", ["test", "explore", "record", "race", "syncs", "resume"])
def test_help_has_every_option_once_in_a_group(world: World, command: str) -> None:
    out = world.run(command, "--help").out
    group = cli.get_command(click.Context(cli), command)
    assert group is not None
    options = [option for option in group.params if isinstance(option, click.Option)]
    assert [option.opts[0] for option in options if len(re.findall(rf"\n  {option.opts[0]}[ ,]", out)) != 1] == []
    assert "\nOptions:\n" not in out
    others = out.partition("\nOther options:\n")[2].splitlines()
    assert [line.split()[:2] for line in others] == [["-h,", "--help"]]


def test_help_tells_the_exit_codes_and_needs_no_heavy_modules() -> None:
    code = (
        "import sys; sys.argv = ['powercut', '--help']\n"
        "from powercut.commands.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'msgspec', 'rich', 'importlib.metadata', 'powercut._engine'} & set(sys.modules)\n"
        "sys.exit(f'help loads {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "130 interrupted" in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(world: World, command: str) -> None:
    ended = world.run(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: powercut {command} ")
    assert f"powercut {command}" in ended.out.partition("\n")[2], "an example"


def test_version(world: World) -> None:
    ended = world.run("--version")
    assert ended.code == 0
    assert ended.out.startswith("powercut, version ")


def test_the_folder_we_are_in_is_gone(world: World) -> None:
    gone = world.here / "gone"
    gone.mkdir()
    script = 'cd gone && rmdir ../gone && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "powercut", "test", "--", "true"],
        cwd=world.here,
        env=world.env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == "powercut: the current folder no longer exists. [no-current-folder]"


def test_a_mistake_in_powercut_is_one_line_too(world: World) -> None:
    """`show` of a run whose file holds what no powercut writes must not come out as exit 1, which means findings."""
    code = (
        "import sys, powercut.commands.main as main\n"
        "def broken(*_): raise KeyError('x')\n"
        "main.LazyGroup.get_command = broken\n"
        "sys.argv = ['powercut', 'show']; main.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=world.here)
    assert done.returncode == 3
    assert done.stderr == (
        "powercut: this is a bug in powercut: KeyError: 'x' (<string>:2). Please report it; POWERCUT_DEBUG=1 shows "
        "more. [bug]\n"
    )
