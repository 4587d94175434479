"""docs/survey.md, from the last run of each program."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from powercut.states.estimate import Estimate
from survey.comparison import judgement
from survey.program import FOR_MAINTAINERS, VERDICTS, WORK, Program

PAGE = Path(__file__).resolve().parents[1] / "docs" / "survey.md"
SMALL = 0.001  # a share that is not worth a figure
INTRODUCTION = """\
# What powercut says of real programs

Each of these programs ran with a small workload that prints what was acknowledged to it, and a check that opens the
data, verifies it and compares it with what was printed. They are in `survey/programs`. Every finding was read against
the source or the documentation of the program, and has a verdict:

- **true**: the program does not keep what it promises, or what its users must expect;
- **true on this model only**: likewise, but only a file system with weaker promises shows it;
- **documented behaviour**: the program says that this can happen, with these settings;
- **false alarm** and **unclear**: mistakes of powercut or of its reader, kept here until they are mended.

`make survey` runs all of them again and writes this page; `make survey ARGS=NAME` runs one. What is found now and was
not judged, or was expected and is not found, is shown as a difference. A run keeps its report in `build/survey/NAME`:
there, `powercut replay 0001/ID` shows a finding again. The seconds are those of one machine.

"""


def write_page(programs: list[Program]) -> None:
    """Write the page; programs that did not run here are named as such."""
    results = {program.name: read_result(program.name) for program in programs}
    ran = [program for program in programs if results[program.name]]
    text = INTRODUCTION + summary(ran, results) + table(programs, results)
    text += "\n## The findings\n\n" + "\n".join(section(program, results[program.name]) for program in ran)
    PAGE.write_text(text, encoding="utf-8")


def read_result(name: str) -> dict[str, Any]:
    """What the last run of a program left, or nothing."""
    path = WORK / name / "result.json"
    result: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return result


def verdicts(program: Program, result: dict[str, Any]) -> dict[str, str]:
    """The verdict of each finding that was found, by its identity."""
    judged = {one["what"]: judgement(one["what"], program.findings) for one in result["found"]}
    return {what: one.verdict if one else "not judged" for what, one in judged.items()}


def summary(ran: list[Program], results: dict[str, Any]) -> str:
    """How many of what, in a few sentences."""
    counts: Counter[str] = Counter()
    for program in ran:
        counts.update(verdicts(program, results[program.name]).values())
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (*VERDICTS, "not judged") if counts[verdict])
    seconds = sum(results[program.name]["seconds"] for program in ran)
    first = [results[program.name]["first"] for program in ran if results[program.name]["first"] is not None]
    text = f"{len(ran)} programs, {sum(counts.values())} findings ({told}), {seconds / 60:.1f} minutes.\n"
    if first:
        text += f"The first finding of a program came after {median(first):.1f} s (median).\n"
    return text + "\n"


def table(programs: list[Program], results: dict[str, Any]) -> str:
    """One row for each program."""
    lines = [
        "| program | version | crash states | covered | seconds | first finding | findings |",
        "|---|---|---|---|---|---|---|",
    ]
    for program in programs:
        if not (result := results[program.name]):
            lines.append(f"| {program.title} | {'not run' if program.version() else 'not installed'} | | | | | |")
            continue
        counts = Counter(verdicts(program, result).values())
        found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "none"
        if result["failure"]:
            found = "the run failed"
        first = "" if result["first"] is None else f"{result['first']:.1f}"
        name = f"[{program.title}](#{program.name.replace('.', '')})"  # what a heading's anchor leaves of it
        states = result["states"]
        lines.append(
            f"| {name} | {result['version']} | {total(states)} | {covered(states)} | {result['seconds']:.1f} "
            f"| {first} | {found} |"
        )
    return "\n".join(lines) + "\n"


def seen(states: dict[str, Any]) -> int:
    """The states whose verdict is known."""
    return int(states["tested"] + states["known"] + states["equal"] + states["equivalent"])


def total(states: dict[str, Any]) -> str:
    """How many states there are, as far as that was counted or estimated."""
    if not states:
        return ""
    if states["estimate"]:
        return str(Estimate(**states["estimate"]))
    return f"{states['total']:,}" if states["total"] is not None else "not counted"


def covered(states: dict[str, Any]) -> str:
    """The share of them whose verdict is known."""
    if not states:
        return ""
    if states["exhausted"]:
        return "all"
    share = share_of(states)
    return f"{seen(states):,}" + (f" ({share:.1%})" if share >= SMALL else "")


def share_of(states: dict[str, Any]) -> float:
    """Which part of all states is known; by logarithms, because of some there are more than a float can hold."""
    estimate = Estimate(**states["estimate"]) if states["estimate"] else Estimate.of(states["total"] or 1)
    known = states["estimate"] or states["total"]
    return min(10 ** (math.log10(seen(states)) - estimate.log10), 1.0) if known and seen(states) else 0.0


def section(program: Program, result: dict[str, Any]) -> str:
    """What was found in one program, with verdicts."""
    links = ", ".join(f"<{link}>" for link in program.documentation)
    text = f"### {program.name}\n\n{program.title}. {program.about} {program.promise}\nDocumentation: {links}\n\n"
    if result["failure"]:
        return text + f"The run failed: {result['failure'].splitlines()[0]}\n"
    if not result["found"]:
        return text + "Nothing was found.\n"
    if unexplained := result["states"]["unexplained"]:
        text += f"{unexplained} failing states belong to no finding. {' '.join(program.unexplained.split())}\n\n"
    told = set()
    for finding in result["found"]:
        if (what := finding["what"]) in told:
            continue
        told.add(what)
        one = judgement(what, program.findings)
        text += f"- **{one.verdict if one else 'not judged'}** ({finding['models']}): {finding['message']}\n"
        if one:
            text += f"  {' '.join(one.reason.split())}\n"
        if one and one.verdict in FOR_MAINTAINERS:
            indented = "\n".join(f"    > {line}".rstrip() for line in one.maintainers.splitlines())
            text += f"\n    For the maintainers:\n\n{indented}\n"
    return text
