"""steps_check.py NAME PROGRAM POOL STEPS: compare what fifo, queue or btree shows with the steps that were done.

The program recovers its pool and shows it. That must be what the acknowledged steps leave, or those and some of the
following ones.
"""

from __future__ import annotations

import os
import sys

from running import run

SHOW = {"fifo": "print", "queue": "show", "btree": "p"}


def fifo(items: list[str], step: list[str]) -> list[str]:
    """The newest element stands first; the last one is removed."""
    return [step[1], *items] if step[0] == "insert" else items[:-1]


def queue(items: list[str], step: list[str]) -> list[str]:
    """Entries stand in the order in which they leave."""
    return [*items, step[1]] if step[0] == "enqueue" else items[1:]


def btree(items: list[str], step: list[str]) -> list[str]:
    """Keys in order, each with its value."""
    return sorted([*items, " ".join(step[1:])])


NEXT = {"fifo": fifo, "queue": queue, "btree": btree}


def shown(name: str, text: str) -> list[str]:
    """What the program printed, as a list of items."""
    lines = text.splitlines()[name != "btree" :]
    if name == "fifo":
        return lines[0].split() if lines else []
    return [line.partition(": ")[2] for line in lines] if name == "queue" else lines


def main(name: str, program: str, pool: str, path: str) -> None:
    """Ask the program, and refuse what it shows if no number of steps leaves it."""
    status, text = run(program, pool, SHOW[name])
    if status != 0:
        sys.exit(f"{name} ended with {status}")
    found = shown(name, text)
    with open(os.environ["POWERCUT_ACKED"]) as said, open(path) as file:
        acknowledged = sum(line.endswith("\n") for line in said)
        steps = [line.split() for line in file]
    items: list[str] = []
    for number in range(len(steps) + 1):
        if number >= acknowledged and items == found:
            return
        if number < len(steps):
            items = NEXT[name](items, steps[number])
    sys.exit(f"{name} shows {found}, which no steps from number {acknowledged} on leave")


if __name__ == "__main__":
    main(*sys.argv[1:])
