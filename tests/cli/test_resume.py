"""A run that was stopped goes on: with the same findings, and without asking anything twice."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from tests.cli.kit import CHECK, World, looks, wait_for

MANY = "for i in 1 2; do printf new > data/f.tmp; mv data/f.tmp data/f; echo saved; printf $i > data/g$i; done"
OPTIONS = ["--dir", "data", "--check", "sh check", "--workers", "1", "--no-equivalence", "--json", "report.json"]
IN_FLIGHT = 20  # questions whose answers may be lost in the last second before a kill, at 60 ms each


def asked(world: World) -> int:
    path = world.here / "asked"
    return path.stat().st_size if path.exists() else 0


@pytest.fixture
def slow(world: World) -> World:
    """A world whose check takes its time, and counts how often it is asked."""
    (world.here / "check").write_text(f"printf x >> {world.here}/asked; sleep 0.06; {CHECK}")
    return world


def report(world: World) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((world.here / "report.json").read_text())
    found["findings"] = [{k: v for k, v in f.items() if k != "replay"} for f in found["findings"]]
    return found


def test_a_killed_run_goes_on_as_if_nothing_had_been(slow: World) -> None:
    world = slow
    assert world.run("test", *OPTIONS, "--no-cache", "--", "sh", "-c", MANY).code == 1
    whole, questions = report(world), asked(world)
    assert questions > 40
    (world.here / ".powercut" / "verdicts.sqlite3").unlink()
    (world.here / "asked").unlink()
    process = world.start("test", *OPTIONS, "--", "sh", "-c", MANY)
    wait_for(lambda: asked(world) >= 35)
    process.kill()
    process.communicate(timeout=60)
    before = asked(world)
    assert world.run("resume", "--json", "report.json").code == 1
    resumed = report(world)
    assert resumed["findings"] == whole["findings"]
    assert resumed["states"]["exhausted"] and resumed["states"]["total"] == whole["states"]["total"]
    assert resumed["states"]["known"] > 0
    assert before < questions and asked(world) <= questions + IN_FLIGHT
    assert world.runs() == ["0001", "0002"]
    assert world.run("replay", "2/" + whole["findings"][0]["id"]).code == 1


def test_a_run_that_reached_its_limit_goes_further_if_it_may(world: World) -> None:
    ended = world.test("--max-states", "4", "--no-equivalence", "--json", "report.json", workload=MANY)
    few = report(world)["states"]
    assert (ended.code, few["tested"], few["exhausted"]) == (1, 4, False)
    assert world.run("resume", "1", "--json", "report.json").code == 1
    same = report(world)["states"]
    assert (same["tested"], same["known"]) == (0, 4), "as many as it was given, and no more"
    assert world.run("resume", str(world.here / ".powercut/runs/0001"), "--max-states", "9", cwd="/").code == 1
    assert world.runs() == ["0001"]
    further = json.loads((world.here / ".powercut/runs/0001/run.json").read_text())["states"]
    assert further["tested"] > 0 and further["known"] >= 4  # what explaining asked for is known, too
    assert further["tested"] + further["known"] == 9


def test_a_run_that_is_still_going_on_is_left_alone(slow: World) -> None:
    world, before = slow, looks(slow.data)
    process = world.start("test", *OPTIONS, "--", "sh", "-c", MANY)
    wait_for(lambda: asked(world) >= 10)
    ended = world.run("resume", "1")
    assert (ended.code, ended.err) == (2, "powercut: run 0001 is still running. Wait until it ends. [run-in-use]\n")
    os.killpg(process.pid, signal.SIGINT)
    assert (
        "Interrupted. Results so far are saved; continue with: powercut resume 0001"
        in world.finish(process, before).out
    )
