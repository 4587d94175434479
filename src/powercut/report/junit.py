"""JUnit XML: the run for everything that shows test results.

One suite is the search: a case for each finding, which failed, and one for the search itself, which is an error where
nothing can be concluded from it. The other suite is lint, which does not fail a run: its cases are skipped ones with a
message. The same holds for what is in the baseline.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from powercut.printable import one_line, printable
from powercut.report.formats import Setting
from powercut.report.problems import Level, Outcome, Problem, problems, verdict
from powercut.runs.store import SavedRun

_Element = ElementTree.Element


def render(run: SavedRun, setting: Setting) -> bytes:
    """The run as a JUnit report."""
    found = problems(run)
    when = _when(setting.folder)
    search = [_search(run), *(_case(problem) for problem in found if problem.level is Level.ERROR)]
    analysis = [_case(problem) for problem in found if problem.level is not Level.ERROR]
    root = ElementTree.Element("testsuites")
    suite = "assertions" if run.assertions else "races" if run.race else "crash states"
    suites = [(suite, search, run.seconds)] + ([("lint", analysis, 0.0)] if analysis else [])
    for number, (name, cases, seconds) in enumerate(suites):
        root.append(_suite(number, name, cases, f"{seconds:.3f}", when, run))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _when(folder: Path) -> str:
    """When the run was saved; the schema wants no time zone, so it is UTC."""
    try:
        moment = (folder / "run.json").stat().st_mtime
    except OSError:
        moment = 0.0
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _suite(number: int, name: str, cases: list[_Element], seconds: str, when: str, run: SavedRun) -> _Element:
    suite = ElementTree.Element("testsuite", id=str(number), name=name, package="powercut", hostname="localhost")
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {key: str(sum(case.find(tag) is not None for case in cases)) for key, tag in counted.items()}
    suite.attrib.update(timestamp=when, tests=str(len(cases)), time=seconds, **counts)
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in {"command": " ".join(run.command), "model": run.model, "version": run.version}.items():
        ElementTree.SubElement(properties, "property", name=key, value=one_line(value))
    suite.extend(cases)
    ElementTree.SubElement(suite, "system-out").text = printable("\n".join(run.notes))
    ElementTree.SubElement(suite, "system-err")
    return suite


def _search(run: SavedRun) -> _Element:
    """The search, or the run of a program with assertions: an unknown outcome is not a pass."""
    name = "program" if run.assertions else "search"
    case = ElementTree.Element("testcase", classname="powercut", name=name, time=f"{run.seconds:.3f}")
    outcome, words = verdict(run)
    if run.interrupted:
        ElementTree.SubElement(case, "error", type="interrupted", message="The search was interrupted.")
    elif outcome is Outcome.UNKNOWN:
        ElementTree.SubElement(case, "error", type="unknown", message=one_line(words))
    return case


def _case(problem: Problem) -> _Element:
    place = one_line(problem.place.short) if problem.place else "unknown place"
    name = one_line(f"{problem.id} {problem.title}, {place}")
    case = ElementTree.Element("testcase", classname=f"powercut.{problem.rule}", name=name, time="0")
    words = one_line(problem.message)
    if problem.known is not None:
        outcome = ElementTree.SubElement(case, "skipped", message=one_line(f"in the baseline: {problem.known}"))
    elif problem.level is Level.ERROR:
        outcome = ElementTree.SubElement(case, "failure", type=problem.rule, message=words)
    else:
        outcome = ElementTree.SubElement(case, "skipped", message=words)
    outcome.text = printable(problem.text)
    return case
