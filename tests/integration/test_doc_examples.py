"""What the tutorial and the how-tos show is what happens: their files are written, their commands run, in order.

A fenced block with a title is a file. A block of the language `console` holds commands behind `$ `, each followed by
all that it prints; a line `...` there stands for any lines. Times, and how states were covered, differ from run to run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]
BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"^<!-- needs: (.+) -->$", re.MULTILINE)
VARYING = (
    (re.compile(r"\d+\.\d s\b"), "N s"),
    (re.compile(r"(?<=crash states covered: )\d[^.]*"), "N tested"),
    (re.compile(r"\d+ failing states?"), "N failing states"),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), "tmpNNNNNNNN"),  # of Python's tempfile
)
LIMIT = 120.0  # seconds; only a hang reaches it


@dataclass(frozen=True, slots=True)
class Shown:
    """One command of a page, with what it is said to print."""

    command: str
    output: list[str]


def steps(page: Path) -> Iterator[tuple[str, str] | Shown]:
    """The files (name and content) and commands of a page, in order."""
    for block in BLOCK.finditer(page.read_text()):
        if block["title"]:
            yield block["title"], block["text"]
        elif block["language"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, *output = part.splitlines()
                yield Shown(command, output)


def settled(text: str, home: Path) -> list[str]:
    """Lines in which nothing differs from run to run; the folder of the page is `~`."""
    text = text.replace(str(home), "~")
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return [line.rstrip() for line in text.splitlines()]


def fits(shown: list[str], printed: list[str]) -> bool:
    """Whether lines are those that were announced."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and fits(shown[1:], printed[1:])


def environment() -> dict[str, str]:
    """As in a shell of somebody who has just installed powercut."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POWERCUT", "PYTEST"))}
    return {**kept, "PATH": path, "LC_ALL": "C.UTF-8"}


def missing(page: Path) -> list[str]:
    """What a page needs, as commands, headers or paths, and this machine has not."""
    needed = [word for line in NEEDS.findall(page.read_text()) for word in line.split()]
    headers = Path("/usr/include")
    there = (word for word in needed if word.endswith(".h") or word.startswith("/"))
    found = {word for word in there if (headers / word).exists()}  # an absolute path stays what it is
    return [word for word in needed if word not in found and not shutil.which(word)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_happens(page: Path, tmp_path: Path) -> None:
    if missing(page):
        pytest.skip(f"{page.stem} needs {', '.join(missing(page))}")
    code = 0
    for step in steps(page):
        if not isinstance(step, Shown):
            name, text = step
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
            continue
        script = f"(exit {code})\n{step.command}"  # so that `echo $?` tells of the command before
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
        )
        code = done.returncode
        printed = settled(done.stdout.decode(), tmp_path)
        shown = settled("\n".join(step.output), tmp_path)
        assert fits(shown, printed), f"$ {step.command}\n" + "\n".join(printed)


def test_pages_have_examples() -> None:
    """Otherwise the test above passes by seeing nothing."""
    with_commands = {page.stem for page in PAGES if any(isinstance(step, Shown) for step in steps(page))}
    assert {"tutorial", "python", "c", "rust", "java", "pmdk", "shell"} <= with_commands


def test_lines_that_were_announced_fit() -> None:
    assert fits(["a", "...", "c"], ["a", "b", "b", "c"])
    assert fits(["a", "..."], ["a"])
    assert not fits(["a", "...", "c"], ["a", "b"])
    assert not fits([], ["a"])
    assert settled("All 7 crash states covered: 3 tested, 4 identical to a tested one. 1.5 s.\n/x/f", Path("/x")) == [
        "All 7 crash states covered: N tested. N s.",
        "~/f",
    ]
