"""What powercut costs where it does nothing: `powercut --help`, and a test suite that has no crash test.

CPU time counts, which other work on the machine changes little; with and without the plugin take turns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kit import Row, at_most, cpu_of_children, dearer, timed, turns, workspace

TURNS = 15
MOST_FOR_HELP = 150.0  # ms
MOST_FOR_PLUGIN = 20.0  # ms
SUITE = "def test_one():\n    pass\n"


def measure() -> list[Row]:
    """Help, and the plugin."""
    with workspace() as folder:
        (folder / "test_one.py").write_text(SUITE)
        suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_one.py"]
        commands: dict[str, Sequence[str]] = {
            "help": [str(Path(sys.executable).with_name("powercut")), "--help"],
            "nothing": [sys.executable, "-c", "pass"],
            "with": suite,
            "without": [*suite, "-p", "no:powercut"],
        }
        found = turns(TURNS, {name: _cpu_of(command, folder) for name, command in commands.items()})
    least = {name: min(figures) for name, figures in found.items()}
    extra = max(least["with"] - least["without"], 0.1)  # less than that cannot be told
    return [
        at_most("powercut --help", least["help"], "ms", MOST_FOR_HELP),
        dearer("powercut --help", least["help"], "ms", "python -c pass", least["nothing"]),
        at_most("pytest plugin where no test uses it", extra, "ms", MOST_FOR_PLUGIN),
    ]


def _cpu_of(command: Sequence[str], folder: Path) -> Callable[[], float]:
    """Milliseconds of CPU that a command takes."""
    return lambda: cpu_of_children(lambda: timed(command, cwd=folder))[1] * 1000
