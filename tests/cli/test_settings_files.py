"""Settings from powercut.toml and pyproject.toml; tests/unit/test_settings.py has the rest."""

from __future__ import annotations

from tests.cli.kit import SAVE, World

POWERCUT = ("test", "--", "sh", "-c", SAVE)


def test_powercut_toml_comes_before_pyproject_and_the_command_line_before_both(world: World) -> None:
    (world.here / "powercut.toml").write_text(
        'dir = "data"\nfs = ["xfs", "btrfs"]\nbudget = 20\noutput = "saved runs"\n'
    )
    (world.here / "pyproject.toml").write_text('[tool.powercut]\ndir = "nowhere"\nfs = "posix"\n')
    ended = world.run(*POWERCUT)
    assert (ended.code, "Models: xfs, btrfs" in ended.out) == (1, True)
    assert "\nSaved in saved runs/runs/0001\n" in world.run("show").out  # all commands know where runs are
    assert "Models: ext4-journal\n" in world.run(*POWERCUT[:1], "--fs", "ext4-journal", *POWERCUT[1:]).out


def test_pyproject_toml(world: World) -> None:
    (world.here / "pyproject.toml").write_text('[tool.powercut]\ndir = "data"\ncheck = "sh check"\nmax-states = 0\n')
    ended = world.run(*POWERCUT)
    assert (ended.code, "recording in a private copy of HERE/data" in ended.err) == (4, True)


def test_a_wrong_settings_file_is_said_before_anything_runs(world: World) -> None:
    (world.here / "powercut.toml").write_text('dirr = "data"\n')
    ended = world.run(*POWERCUT)
    message = "powercut: HERE/powercut.toml: unknown setting 'dirr'. Did you mean dir? [bad-settings-file]\n"
    assert (ended.err, ended.out, ended.code) == (message, "", 2)
    assert world.run("show").err == message
