"""The picture of a behavior: every update a box, every direct edge a line, hostile names harmless."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.commands.graph import command
from powercut.report.graph import MOST, draw_graph, list_behaviors
from powercut.states.behaviors.around import behavior_around
from powercut.states.behaviors.find import representatives_of
from powercut.states.state import Base, State
from powercut.trace.layout import Kind
from tests.unit.test_behaviors import Program, fn1

SVG = "{http://www.w3.org/2000/svg}"


def boxes(picture: str) -> list[ElementTree.Element]:
    return [rect for rect in ElementTree.fromstring(picture).iter(f"{SVG}rect") if rect.get("rx")]


def lines(picture: str) -> list[str]:
    return [path.get("class", "") for path in ElementTree.fromstring(picture).iter(f"{SVG}path") if path.get("class")]


def test_figure_4_as_a_picture() -> None:
    """Three writes to one block in a row, and a write that a sync keeps before the rename."""
    program = Program("f1", "f2")
    fn1(program, True, "f2-new")
    timeline = program.timeline()
    picture = draw_graph(timeline, range(5), "Figure 4")
    assert len(boxes(picture)) == 5
    assert sorted(lines(picture)) == ["edge", "edge", "edge sync"]
    rows = {float(box.get("y", "")) for box in boxes(picture)}
    assert len(rows) == 3


def test_what_survived_is_green_and_what_was_lost_is_red() -> None:
    program = Program("f1", "f2")
    fn1(program, True, "f2-new")
    timeline = program.timeline()
    state = timeline.without([2], 2 * timeline.updates.event[3])
    colours = [box.get("stroke") for box in boxes(draw_graph(timeline, range(5), "t", state))]
    green, red, grey = "#2e7d32", "#c62828", "#555560"
    assert colours == [green, green, red, green, grey]


@given(st.text(min_size=1, max_size=30).filter(lambda text: "/" not in text and "\0" not in text))
@settings(max_examples=60)
def test_hostile_names_stay_text(name: str) -> None:
    hostile = f"<script>{name}</script>&\"'\x1b[31m"
    program = Program("f")
    program.event(Kind.MKDIR, "main:1", "f", path=hostile.encode("utf-8", "surrogatepass").replace(b"/", b"\\"))
    timeline = program.timeline()
    picture = draw_graph(timeline, range(len(timeline.updates)), hostile)
    assert "<script" not in picture
    assert "\x1b" not in picture
    ElementTree.fromstring(picture)


def test_of_very_many_updates_the_first_are_drawn_and_that_is_said() -> None:
    program = Program("f", size=1 << 20)
    program.write("main:1", "f", data=b"x" * (4096 * (MOST + 5)))
    timeline = program.timeline()
    picture = draw_graph(timeline, range(len(timeline.updates)), "many")
    assert len(boxes(picture)) == MOST
    assert f"the first {MOST} of {len(timeline.updates)} updates" in picture
    places = {(box.get("x"), box.get("y")) for box in boxes(picture)}
    assert len(places) == MOST


def test_a_finding_is_drawn_in_the_smallest_behavior_that_holds_it() -> None:
    program = Program("f1", "f2")
    fn1(program, True, "f2-new")
    timeline = program.timeline()
    at_rename = 2 * timeline.updates.event[4]
    assert behavior_around(timeline, timeline.without([2], at_rename)) == [2, 3]  # Fn4
    assert behavior_around(timeline, timeline.without([1], at_rename)) == [0, 1, 2, 3, 4]  # and what needs it: Fn1
    assert behavior_around(timeline, State(at_rename, Base.ISSUED, frozenset())) == [4]  # Fn5


def test_list_names_places_and_counts() -> None:
    program = Program("f1", "f2")
    fn1(program, True, "f2-new")
    said = list(list_behaviors(representatives_of(program.timeline())))
    assert any(re.match(r" +1  1 update of function, ", line) for line in said)
    assert said[-1] == "behaviors were told by the functions that made them"


def test_the_command_lists_and_draws(tmp_path: Path) -> None:
    program = Program("f1", "f2")
    fn1(program, True, "f2-new")
    program.trace()
    trace = tmp_path / "run.trace"
    trace.write_bytes(program.writer.to_bytes())
    listed = CliRunner().invoke(command, [str(trace)], standalone_mode=False)
    assert "updates of function" in listed.output, listed.output
    drawn = CliRunner().invoke(command, [str(trace), "-o", str(tmp_path / "a.svg")], standalone_mode=False)
    assert drawn.exception is None, drawn.output
    assert boxes((tmp_path / "a.svg").read_text())
    wrong = CliRunner().invoke(command, [str(trace), "--behavior", "99", "-o", str(tmp_path / "b.svg")])
    assert wrong.exit_code == 2
    assert not (tmp_path / "b.svg").exists()


@pytest.mark.parametrize("options", [["nothing"], ["nothing", "-o", "x.svg"]])
def test_what_is_neither_finding_nor_trace_is_refused(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(command, options).exit_code != 0
