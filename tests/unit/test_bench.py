"""The benchmarks' own parts: the synthetic trace is one that the engine understands, and the table is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from powercut.model.filesystem import file_systems
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    for name in ("kit", "quick", "run", "synthetic"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import run

    return run


def test_synthetic_trace_is_understood(bench: ModuleType, tmp_path: Path) -> None:
    import synthetic

    synthetic.write_trace(tmp_path / "trace", 4000)
    trace = Trace.open(tmp_path / "trace")
    timeline = Timeline(trace, file_systems("ext4-ordered")[0])
    assert len(trace.events) > 4000
    assert not trace.truncated
    assert not timeline.notes
    assert not timeline.tree.unknown
    assert len(timeline.updates) > 4000
    assert len(timeline.points) > 100


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCH.glob("*.py")))
def test_every_script_can_be_imported(name: str) -> None:
    """In a process of its own: benchmarks put folders of the corpus on the path. Some need what only tests install."""
    code = f"import sys; sys.path[:0] = [{str(BENCH)!r}, {str(BENCH.parent)!r}]; import {name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_rows_say_whether_the_target_is_met(bench: ModuleType) -> None:
    import kit

    assert kit.at_least("rate", 50, "/s", "loop", 100, ratio=0.5).met is True
    assert kit.at_least("rate", 49, "/s", "loop", 100, ratio=0.5).met is False
    assert kit.at_most("load", 3, "s", 2).met is False
    assert kit.cheaper("cost", 5, "us", "strace", 50, times=10).met is True
    assert kit.cheaper("cost", 5, "us", "strace", 50).met is None
    assert kit.dearer("cost", 6, "us", "alone", 4, times=1.5).met is True
    assert kit.dearer("cost", 7, "us", "alone", 4, times=1.5).met is False


def test_table_is_aligned(bench: ModuleType) -> None:
    import kit

    lines = bench.table(
        [kit.at_least("a", 1234.5, "/s", "b", 1000, ratio=1), kit.Row("long name", 0.5, "s")]
    ).splitlines()
    assert lines[1].split() == ["a", "1,234", "/s", "b", "1,000", "/s", "1.23", "ratio", ">=", "1", "yes"]
    assert lines[0].index("measured") + len("measured") == lines[1].index("/s") + len("/s")


def test_what_is_more_than_a_fifth_slower_than_expected_is_named(bench: ModuleType) -> None:
    import quick

    expected = {"a": 2.0, "b": 2.0, "gone": 1.0}
    assert quick.slower({"a": 2.5, "b": 2.39, "new": 9.0}, expected) == ["a"]


def test_expectations_are_those_of_the_figures_that_are_measured(bench: ModuleType, tmp_path: Path) -> None:
    import quick

    names = [figure.name for group in quick.GROUPS.values() for figure in group(tmp_path)]
    assert set(names) <= set(json.loads(quick.EXPECTED.read_text()))


def test_counts_belong_to_the_mark_that_follows_and_children_to_the_judging_they_ended_in(
    bench: ModuleType, tmp_path: Path
) -> None:
    import counted

    def wrote(name: str, text: str, when: int) -> None:
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, ns=(when, when))

    call = "SYSCALL[{0},1](0) sys_read ( 3 ) --> [async] ...\n"
    main = (
        "==7== Callgrind\n" + 5 * call.format(7) + "**7** mark before\n" + 3 * call.format(7) + "**7** mark few 100\n"
    )
    wrote("log.7", main + call.format(7) + "**7** mark before\n" + 9 * call.format(7) + "**7** mark few 500\n", 9)
    wrote("log.8", 2 * call.format(8), 9)
    wrote("log.9", 20 * call.format(9), 9)
    for name, total, mark, when in (
        ("out.7.1", 1000, "before", 1),
        ("out.8", 40, "", 2),
        ("out.7.2", 60, "few 100", 3),
        ("out.7.3", 5, "before", 4),
        ("out.9", 140, "", 5),
        ("out.7.4", 160, "few 500", 6),
        ("out.7", 70, "", 7),
    ):
        trigger = f"Client Request: {mark}" if mark else "Program termination"
        wrote(name, f"desc: Trigger: {trigger}\ntotals: {total}\n", when)
    instructions, calls = counted._told(tmp_path)
    assert (instructions["few 100"], instructions["few 500"]) == (100, 300)
    assert (calls["few 100"], calls["few 500"]) == (5, 29)


def test_unknown_benchmark_is_refused(bench: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main(["no-such"])
    assert ended.value.code == 2
    assert "rate_command" in capsys.readouterr().err
