"""What powercut costs where it does little: `powercut --help`, a suite without a crash test, the demo's first finding.

CPU time of all processes counts, which other work on the machine changes little; with and without the plugin take
turns. The demo's first program is ended with its first finding, and its own runs and those of its check count, too.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kit import HERE, Broken, Row, at_most, cpu_of_children, dearer, timed, turns, workspace

TURNS = 15
MOST_FOR_HELP = 80.0  # ms
MOST_FOR_PLUGIN = 10.0  # ms
MOST_FOR_FINDING = 700.0  # ms
DEMO = HERE.parent / "corpus" / "demo"
SUITE = "def test_one():\n    pass\n"


def measure() -> list[Row]:
    """Help, the plugin, and the first finding."""
    with workspace() as folder:
        (folder / "test_one.py").write_text(SUITE)
        suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_one.py"]
        commands: dict[str, Sequence[str]] = {
            "help": [str(Path(sys.executable).with_name("powercut")), "--help"],
            "nothing": [sys.executable, "-c", "pass"],
            "with": suite,
            "without": [*suite, "-p", "no:powercut"],
        }
        contestants = {name: _cpu_of(command, folder) for name, command in commands.items()}
        found = turns(TURNS, {**contestants, "finding": lambda: _cpu_until_finding(folder)})
    least = {name: min(figures) for name, figures in found.items()}
    extra = max(least["with"] - least["without"], 0.1)  # less than that cannot be told
    return [
        at_most("powercut --help", least["help"], "ms", MOST_FOR_HELP),
        dearer("powercut --help", least["help"], "ms", "python -c pass", least["nothing"]),
        at_most("pytest plugin where no test uses it", extra, "ms", MOST_FOR_PLUGIN),
        at_most("first finding of the demo", least["finding"], "ms", MOST_FOR_FINDING),
    ]


def _cpu_of(command: Sequence[str], folder: Path) -> Callable[[], float]:
    """Milliseconds of CPU that a command takes."""
    return lambda: cpu_of_children(lambda: timed(command, cwd=folder))[1] * 1000


def _cpu_until_finding(folder: Path) -> float:
    """Milliseconds of CPU that all take until the demo's first finding is told; powercut is ended then."""
    data = folder / "settings"
    data.mkdir(exist_ok=True)
    check = shlex.join([sys.executable, str(DEMO / "settings_check.py")])
    command = [str(Path(sys.executable).with_name("powercut")), "test", "--check", check, "--no-cache"]
    command += ["--output", str(folder / "runs"), "--", sys.executable, str(DEMO / "settings.py")]

    def until_told() -> float:
        with subprocess.Popen(command, cwd=data, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            assert run.stderr is not None
            for line in run.stderr:
                if line.startswith("powercut: finding "):
                    run.terminate()
                    return 0.0
        raise Broken("the demo's first finding was not told")

    return cpu_of_children(until_told)[1] * 1000
