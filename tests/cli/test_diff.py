"""`powercut diff`: exit codes and words."""

from __future__ import annotations

import json

from tests.cli.kit import SAFE, World


def test_a_fixed_program_and_back_again(world: World) -> None:
    for workload in (SAFE, None):
        world.test(**({"workload": workload} if workload else {}))
    worse = world.run("diff", "1", "2", "--json", "d.json")
    assert worse.code == 1
    assert worse.out.startswith("new:\n") and "acknowledged but lost" in worse.out
    assert json.loads((world.here / "d.json").read_text())["worse"] is True
    better = world.run("diff", "2", ".powercut/runs/0001")
    assert better.code == 0
    assert better.out.startswith("gone:\n")
    missing = world.run("diff", "1", "3")
    assert (missing.code, missing.err) == (2, "powercut: there is no saved run 3 in .powercut. [no-run]\n")
