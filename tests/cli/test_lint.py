"""`powercut lint`, the analysis as a part of a run, and the baseline."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from tests.cli.kit import CHECK, SAFE, SAVE, World

RECORD = ("record", "--dir", "data", "-o", "run.trace", "--")


def record(world: World, script: str = SAVE) -> None:
    assert world.run(*RECORD, "sh", "-c", script).code == 0


def report(world: World, name: str = "lint.json") -> dict:
    return json.loads((world.here / name).read_text())


def patterns(world: World) -> list[str]:
    return sorted(misuse["pattern"] for misuse in report(world)["misuses"])


def test_bugs_end_with_1_and_say_what_and_where(world: World) -> None:
    record(world)
    ended = world.run("lint", "run.trace", "--json", "lint.json")
    assert (ended.code, ended.err) == (1, "")
    assert patterns(world) == ["acknowledged-unsynced", "nothing-persisted", "rename-of-unsynced", "unsynced-entry"]
    assert ended.out.count("\n  advice: ") == 4
    assert "bug: rename of unsynced data (rename-of-unsynced, durability)" in ended.out
    assert ended.out.splitlines()[-1].startswith("3 likely bugs, 1 warning. 0 memory records and ")
    for misuse in report(world)["misuses"]:
        assert misuse["id"] in ended.out
        assert misuse["locations"][0]["stack"]


def test_a_program_that_syncs_everything_is_silent(world: World) -> None:
    record(world, SAFE)
    ended = world.run("lint", "run.trace")
    assert (ended.code, ended.out.split(".")[0]) == (0, "No findings")


def test_warnings_alone_end_with_0_and_can_be_left_out(world: World) -> None:
    record(world, "printf x >> data/f && echo said && sync data/f")
    ended = world.run("lint", "run.trace", "--json", "lint.json")
    assert (ended.code, patterns(world)) == (0, ["acknowledged-unsynced"])
    assert ended.out.splitlines()[-1].startswith("1 warning. ")
    ended = world.run("lint", "run.trace", "--no-warnings", "--json", "lint.json")
    assert (ended.code, patterns(world)) == (0, [])
    assert ended.out.startswith("No findings. ")


def test_known_warnings_that_are_left_out_are_not_missed(world: World) -> None:
    record(world, "printf x >> data/f && echo said && sync data/f")
    assert world.run("lint", "run.trace", "--write-baseline").code == 0
    ended = world.run("lint", "run.trace", "--no-warnings")
    assert (ended.code, ended.err) == (0, "")


def test_a_trace_without_stores_says_so(world: World) -> None:
    script = "import mmap; f = open('data/f', 'r+b'); mmap.mmap(f.fileno(), 3).flush()"
    assert world.run(*RECORD[:-1], "--tracer", "calls", "--", "python3", "-c", script).code == 0
    ended = world.run("lint", "run.trace", "--json", "lint.json")
    note = "the program maps files for writing, but the trace has no stores: record with --tracer memory"
    assert (ended.code, ended.err) == (0, f"powercut: warning: {note}\n")
    assert report(world)["notes"] == [note]


def test_a_trace_that_was_cut_short_is_analysed_as_far_as_it_goes(world: World) -> None:
    record(world)
    whole = (world.here / "run.trace").read_bytes()
    (world.here / "cut.trace").write_bytes(whole[: len(whole) * 2 // 3])
    ended = world.run("lint", "cut.trace")
    assert "is truncated; lint sees only what it contains" in ended.err
    assert ended.code in (0, 1)


def test_json_to_standard_output_has_it_for_itself(world: World) -> None:
    record(world)
    ended = world.run("lint", "--json", "-", "run.trace")
    assert (ended.code, len(json.loads(ended.out)["misuses"])) == (1, 4)
    assert "rename-of-unsynced" in ended.err


WRONG = {
    "no trace": (["lint"], "missing argument 'TRACE'. See powercut lint --help [usage]"),
    "not there": (["lint", "nothing"], "cannot read the trace nothing: No such file or directory. [trace-unreadable]"),
    "not a trace": (
        ["lint", "check"],
        "cannot read the trace check: it does not start with a trace header. Record it again. [trace-broken]",
    ),
    "memory": (
        ["lint", "--memory", "rom", "run.trace"],
        "unknown memory model 'rom'. Known: auto, px86, eadr, page-cache. [unknown-memory]",
    ),
    "baseline": (
        ["lint", "--baseline", "nothing.toml", "run.trace"],
        "there is no baseline HERE/nothing.toml. Write one with --write-baseline. [no-baseline]",
    ),
    "broken baseline": (
        ["lint", "--baseline", "check", "run.trace"],
        "cannot read the baseline HERE/check: Invalid value (at line 1, column 9). [bad-baseline]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_one_line_and_exit_2(world: World, case: str) -> None:
    record(world)
    arguments, message = WRONG[case]
    ended = world.run(*arguments)
    assert (ended.code, ended.out, ended.err) == (2, "", f"powercut: {message}\n")


def test_a_broken_baseline_is_refused_before_the_program_runs(world: World) -> None:
    (world.here / "powercut-baseline.toml").write_text("[[known]]\nid = 3\n")
    ended = world.test(workload="touch ran; " + SAVE)
    assert (ended.code, ended.out) == (2, "")
    assert "[bad-baseline]" in ended.err
    assert not (world.here / "ran").exists()


def test_what_is_in_the_baseline_does_not_count(world: World) -> None:
    record(world)
    ended = world.run("lint", "run.trace", "--write-baseline")
    assert ended.code == 0
    assert ended.err == "powercut: wrote the baseline HERE/powercut-baseline.toml; give each entry a reason\n"
    ended = world.run("lint", "run.trace", "--json", "lint.json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("In the baseline:\n")
    assert ended.out.splitlines()[-1].startswith("4 in the baseline. ")
    assert {misuse["known"] for misuse in report(world)["misuses"]} == {"not yet explained"}


def test_reasons_stay_and_new_ones_count(world: World) -> None:
    record(world)
    world.run("lint", "run.trace", "--write-baseline", "--baseline", "known.toml")
    known = world.here / "known.toml"
    entries = tomllib.loads(known.read_text())["known"]
    first, rest = entries[0], entries[1:]
    assert first["kind"] == "acknowledged-unsynced"
    known.write_text(f'[[known]]\nid = "{first["id"]}"\nreason = "a test"\n')
    ended = world.run("lint", "run.trace", "--baseline", "known.toml")
    assert (ended.code, f"{first['id']}  warning: output, but no sync at all" in ended.out) == (1, True)
    assert world.run("lint", "run.trace", "--baseline", "known.toml", "--write-baseline").code == 0
    written = {entry["id"]: entry["reason"] for entry in tomllib.loads(known.read_text())["known"]}
    assert written == {first["id"]: "a test"} | {entry["id"]: "not yet explained" for entry in rest}


def test_ids_that_were_not_found_are_told(world: World) -> None:
    record(world, SAFE)
    entries = [("aaaaaaaa", "redundant-flush"), ("bbbbbbbb", "atomicity"), ("cccccccc", "")]
    text = "".join(f'[[known]]\nid = "{name}"\nkind = "{kind}"\nreason = "r"\n' for name, kind in entries)
    (world.here / "powercut-baseline.toml").write_text(text)
    ended = world.run("lint", "run.trace")
    told = "powercut: warning: the baseline HERE/powercut-baseline.toml has ids that were not found: "
    assert (ended.code, ended.err) == (0, f"{told}aaaaaaaa, cccccccc. Remove those that are fixed\n")
    ended = world.test("--json", "report.json", workload=SAFE)
    assert ended.code == 0
    assert f"{told}aaaaaaaa, bbbbbbbb, cccccccc. Remove those that are fixed\n" in ended.err
    assert "has ids that were not found" in report(world, "report.json")["notes"][0]


def test_findings_of_a_run_can_be_known_too(world: World) -> None:
    ended = world.test("--write-baseline")
    assert ended.code == 0, ended.err
    ended = world.test("--json", "report.json")
    assert ended.code == 0
    found = report(world, "report.json")
    assert [finding["known"] for finding in found["findings"]] == ["not yet explained"]
    known = f"  {found['findings'][0]['id']}  acknowledged but lost: not yet explained"
    assert ended.out.splitlines()[:2] == ["In the baseline:", known]
    assert "1 finding (all in the baseline). " in ended.out
    assert world.run("show").out == ended.out.replace("HERE/", "")


def test_a_new_finding_fails_the_run(world: World) -> None:
    assert world.test("--write-baseline").code == 0
    ended = world.test(workload="printf new > data/f; echo saved")
    assert ended.code == 1
    assert "2 findings. " in ended.out  # the truncation, and what was printed too soon


def test_a_run_tells_of_misuses_and_does_not_fail_for_them(world: World) -> None:
    (world.here / "accept").write_text("true\n")
    ended = world.test("--json", "report.json", check="sh accept")
    assert ended.code == 0
    lines = ended.out.splitlines()
    start = lines.index(
        "Lint reports 3 likely bugs, 1 warning (not tested; does not change the exit code): "
        "powercut lint HERE/.powercut/runs/0001/trace"
    )
    assert all("  likely bug: " in line for line in lines[start + 1 : start + 4])
    assert lines[-2] == "Saved in HERE/.powercut/runs/0001"
    assert lines[-1].startswith("No findings. All ")
    misuses = report(world, "report.json")["misuses"]
    assert len(misuses) == 4
    assert world.run("lint", ".powercut/runs/0001/trace", "--json", "lint.json").code == 1
    assert [misuse["id"] for misuse in report(world)["misuses"]] == [misuse["id"] for misuse in misuses]


def test_a_finding_confirms_a_misuse(world: World) -> None:
    (world.here / "save.py").write_text(
        "import os\nwith open('data/t', 'w') as f:\n    f.write('new')\nos.rename('data/t', 'data/f')\nprint('saved')\n"
    )
    (world.here / "check").write_text(CHECK)
    arguments = ("test", "--dir", "data", "--check", "sh check", "--json", "report.json", "--", "python3", "save.py")
    assert world.run(*arguments).code == 1
    found = report(world, "report.json")
    confirmed = {misuse["pattern"]: misuse["finding"] for misuse in found["misuses"] if misuse["finding"]}
    assert set(confirmed.values()) <= {finding["id"] for finding in found["findings"]}
    assert "rename-of-unsynced" in confirmed or "unsynced-entry" in confirmed, found["misuses"]


def test_the_analysis_can_be_left_out(world: World) -> None:
    ended = world.test("--no-lint", "--json", "report.json")
    assert (ended.code, "Lint" in ended.out) == (1, False)
    assert report(world, "report.json")["misuses"] == []


def test_names_cannot_break_the_report(world: World) -> None:
    (world.data / "a\nb\x1b[31m").touch()
    record(world, r"""cd data && for f in a*; do printf x >> "$f"; done; echo said; sync f""")
    ended = world.run("lint", "run.trace")
    assert "\x1b" not in ended.out
    assert os.path.exists(world.here / "run.trace")
