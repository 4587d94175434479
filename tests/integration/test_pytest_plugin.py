"""The pytest plugin, in suites as people write them: each is run by a pytest of its own."""

from __future__ import annotations

import re

import pytest

pytest_plugins = ["pytester"]

SAVE = """
import json, os
import powercut, pytest

def save(path, value, careful=True):
    with open(f"{path}.new", "w") as file:
        json.dump(value, file)
        if careful:
            file.flush()
            os.fsync(file.fileno())
    os.replace(f"{path}.new", path)
    if careful:
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

def is_whole(folder):
    if (folder / "s.json").exists():
        json.loads((folder / "s.json").read_text())
"""
EIGHT_LINES = """
def test_saving_is_atomic_and_durable(crash_test, tmp_path):
    save(tmp_path / "s.json", "old")
    def check(folder, acked):
        found = json.loads((folder / "s.json").read_text())
        assert found == "new" or (found == "old" and b"saved" not in acked)
    crash_test(lambda: (save(tmp_path / "s.json", "new"), print("saved")), check)
"""


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Without the plugin of Hypothesis, which loads for as long as all else takes."""
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest", *options)


def test_a_crash_test_takes_eight_lines_at_most(pytester: pytest.Pytester) -> None:
    assert len(EIGHT_LINES.strip().splitlines()) <= 8
    pytester.makepyfile(SAVE + EIGHT_LINES)
    run(pytester).assert_outcomes(passed=1)


def test_a_failing_test_says_all_and_replays(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(SAVE.replace("careful=True", "careful=False") + EIGHT_LINES)
    failed = run(pytester, "--powercut-fs", "xfs")
    failed.assert_outcomes(failed=1)
    text = failed.stdout.str()
    assert (
        "minimal state: everything before the crash survived, except\n    - the growth of s.json.new to 5 bytes" in text
    )
    assert f"lost:         {path}:" in text and "survived:     " in text
    assert "fix: call fdatasync(s.json.new) before" in text
    name = re.findall(r"replay: (pytest \S+::test_saving_is_atomic_and_durable --powercut-replay (\S+))", text)[0]
    again = run(pytester, *name[0].split()[1:])
    again.assert_outcomes(failed=1)
    assert f"finding {name[1]}: The check fails on this image" in again.stdout.str()
    path.write_text(path.read_text().replace('found == "old" and', "True or"))
    path.write_text(
        path.read_text().replace("json.loads((folder", "str((folder").replace('"new" or', '"new" or True or')
    )
    run(pytester, *name[0].split()[1:]).assert_outcomes(passed=1)  # a check that accepts what it refused


DECORATED = (
    SAVE
    + """
@powercut.crash_test(is_whole)
def test_careful(tmp_path):
    save(tmp_path / "s.json", 1)

@pytest.mark.parametrize("careful", [False])
@powercut.crash_test(is_whole, fs="xfs", seed=3)
def test_careless(tmp_path, careful):
    save(tmp_path / "s.json", 1, careful)

@powercut.crash_test(is_whole, command=["sh", "-c", "printf 1 > s.json"])
def test_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

@powercut.crash_test()
def test_function_and_command_and_no_check(tmp_path):
    import subprocess
    save(tmp_path / "s.json", 1)
    subprocess.run(["sh", "-c", f"printf 2 > '{tmp_path}/t' && sync '{tmp_path}/t'"], check=True)

@powercut.crash_test("sh -c 'test ! -e s.json'")
def test_check_that_refuses_the_end(tmp_path):
    save(tmp_path / "s.json", 1)

def test_other():
    pass
"""
)


def test_decorated_functions_and_commands(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(DECORATED)
    ended = run(pytester, "-n", "2")
    ended.assert_outcomes(passed=3, failed=3)
    text = ended.stdout.str()
    assert "not atomic (atomicity)" in text and "possible on: xfs" in text
    assert "[check-fails-on-final-state]" in text
    runs = {path.parent.name for path in pytester.path.glob(".powercut/runs/*/run.json")}
    assert len(runs) == 4  # one for each that was judged, also side by side


def test_only_chosen_tests_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(DECORATED)
    run(pytester, "-k", "careful or other").assert_outcomes(passed=2, deselected=4)


SETTINGS = """
import pytest

def workload(folder):
    (folder / "f").write_text("1")

@pytest.mark.powercut(fs="btrfs", max_states=2)
class TestOfAClass:
    def test_marker(self, crash_test, tmp_path):
        run = crash_test(lambda: workload(tmp_path))
        assert (run.model, run.states["tested"] <= 2) == (MODEL or "btrfs", True)

    @pytest.mark.powercut(fs="posix")
    def test_closest_marker(self, crash_test, tmp_path):
        assert crash_test(lambda: workload(tmp_path)).model == (MODEL or "posix")

    def test_call(self, crash_test, tmp_path):
        assert crash_test(lambda: workload(tmp_path), fs="xfs").model == (MODEL or "xfs")

def test_configuration(crash_test, tmp_path):
    assert crash_test(lambda: workload(tmp_path)).model == (MODEL or "ext4-writeback")
"""


@pytest.mark.parametrize(("options", "model"), [([], None), (["--powercut-fs", "ext4-journal"], "ext4-journal")])
def test_settings_come_from_files_markers_calls_and_the_command_line(
    pytester: pytest.Pytester, options: list[str], model: str | None
) -> None:
    pytester.makepyfile(f"MODEL = {model!r}\n{SETTINGS}")
    pytester.makeini("[pytest]\npowercut_fs = ext4-writeback\npowercut_seed = 7\n")
    (pytester.path / "powercut.toml").write_text('fs = "xfs"\nmax-states = 3\n')
    run(pytester, *options).assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("options", "ini", "words"),
    [
        (["--powercut-fs", "zfs"], "", "unknown file-system model 'zfs'"),
        (["--powercut-max-states", "0"], "", "Nothing tested. "),
        ([], "powercut_seed = x", "powercut_seed in"),
        (["--powercut-replay", "9/abc"], "", "there is no saved run 9"),
    ],
)
def test_wrong_settings_are_one_message(pytester: pytest.Pytester, options: list[str], ini: str, words: str) -> None:
    pytester.makepyfile(SAVE + EIGHT_LINES)
    pytester.makeini(f"[pytest]\n{ini}\n")
    ended = run(pytester, *options)
    assert ended.ret != 0
    text = ended.stdout.str() + ended.stderr.str()
    assert words in text
    assert "pytest_plugin/crash_tests.py" not in text


def test_a_suite_without_crash_tests_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        def test_nothing():
            assert "powercut.pytest_plugin" in sys.modules
            heavy = {"numpy", "msgspec", "powercut.api", "powercut.pytest_plugin.crash_tests", "click", "rich"}
            assert not heavy & set(sys.modules)
        """
    )
    run(pytester, "-p", "no:xdist").assert_outcomes(passed=1)


def test_a_check_that_hangs_beyond_the_budget_is_no_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import time
        def test_saving(crash_test, tmp_path):
            def check(folder):
                if not (folder / "f").exists():
                    time.sleep(60)
            crash_test(lambda: (tmp_path / "f").write_text("x"), check)
    """)
    ended = run(pytester, "--powercut-budget", "1s", "--powercut-timeout", "60", "--powercut-fs", "xfs")
    ended.assert_outcomes(failed=1)
    assert "No findings. No verdict on " in ended.stdout.str()
