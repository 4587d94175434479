"""States in which the check would read the same are not run; what the user is told about that."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.kit import SAFE, SAVE, World

EXTRAS = "for i in 1 2 3; do printf $i > data/extra$i; done; "  # which no check reads
ODD = """\
n=$(cat {0} 2>/dev/null || echo 0); echo $((n + 1)) > {0}
[ $((n % 3)) != 2 ]
"""
READS_ODDLY = """\
n=$(cat {0} 2>/dev/null || echo 0); echo $((n + 1)) > {0}
cat extra$((n % 3 + 1)) f || true
"""
ASKS_A_SERVER = """\
import socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close()
"""


def states(world: World, *options: str, workload: str = EXTRAS + SAFE, check: str = "sh check") -> dict[str, int]:
    """The counts of a run; its exit code and notes with them."""
    ended = world.test("--workers", "1", *options, "--json", "report.json", workload=workload, check=check)
    report = json.loads((world.here / "report.json").read_text())
    found = [finding["id"] for finding in report["findings"]]
    return {**report["states"], "code": ended.code, "notes": report["notes"], "found": found}


def test_states_that_differ_where_nobody_looks_are_not_run(world: World) -> None:
    without, with_it = states(world, "--no-equivalence", "--no-cache"), states(world, "--equivalence", "--no-cache")
    assert (without["equivalent"], with_it["notes"]) == (0, [])
    assert with_it["tested"] < without["tested"] / 3
    for counts in (without, with_it):
        assert (counts["code"], counts["exhausted"]) == (0, True)
        assert counts["total"] == counts["tested"] + counts["equal"] + counts["equivalent"]


def test_the_same_is_found(world: World) -> None:
    workload = EXTRAS + SAVE
    row = ("--fs", "ext4-ordered")  # which leaves more states than others
    without = states(world, *row, "--no-equivalence", "--no-cache", workload=workload)
    with_it = states(world, *row, "--equivalence", "--no-cache", workload=workload)
    assert with_it["equivalent"] > 0
    assert with_it["found"] == without["found"] != []


def test_what_follows_is_kept_for_the_next_run(world: World) -> None:
    first, second = (states(world, "--equivalence", "--fs", "ext4-ordered") for _ in range(2))
    assert (first["known"], second["exhausted"]) == (0, True)
    assert first["tested"] + first["equivalent"] > 20
    assert second["tested"] + second["equivalent"] <= 8  # what was kept is asked for again, now and then


@pytest.mark.parametrize("text", [ODD, READS_ODDLY], ids=["says", "reads"])
def test_a_check_that_contradicts_itself_is_named_and_all_states_are_run(world: World, text: str) -> None:
    (world.here / "odd").write_text(text.format(world.here / "count"))
    counts = states(world, "--equivalence", "--max-states", "60", check="sh odd")
    assert counts["equivalent"] == 0
    assert [note for note in counts["notes"] if note.startswith("the check is not deterministic (")], counts["notes"]
    assert (note := next(note for note in counts["notes"] if "powercut replay 0001/doubt-1 " in note))
    assert note.startswith("the check contradicts itself on one crash state ("), note
    assert world.run("replay", "0001/doubt-1", "--image", "image").code in (0, 1)
    assert (world.here / "image" / "f").exists()


def test_a_check_that_cannot_be_understood_is_run_on_every_state(world: World) -> None:
    (world.here / "asks.py").write_text(ASKS_A_SERVER)
    counts = states(world, "--equivalence", "--max-states", "12", check=f"{sys.executable} -S -E asks.py")
    reason = (
        "could not trace what the check reads (it talks to another process over a socket), so equivalent states are "
        "tested one by one (slower)"
    )
    assert (counts["equivalent"], counts["code"]) == (0, 0)
    assert reason in counts["notes"]


def test_a_check_that_looks_at_nothing_is_named(world: World) -> None:
    """Such as one whose words mean files beside the program, not those in the crashed folder."""
    (world.here / "g").write_text("new")
    note = "the check never read the data folder, so its verdict is the same whatever a power cut does"
    assert states(world, workload=SAVE, check="grep -q new g")["notes"] == [note]
    assert states(world, workload=SAVE, check="ls")["notes"] == []


def test_a_search_with_a_check_that_looks_at_nothing_ends_by_itself(world: World) -> None:
    """Thousands of states are left, and there is time for all of them."""
    (world.here / "many.py").write_text("for i in range(700):\n    open('data/f', 'ab', 0).write(b'%04d' % i * 40)\n")
    counts = states(world, "--budget", "5m", workload=f"{sys.executable} many.py", check="true")
    assert counts["notes"][0].endswith("; the search ended early") and not counts["exhausted"]
    assert counts["tested"] < 100
