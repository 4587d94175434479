"""Does `powercut race` end when it was told to, and is what it told kept however it ends? Ten programs.

    python bench/race_budgets.py                       budget against time taken
    python bench/race_budgets.py --interrupt 10        each of them ended at so many random moments instead
    python bench/race_budgets.py tree cache            some of them

A run may take its budget and five seconds, or a tenth of it if that is more. One that is ended by SIGINT, SIGTERM or
SIGKILL must have saved all that it told: each bug and note, and each candidate but those that were judged harmless.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kit import HERE, Row, at_most, workspace
from race_hunt import Target
from run import table

sys.path.insert(0, str(HERE.parent / "corpus"))

import race_cases  # isort: skip
import race_index  # isort: skip
import race_programs  # isort: skip
from harness import POWERCUT  # isort: skip

BUDGET = 20.0  # seconds
LEAST_MORE, MORE = 5.0, 0.1  # seconds, or a part of the budget
LATEST = 12.0  # seconds after which a run is ended at most
PATIENCE = 30.0  # seconds in which it must be over then
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_TOLD = re.compile(r"^powercut: (.+) ([0-9a-f]{8}): ", re.MULTILINE)

# Ten places that read back what they have not made durable: the recovery takes far longer than there is time.
SLOW = """\
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
static volatile uint64_t *m;
static void *run(void *me) {
    for (int i = 0; i < 10 && !me; i++) {
        m[16 * i] = i + 1;
        m[16 * i + 8] = m[16 * i];
        __builtin_ia32_clflush((void *)&m[16 * i + 8]);
        __builtin_ia32_sfence();
    }
    return 0;
}
int main(int argc, char **argv) {
    pthread_t t[2];
    m = mmap(0, 4096, 3, MAP_SHARED, open(argv[argc - 1], O_RDWR), 0);
    for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
"""


def _slow(space: Path) -> Target:
    program, data = space / "slow", space / "data"
    (space / "slow.c").write_text(SLOW)
    subprocess.run(["gcc", "-g", "-pthread", "-o", program, space / "slow.c"], check=True)
    data.mkdir()
    (data / "pool").write_bytes(bytes(4096))
    return Target("slow", data, [str(program), str(data / "pool")], "sleep 2", "true", bool)


def _case(name: str) -> Callable[[Path], Target]:
    def build(space: Path) -> Target:
        (case,) = (one for one in race_cases.race_cases() if one.name == name)
        built = case.build("buggy", space)
        return Target(name, built.data, built.workload, built.recovery, built.check, bool)

    return build


def _map(name: str) -> Callable[[Path], Target]:
    def build(space: Path) -> Target:
        index, data = race_index.Index(race_index.build_index(space), name), space / "data"
        data.mkdir()
        options = {"grammar": race_index.GRAMMAR}
        return Target(name, data, index.workload(data), index.check, index.check, bool, options)

    return build


def _program(name: str, race: str | None) -> Callable[[Path], Target]:
    def build(space: Path) -> Target:
        (program,) = (one for one in race_programs.race_programs() if one.name == name)
        built = race_programs.build_program(program, race, space)
        options = {"grammar": program.grammar, "client": built.client}
        return Target(name, built.data, built.workload, built.recovery, built.check, bool, options)

    return build


PROGRAMS: Mapping[str, Callable[[Path], Target]] = {
    "figure-1": _case("figure-1"),
    "figure-2": _case("figure-2"),
    "sibling-pointer": _case("sibling-pointer"),
    "slow": _slow,
    "table": _map("table"),
    "tree": _map("tree"),
    "chains": _program("chains", "table-pointer"),
    "siblings": _program("siblings", None),
    "segments": _program("segments", "lock-order"),
    "cache": _program("cache", "link"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of: {', '.join(PROGRAMS)}")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS")
    parser.add_argument("--interrupt", type=int, default=0, metavar="N", help="moments at which each run is ended")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(PROGRAMS):
        parser.error(f"there is no {', '.join(unknown)}; there are: {', '.join(PROGRAMS)}")
    names = options.names or list(PROGRAMS)
    if not options.interrupt:
        print(table(measure(names, options.budget)), end="")
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    wrong = [text for name in names for text in _interrupted(name, options.interrupt, random.Random(options.seed))]
    print("\n".join([*wrong, f"{len(names) * options.interrupt} runs ended, {len(wrong)} things wrong"]))
    sys.exit(bool(wrong))


def measure(names: Sequence[str] = tuple(PROGRAMS), budget: float = BUDGET) -> list[Row]:
    """What each run takes."""
    rows = []
    for name in names:
        with workspace() as space:
            target = PROGRAMS[name](space)
            began = time.monotonic()
            done = subprocess.run(_command(target, budget), cwd=space, capture_output=True, check=False)
            taken = time.monotonic() - began
            if done.returncode not in (0, 1):
                print(f"{name}: exit {done.returncode}: {done.stderr.decode()[-500:]}", file=sys.stderr)
            counts = _saved(space).get("race") or {}
            print(f"{name}: {taken:.1f} s, {counts.get('executions')} executions", file=sys.stderr)
            rows.append(at_most(f"{name}, budget {budget:g} s", taken, "s", budget + max(LEAST_MORE, MORE * budget)))
    return rows


def _interrupted(name: str, times: int, dice: random.Random) -> Iterator[str]:
    """What is wrong where a program's runs are ended at random moments."""
    with workspace() as space:
        target = PROGRAMS[name](space)
        for number in range(times):
            how, after = SIGNALS[number % len(SIGNALS)], dice.uniform(0.0, LATEST)
            for text in _ended(target, how, after):
                yield f"{name}, {how.name} after {after:.2f} s: {text}"


def _ended(target: Target, how: signal.Signals, after: float) -> Iterator[str]:
    """What is wrong with one run; its saved run is removed."""
    space = target.data.parent
    with open(space / "said", "wb") as said:
        process = subprocess.Popen(_command(target, 600.0), cwd=space, stdout=said, stderr=said, process_group=0)
        time.sleep(after)
        (os.killpg if how is signal.SIGINT else os.kill)(process.pid, how)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            yield f"it did not end within {PATIENCE:g} s"
    text = (space / "said").read_text(errors="replace")
    told = {match[2]: match[1] for match in _TOLD.finditer(text)}
    run = _saved(space)
    kept = {finding["id"] for finding in run.get("findings", ())}
    candidates = [one for one, standing in told.items() if standing == "candidate" and one not in kept]
    yield from (f"{told[one]} {one} was told and is not kept" for one in told.keys() - kept - set(candidates))
    if len(candidates) > (run.get("race") or {}).get("benign", 0):
        yield f"{len(candidates)} candidates were told and are not kept"
    if "Traceback" in text:
        yield text[text.index("Traceback") :]
    print(f"{target.name}: {how.name} after {after:.2f} s: {len(told)} told, {len(kept)} kept", file=sys.stderr)
    subprocess.run(["rm", "-rf", str(space / ".powercut")], check=True)


def _command(target: Target, budget: float) -> list[str]:
    options = {name: str(value) for name, value in target.options.items() if value is not None}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    judges = ["--recovery", target.recovery, "--check", target.check, "--budget", f"{budget:g}s", "--jobs", "2"]
    return [str(POWERCUT), "race", "--dir", str(target.data), *judges, *words, "--", *target.workload]


def _saved(space: Path) -> dict[str, Any]:
    """The saved run; empty if there is none."""
    for path in (space / ".powercut").glob("runs/*/run.json"):
        run: dict[str, Any] = json.loads(path.read_text())
        return run
    return {}


if __name__ == "__main__":
    main()
