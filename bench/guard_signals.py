"""Whether `powercut guard` ends when it is told to, at any moment: within a second, with all that it started.

    python bench/guard_signals.py [--tries N] [--seed N] [--disk FOLDER]

Services that write without a pause (tests/guard_programs/pages.c) are started and told to end: within the first
millisecond, at a random moment of the first 1.5 s, or just when their log begins; with SIGTERM, SIGINT or SIGHUP. They
are run as they are, by a shell that has more to do, on a log that must be read first, and with a check that hangs.
Prints the slowest of each kind, and all that took longer or left a process behind.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kit import HERE, workspace

TRIES = 100
SOON = 1.0  # seconds
LATEST = 10 * SOON  # then it is killed
POWERCUT = Path(sys.executable).with_name("powercut")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FOREVER = "100000000"
Start = Callable[[Path, Path], list[str]]
START: dict[str, Start] = {
    "alone": lambda pages, pool: ["--", str(pages), str(pool), "4", FOREVER],
    "by a shell": lambda pages, pool: ["--", "sh", "-c", f"{pages} {pool} 4 {FOREVER}; true"],
    "large log": lambda pages, pool: ["--", str(pages), str(pool), "8", FOREVER],
    "hanging check": lambda pages, pool: [
        *("--check", "sleep 100", "--every", "0.1", "--timeout", "60"),
        *("--", str(pages), str(pool), "4", FOREVER),
    ],
}


@dataclass(frozen=True, slots=True)
class Try:
    """One try: what was started, the signal, when it came, how long the end took, and what was left."""

    kind: str
    number: int
    after: float
    took: float
    left: int

    @property
    def is_good(self) -> bool:
        """Whether it ended soon, with all that it had started."""
        return self.took <= SOON and not self.left

    def __str__(self) -> str:
        name = signal.Signals(self.number).name
        left = f", {self.left} processes were left" if self.left else ""
        return f"{self.kind}: {name} after {self.after * 1000:.1f} ms: ended after {self.took:.2f} s{left}"


def compile_pages(into: Path) -> Path:
    """The service."""
    program = into / "pages"
    source = HERE.parent / "tests" / "guard_programs" / "pages.c"
    subprocess.run(["gcc", "-O2", "-o", program, source, "-lpmem"], check=True)
    return program


def wait_for_moment(chance: random.Random, log: Path) -> None:
    """Until the signal is to be sent."""
    how = chance.random()
    if how < 0.25:
        time.sleep(chance.random() / 1000)
    elif how < 0.75:
        time.sleep(chance.random() * 1.5)
    else:  # near the service's own start
        known, end = len(list(log.glob("*.segment"))), time.monotonic() + SOON
        while len(list(log.glob("*.segment"))) == known and time.monotonic() < end:
            pass
        time.sleep(chance.random() / 100)


def left_of(word: str) -> list[int]:
    """The processes in whose command a word stands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def one(chance: random.Random, pages: Path, space: Path, filled: Path) -> Try:
    """Start a service and tell it to end."""
    kind, folder, number = chance.choice(list(START)), space / "one", chance.choice(SIGNALS)
    folder.mkdir()
    pool, log = folder / "pool", folder / "log"
    if kind == "large log":
        shutil.copytree(filled, folder, dirs_exist_ok=True)
    command = [str(POWERCUT), "guard", "--log", str(log), *START[kind](pages, pool)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    started = time.monotonic()
    wait_for_moment(chance, log)
    told = time.monotonic()
    process.send_signal(number)
    try:
        process.wait(LATEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    took = time.monotonic() - told
    time.sleep(0.05)  # a reclaim that was killed is on its way out
    left = left_of(str(pool))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)
    return Try(kind, number, told - started, took, len(left))


def main(tries: int, seed: int, disk: Path | None) -> int:
    """All tries, with pool and log in memory or on a disk; 1: some were slow or left something."""
    os.environ["PMEM_IS_PMEM_FORCE"] = "1"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in the background: so would guard
    chance, done = random.Random(seed), []
    with workspace() as memory, tempfile.TemporaryDirectory(dir=disk or memory) as name:
        space = Path(name)
        pages = compile_pages(space)
        filled = space / "filled"
        filled.mkdir()
        words = ["--log", str(filled / "log"), "--", str(pages), str(filled / "pool"), "8", "60"]
        subprocess.run([POWERCUT, "guard", *words], check=True)
        for _ in range(tries):
            done.append(one(chance, pages, space, filled))
            if not done[-1].is_good:
                print(done[-1], flush=True)
    for kind in START:
        of_kind = [one for one in done if one.kind == kind]
        if of_kind:
            print(f"{len(of_kind)} of kind {kind}; the slowest: {max(of_kind, key=lambda one: one.took)}")
    bad = sum(not one.is_good for one in done)
    print(f"{tries - bad} of {tries} ended within {SOON:g} s and left nothing (seed {seed})")
    return int(bad > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--seed", type=int, default=random.randrange(1000))
    parser.add_argument("--disk", type=Path)
    asked = parser.parse_args()
    sys.exit(main(asked.tries, asked.seed, asked.disk))
