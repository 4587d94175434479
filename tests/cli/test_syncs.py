"""`powercut syncs`: the table, its exit codes, and what becomes of it when something is in the way."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.cli.kit import ROW, SAFE, Ended, World, looks, wait_for

HARMLESS = "printf x > data/h && sync data/h && echo done"  # the check does not look at h
BROKEN = "printf x > data/g && echo g; " + HARMLESS  # told, and never synced
BROKEN_CHECK = 'if grep -q g "$POWERCUT_ACKED" && [ ! -s g ]; then echo "g is lost"; exit 1; fi'


def weigh(world: World, *options: str, workload: str = SAFE, check: str | None = "sh check") -> Ended:
    checks = [] if check is None else ["--check", check]
    rows = [] if "--fs" in options else ["--fs", ROW]
    return world.run("syncs", "--dir", "data", *checks, *rows, *options, "--", "sh", "-c", workload)


def rows(ended: Ended) -> list[str]:
    """The headlines of the table."""
    return [line for line in ended.out.splitlines() if line.endswith(("once", "times"))]


def test_the_table_says_what_each_sync_prevents(world: World) -> None:
    ended = weigh(world, "--fs", "xfs")
    assert ended.code == 0
    assert ended.out.startswith("needed: without it, the check fails\n")
    assert ["fsync of f  once" in row for row in rows(ended)] == [True, False]
    assert "fsync of the data folder  once" in rows(ended)[1]
    assert "prevents unpersisted" in ended.out
    assert "prevents durability" in ended.out
    assert "2 needed, 0 not covered, 0 redundant. " in ended.out
    assert world.runs() == []  # what a sync prevents is no finding of the program


def test_models_may_differ(world: World) -> None:
    ended = weigh(world, "--fs", "ext4-nodelalloc,xfs", "--json", "report.json")
    assert "on xfs (redundant on ext4-nodelalloc): prevents unpersisted" in ended.out
    report = json.loads((world.here / "report.json").read_text())
    assert [sync["need"] for sync in report["syncs"]] == ["needed", "needed"]
    assert [model["need"] for model in report["syncs"][0]["models"]] == ["redundant", "needed"]


def test_a_check_that_looks_at_nothing_covers_nothing(world: World) -> None:
    ended = weigh(world, "--fs", "xfs", check="true")
    assert ended.code == 0
    assert "0 needed, 2 not covered, 0 redundant. " in ended.out
    text = " ".join(ended.out.split())
    assert text.count("the check passes on all ") == text.count(" that removing it makes possible") == 2


def test_without_a_check_the_built_in_one_judges(world: World) -> None:
    ended = weigh(world, "--fs", "xfs", check=None)
    assert ended.code == 0
    assert "f is empty" in ended.out.replace("\n      ", " ")


def test_the_last_sync_of_a_program_is_not_called_redundant(world: World) -> None:
    ended = weigh(world, workload="printf x > data/h && sync data/h")
    assert "0 needed, 1 not covered, 0 redundant. 0 crash states tested" in ended.out
    assert "nothing the program does or prints afterwards depends on it" in ended.out
    assert ended.code == 0


def test_what_is_durable_already_is_synced_for_nothing(world: World) -> None:
    ended = weigh(world, workload=f"{SAFE}; sync data/f; sync data; echo again")
    assert "everything it syncs is already durable" not in ended.out  # the same call syncs what is not
    ended = weigh(world, "--no-stacks", workload="sync data; sync data/f; printf new > data/f && sync data/f")
    assert "fsync of the data folder  once\n      everything it syncs is already durable" in ended.out


def test_findings_of_the_program_itself_are_told_apart(world: World) -> None:
    (world.here / "strict").write_text(BROKEN_CHECK)
    ended = weigh(world, "--fs", "ext4-ordered", workload=BROKEN, check="sh strict")
    assert ended.code == 1
    assert "with every sync in place: the program has findings of its own" in ended.out
    assert "0 needed, 1 not covered, 0 redundant. " in ended.out
    assert " fail, but fail with it, too" in " ".join(ended.out.split())


def test_a_program_without_syncs(world: World) -> None:
    ended = weigh(world, workload="printf new > data/f", check="true")
    assert ended.code == 0
    assert ended.out.startswith("The program makes no sync, flush or fence.\n")


@pytest.mark.parametrize("option", [("--budget", "0s"), ("--max-states", "0")], ids=lambda option: option[0])
def test_a_budget_for_nothing(world: World, option: tuple[str, str]) -> None:
    ended = weigh(world, *option)
    assert ended.code == 4
    assert "removing it makes no new state possible, as far as was tested; then the budget ended" in ended.out
    assert "Give a larger --budget or --max-states." in ended.out


def test_a_trace_is_weighed_again_without_the_program(world: World) -> None:
    first = weigh(world, "--fs", "xfs")
    trace = ".powercut/runs/0001/trace"
    assert f"\nThe trace is HERE/{trace}\n" in first.out
    again = world.run("syncs", "--trace", trace, "--check", "sh check", "--fs", "xfs", "--json", "-")
    assert [sync["need"] for sync in json.loads(again.out)["syncs"]] == ["needed", "needed"]
    assert rows(first) == [line for line in again.err.splitlines() if line in rows(first)]


def test_the_table_is_left_beside_traces_of_runs_only(world: World) -> None:
    assert world.run("record", "-o", "trace", "--dir", "data", "--", "sh", "-c", SAFE).code == 0
    (world.here / "run.json").write_text('["somebody else\'s"]')
    assert world.run("syncs", "--trace", "trace", "--check", "sh check", "--fs", "xfs").code == 0
    assert not (world.here / "syncs.json").exists()


def test_names_of_files_stay_in_their_line(world: World) -> None:
    name = "data/a b\nneeded: ü"
    ended = weigh(world, workload=f"printf x > '{name}' && sync '{name}' && echo done", check="true")
    assert ended.code == 0
    assert "fsync of a b�needed: ü  once" in ended.out


def test_an_interrupt_leaves_what_is_known(world: World) -> None:
    asked = world.here / "asked"
    (world.here / "slow").write_text(f"echo >> {asked}; sleep 0.3; . {world.here / 'check'}")
    before = looks(world.data)
    many = "; ".join(f"printf x > data/{n} && sync data/{n} && sync data && echo {n}" for n in range(9))
    command = ["syncs", "--dir", "data", "--fs", "posix", "--check", "sh slow", "--json", "report.json"]
    process = world.start(*command, "--", "sh", "-c", f"{SAFE}; {many}")
    wait_for(lambda: asked.exists() and len(asked.read_text()) > 3)
    os.killpg(process.pid, signal.SIGINT)
    ended = world.finish(process, before)
    assert ended.code == 130
    assert "\nInterrupted before all syncs were tested.\n" in ended.out
    report = json.loads((world.here / "report.json").read_text())
    assert report["interrupted"]
    assert "redundant" not in {sync["need"] for sync in report["syncs"]}
    assert {model["why"] for sync in report["syncs"] for model in sync["models"]} <= {"budget", "fails"}
