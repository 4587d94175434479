"""Findings name the right file and line: static binaries, optimised threads without frame pointers, Python modules."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import CORPUS, build, check_command, marked, powercut_test

LOCATIONS = CORPUS / "locations"


@pytest.mark.parametrize(
    ("program", "flags", "named"),
    [
        pytest.param("static_writer.c", ["-O1", "-static"], "static_writer.c", id="static"),
        pytest.param(
            "threads.cpp", ["-O2", "-fomit-frame-pointer", "-fno-plt", "-pthread"], "threads.cpp", id="threads"
        ),
        pytest.param("app.py", [], "notes.py", id="python"),
    ],
)
def test_finding_names_the_line(program: str, flags: list[str], named: str, tmp_path: Path) -> None:
    source = LOCATIONS / program
    data = tmp_path / "data"
    data.mkdir()
    if program == "threads.cpp":
        (data / "slots").write_bytes(bytes(4 * 4096))
        (data / "journal").touch()
    check = check_command(LOCATIONS / f"{source.stem}_check.py")

    run = powercut_test([*build(source, tmp_path, flags), str(data)], check, data, fs=["ext4-ordered"])

    assert run.code == 1, run.output
    for finding in run.findings:
        assert finding.kind == "unpersisted", run.output
        assert finding.at("lost", named) == marked(LOCATIONS / named, "LOST"), finding
        assert finding.at("survived", named) == marked(LOCATIONS / named, "SURVIVED"), finding
