"""Is anything left when `powercut test` is ended at any moment? Whole runs, ended at random moments.

    python bench/interrupted.py               100 runs
    python bench/interrupted.py --runs 20     fewer; --seed for others

Every run works on one of two data folders, by turns: a small one, which is copied, and a large one, over which layers
lie. It is ended by SIGINT, SIGTERM or SIGKILL, sent to powercut alone or to its group. After each, the folder must be
as it was, to the byte and the nanosecond, nothing may be mounted in it, and no process of the run may live on. After
SIGINT and SIGTERM, no temporary folder may be left, and no traceback may have been printed. What SIGKILL leaves is
removed by the next run, so at the end nothing may be left at all.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from kit import workspace

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LARGE = 400  # files, which are shown without a copy
SAVE = "for i in 1 2 3 4 5 6 7 8; do printf new > data/f.tmp; mv data/f.tmp data/f; echo saved; done; sleep 0.3"
CHECK = 'sleep 0.05; [ -s f ] || ! grep -q saved "$POWERCUT_ACKED"'
LONGEST = 2.5  # seconds: a whole run
PATIENCE = 10.0  # seconds until all that was started has ended
MARK = "POWERCUT_BENCH_INTERRUPTED"


class World:
    """A folder with data, a place for temporary files, and what they looked like at first."""

    def __init__(self, here: Path, files: int) -> None:
        self.here = here
        self.data = here / "data"
        self.data.mkdir(parents=True)
        (here / "tmp").mkdir()
        for number in range(files):
            (self.data / f"{number:04}").write_text("x" * 100)
        self.env = {**os.environ, "TMPDIR": str(here / "tmp"), MARK: str(here)}
        self.first = looks(self.data)
        self.pids: list[int] = []  # of all runs

    def start(self) -> subprocess.Popen[bytes]:
        """A run, in a process group of its own."""
        (self.here / "check").write_text(CHECK)
        arguments = ["test", "--dir", "data", "--check", "sh check", "--no-cache", "--budget", "3s"]
        arguments += ["--", "sh", "-c", SAVE]
        command = [os.path.join(sysconfig.get_path("scripts"), "powercut"), *arguments]
        with open(self.here / "errors", "wb") as errors:
            return subprocess.Popen(
                command, cwd=self.here, env=self.env, stdout=subprocess.DEVNULL, stderr=errors, process_group=0
            )

    def alive(self) -> list[str]:
        """Processes that the run has started."""
        mine = os.fsencode(f"{MARK}={self.here}")
        return [_command(process) for process in Path("/proc").glob("[0-9]*") if mine in _environment(process)]

    def scratch(self, pids: Collection[int]) -> list[Path]:
        """Temporary folders of some runs."""
        left = [*(self.here / "tmp").iterdir()]
        for marker in Path("/dev/shm").glob("powercut-*/.powercut-scratch"):
            if set(_text(marker).split()[1:2]) & set(map(str, pids)):
                left.append(marker.parent)
        return left


def interrupted(world: World, number: signal.Signals, after: float, *, group: bool) -> Iterator[str]:
    """What is wrong after a run that was ended after so many seconds."""
    process = world.start()
    world.pids.append(process.pid)
    time.sleep(after)
    (os.killpg if group else os.kill)(process.pid, number)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        yield "it did not end"
    deadline = time.monotonic() + PATIENCE
    while (alive := world.alive()) and time.monotonic() < deadline:
        time.sleep(0.02)
    yield from (f"still running: {command}" for command in alive)
    if looks(world.data) != world.first:
        yield "the folder is not as it was"
    yield from (
        f"still mounted: {line}" for line in _text(Path("/proc/self/mountinfo")).splitlines() if _in(world, line)
    )
    if number is not signal.SIGKILL:
        yield from (f"left behind: {folder}" for folder in world.scratch([process.pid]))
        yield from (f"printed: {line}" for line in _text(world.here / "errors").splitlines() if "Traceback" in line)


def looks(folder: Path) -> object:
    """All of a folder that its owner can see, but for when it was read."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[path] = (status.st_mode, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, content)
    return found


def _in(world: World, line: str) -> bool:
    return line.split()[4].startswith(str(world.here))


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []  # it ended meanwhile, or is another user's


def _command(process: Path) -> str:
    return _text(process / "cmdline").replace("\0", " ")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def main() -> None:
    """Print what is wrong, and how many runs were ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, wrong = random.Random(options.seed), 0
    with workspace() as here:
        worlds = [World(here / "small", 3), World(here / "large", LARGE)]
        for run in range(options.runs):
            world, number = worlds[run % 2], SIGNALS[run // 2 % 3]
            after, group = rng.uniform(0.0, LONGEST), rng.random() < 0.5
            for what in interrupted(world, number, after, group=group):
                wrong += 1
                print(f"run {run}, {world.here.name}, {number.name} after {after:.3f} s: {what}", flush=True)
        for world in worlds:
            world.start().wait()  # removes what those left that could not
            for folder in world.scratch(world.pids):
                wrong += 1
                print(f"{world.here.name}, at the end: left behind: {folder}")
    print(f"{options.runs} runs ended, {wrong} things wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
