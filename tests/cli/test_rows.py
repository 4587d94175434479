"""Without --fs, a program is judged on the file systems that people run, and a finding says on which it can happen."""

from __future__ import annotations

import json

from tests.cli.kit import SAFE, SAVE, World

COMMAND = ("test", "--dir", "data", "--check", "sh check", "--json", "report.json")
LINUX = ["ext4-ordered", "xfs", "btrfs"]


def test_a_replace_without_sync_is_found_by_default(world: World) -> None:
    workload = SAVE.replace(" && echo saved", "")
    assert world.test("--fs", "ext4-nodelalloc", workload=workload).code == 0
    ended = world.run(*COMMAND, "--", "sh", "-c", workload)
    assert ended.code == 1
    assert "never synced (unpersisted)" in ended.out
    assert "fix: call fdatasync(f.tmp) before" in ended.out and "(verified in the model)" in ended.out
    assert "possible on: ext4-ordered, xfs, btrfs; " in ended.out
    report = json.loads((world.here / "report.json").read_text())
    assert report["model"] == "ext4-ordered,xfs,btrfs"
    assert [finding["models"] for finding in report["findings"]] == [LINUX]
    finding = report["findings"][0]["id"]
    assert world.run("replay", finding).code == 1
    shown = world.run("show", finding)
    assert shown.code == 0 and "ext4-ordered, xfs, btrfs" in shown.out


def test_each_mistake_is_one_finding_on_all_rows_that_show_it(world: World) -> None:
    assert world.run(*COMMAND, "--", "sh", "-c", SAVE).code == 1
    report = json.loads((world.here / "report.json").read_text())
    found = {finding["kind"]: finding for finding in report["findings"]}
    assert len(found) == len(report["findings"]) == 2
    assert {kind: finding["models"] for kind, finding in found.items()} == {
        "unpersisted": LINUX,
        "durability": LINUX,
    }
    alone = world.test("--fs", "ext4-nodelalloc", "--json", "alone.json")
    assert alone.code == 1
    (same,) = json.loads((world.here / "alone.json").read_text())["findings"]
    assert same["id"] == found["durability"]["id"]


def test_images_that_rows_share_are_judged_once(world: World) -> None:
    asked = world.here / "asked"
    (world.here / "counting").write_text(f"echo >> {asked}; . {world.here / 'check'}")
    command = ("test", "--dir", "data", "--check", "sh counting", "--no-equivalence", "--no-cache")
    assert world.run(*command, "--fs", "linux", "--", "sh", "-c", SAFE).code == 0
    together = len(asked.read_text().splitlines())
    asked.unlink()
    for row in LINUX:
        assert world.run(*command, "--fs", row, "--", "sh", "-c", SAFE).code == 0
    assert together < len(asked.read_text().splitlines()) / 2
