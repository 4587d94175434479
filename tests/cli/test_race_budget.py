"""`powercut race` keeps its budget and what it found, and blames nothing on a race that fails without it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from powercut.native_programs import memory_tool
from tests.cli.kit import World

pytestmark = pytest.mark.skipif(memory_tool() is None, reason="there is no memory tracer")

HEAD = """\
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void flush(volatile void *at) { __builtin_ia32_clflush((void *)at); __builtin_ia32_sfence(); }
static void *map(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 8192)) return NULL;
    return mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
static void two(void *(*run)(void *)) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}
"""

# Ten places that read back what they have not made durable; a recovery has its work with each.
MANY = (
    HEAD
    + """
static volatile uint64_t *m;
#define KEEP(i) m[16 * i] = i + 1; m[16 * i + 8] = m[16 * i]; flush(&m[16 * i + 8]);
static void *run(void *me) {
    if (me) return NULL;
"""
    + "".join(f"    KEEP({number})\n" for number in range(10))
    + """
    return NULL;
}
int main(void) { m = map("data/pool"); two(run); return 0; }
"""
)
PLACES = 10

# `half` alone is what the recovery fails of. It lies in the line of a lock, or was made durable long before a race.
HALF = (
    HEAD
    + """
static struct {
    _Alignas(64) volatile uint64_t half;
    volatile uint64_t lock, n;
    _Alignas(64) volatile uint64_t done;
    _Alignas(64) volatile uint64_t source;
    _Alignas(64) volatile uint64_t copy;
} *m;
static void *locks(void *me) {
    for (int i = 0; i < 10; i++) {
        while (!__sync_bool_compare_and_swap(&m->lock, 0, 1)) ;
        m->n++; flush(&m->n);
        m->lock = 0;
    }
    return me;
}
static void *copies(void *me) {
    if (me) { m->source = 1; return NULL; }
    m->copy = m->source + 1; flush(&m->copy);
    return NULL;
}
int main(int argc, char **argv) {
    m = map(argc > 2 ? "pool" : "data/pool");
    if (argc > 2) {
        if (m->half && !m->done) { puts("half without done"); return 1; }
        m->copy = 0;
        return 0;
    }
    m->half = 1; // SURVIVED
    if (argv[1][0] == 'c') flush(&m->half);
    two(argv[1][0] == 'c' ? copies : locks);
    m->done = 1; flush(&m->done); // MISSING
    return 0;
}
"""
)


def compiled(world: World, source: str) -> Path:
    program = world.here / "p"
    (world.here / "p.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-w", "-o", program, world.here / "p.c"], check=True)
    return program


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(HALF.splitlines(), 1) if line.endswith(f"// {mark}"))


def saved(world: World) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((world.here / ".powercut" / "runs" / "0001" / "run.json").read_text())
    return report


def test_a_slow_recovery_does_not_take_more_than_the_budget(world: World) -> None:
    program = compiled(world, MANY)
    began = time.monotonic()
    ended = world.run("race", "--dir", "data", "--budget", "5s", "--recovery", "sleep 2", "--", str(program))
    assert time.monotonic() - began < 5 + 5
    assert ended.code == 0  # nothing was replayed ten times
    found = saved(world)["findings"]
    assert len(found) == PLACES
    assert {one["race"]["standing"] for one in found} == {"candidate"}
    assert "candidates" in ended.out
    assert ended.err.count("powercut: candidate ") == PLACES


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_was_found_is_there_however_the_search_ends(world: World, number: signal.Signals) -> None:
    program = compiled(world, MANY)
    words = ("race", "--dir", "data", "--budget", "60s", "--recovery", "sleep 2", "--", str(program))
    process = world.start(*words)
    report = world.here / ".powercut" / "runs" / "0001" / "run.json"
    deadline = time.monotonic() + 30
    while not report.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    process.communicate(timeout=30)
    found = saved(world)
    assert len(found["findings"]) == PLACES
    assert found["interrupted"]
    assert all((report.parent / one["race"]["plan"]).exists() for one in found["findings"])


@pytest.mark.parametrize("how", ["locks", "copies"])
def test_what_fails_without_the_race_is_told_as_the_crash_bug_it_is(world: World, how: str) -> None:
    program = compiled(world, HALF)
    recovery = f"{program} {how} recover"
    words = ("--recovery", recovery, "--max-executions", "4", "--json", "race.json", "--", str(program), how)
    ended = world.run("race", "--dir", "data", "--budget", "40s", *words)
    found = json.loads((world.here / "race.json").read_text())["findings"]
    (bug,) = [one for one in found if one["severity"] == "error"]
    assert bug["kind"] == "atomicity"
    assert "the recovery fails" in bug["message"]
    assert {place["line"] for place in bug["locations"]} == {line_of("SURVIVED"), line_of("MISSING")}
    assert ended.code == 1
    assert "No races, 1 plain crash bug" in ended.out
    again = world.run("replay", f"1/{bug['id']}")
    assert again.code == 1
    assert "half without done" in again.out
