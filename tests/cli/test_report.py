"""What comes out: the JSON report, and outputs that are closed, full or cut off."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.cli.kit import ROW, SAFE, SAVE, World


def test_json_has_the_promised_fields(world: World) -> None:
    ended = world.test("--json", "report.json")
    assert ended.code == 1
    report = json.loads((world.here / "report.json").read_text())
    assert {"findings", "states", "model", "seconds"} <= set(report)
    assert report["model"] == ROW
    assert 0 < report["seconds"] < 60
    assert {"tested", "equal", "equivalent", "total"} <= set(report["states"])
    assert report["states"]["tested"] > 0
    (finding,) = report["findings"]
    assert {"id", "kind", "severity", "message", "locations", "replay"} <= set(finding)
    assert finding["kind"] == "durability"
    assert ended.out.startswith(finding["id"])
    for location in finding["locations"]:
        assert {"file", "line", "function", "role"} <= set(location)
    assert [location["role"] for location in finding["locations"]] == ["lost", "acknowledged"]
    assert finding["replay"] == f"powercut replay 0001/{finding['id']}"
    assert world.run(*finding["replay"].split()[1:]).code == 1
    assert os.listdir(world.here / "data") == ["f"]


def test_json_of_nothing_found_replaces_an_older_report(world: World) -> None:
    (world.here / "old.json").write_text("old")
    (world.here / "link.json").symlink_to("old.json")
    assert world.test("--json", "link.json", workload=SAFE).code == 0
    assert json.loads((world.here / "old.json").read_text())["findings"] == []
    assert (world.here / "link.json").is_symlink()
    assert not list(world.here.glob("*.new"))


def test_json_to_standard_output_has_it_for_itself(world: World) -> None:
    ended = world.test("--json", "-")
    assert ended.code == 1
    assert json.loads(ended.out)["findings"][0]["id"] in ended.err
    assert "acknowledged but lost" in ended.err


def test_json_to_a_device_does_not_replace_it(world: World) -> None:
    os.mkfifo(world.here / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=world.here, stdout=subprocess.PIPE)
    assert world.test("--json", "pipe").code == 1
    assert len(json.loads(reader.communicate()[0])["findings"]) == 1
    assert (world.here / "pipe").is_fifo()


def test_json_that_cannot_be_written_loses_nothing(world: World) -> None:
    ended = world.test("--json", "nowhere/report.json")
    assert ended.code == 3
    assert ended.err.endswith(
        "powercut: cannot write nowhere/report.json: No such file or directory. [output-unwritable]\n"
    )
    assert "1 finding. " in ended.out
    assert world.runs() == ["0001"]


def test_names_do_not_break_the_layout(world: World) -> None:
    """Ends of lines and escapes in a file's name stay in the line that names the file."""
    name = "odd\n  fix: nothing\r\x1b[2Jname"
    ended = world.test(workload=f"printf new > 'data/{name}' && mv 'data/{name}' data/f && echo saved")
    assert ended.code == 1
    assert not [line for line in ended.out.splitlines() if line.strip().startswith("fix: nothing")]
    assert "odd�  fix: nothing��[2Jname" in ended.out
    assert set("\r\x1b").isdisjoint(ended.out)
    shown = world.run("show", first_finding(ended.out))
    assert not [line for line in shown.out.splitlines() if line.strip().startswith("fix: nothing")]


def first_finding(out: str) -> str:
    """The id that a report starts with."""
    return out.split()[0]


def test_a_budget_that_ends_at_once_is_named(world: World) -> None:
    ended = world.test("--max-states", "0", workload=SAFE)
    assert ended.code == 4
    assert "The budget ended before any state was tested. " in ended.out


def test_outputs_are_plain_without_a_terminal(world: World) -> None:
    ended = world.test()
    assert ended.err.splitlines() == [
        "powercut: recording in a private copy of HERE/data",
        f"powercut: finding {ended.out.split()[0]}: acknowledged but lost",
    ]
    assert "\x1b" not in ended.out


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors(world: World, closed: str) -> None:
    judged = ["--fs", ROW, "--check", "sh check", "--json", "report.json"]
    command = ["test", "--dir", "data", *judged, "--", "sh", "-c", SAVE]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "powercut"]
    process = subprocess.run([*shell, *command], cwd=world.here, env=world.env, capture_output=True)
    assert process.returncode == 1
    report = json.loads((world.here / "report.json").read_text())
    assert len(report["findings"]) == 1
    assert b"Traceback" not in process.stderr


def test_a_reader_that_has_seen_enough(world: World) -> None:
    """`powercut test | head -1`: the exit code and the saved run are as ever."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = world.run("test", "--dir", "data", "--check", "sh check", "--", "sh", "-c", SAVE, stdout=writing)
    assert (ended.code, world.runs()) == (1, ["0001"])
    ended = world.run("show", ".powercut/runs/0001/trace", stdout=writing)
    assert (ended.code, ended.err) == (0, "")
    os.close(writing)


def test_outputs_that_are_full(world: World) -> None:
    with open("/dev/full", "wb") as full:
        ended = world.run("test", "--dir", "data", "--check", "sh check", "--", "sh", "-c", SAVE, stdout=full)
        assert ended.code == 3
        assert ended.err.splitlines()[-1] == "powercut: No space left on device [system-error]"
        ended = world.run("test", "--dir", "data", "--check", "sh check", "--", "sh", "-c", SAVE, stderr=full)
        assert (ended.code, "2 findings" in ended.out) == (1, True)
    assert world.runs() == ["0001", "0002"]


def test_a_terminal_that_knows_only_ascii(world: World) -> None:
    world.env.update({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"})
    (world.data / "ü☃").write_text("x")
    ended = world.test("--fs", "posix", workload="printf new > data/t && mv data/t data/ü☃ && echo ü", check=None)
    assert ended.code == 1, ended.err


def test_doctor(world: World) -> None:
    ended = world.run("doctor")
    assert ended.code == 0
    assert ended.out.splitlines()[0] == "ok       recording: programs can be traced"
    assert all(line.startswith(("ok  ", "limited  ", "    ")) for line in ended.out.splitlines())
