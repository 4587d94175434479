"""SARIF 2.1.0: the run for code scanning and editors.

A problem is a result: its first place is the location, the others are related ones, the call stack of each is a code
flow. Its id, which survives moved lines, is the fingerprint. What the baseline knows is suppressed, with its reason.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from powercut.findings.finding import Location
from powercut.printable import printable
from powercut.report.formats import Setting
from powercut.report.kind_texts import RULES, Rule
from powercut.report.problems import Problem, Step, problems, steps
from powercut.report.source import source_line
from powercut.runs.store import SavedRun, to_json

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "%SRCROOT%"  # what code scanning replaces by the checkout
_Json = dict[str, Any]


def render(run: SavedRun, setting: Setting) -> bytes:
    """The run as a SARIF log."""
    return to_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(run, setting)]})


def _run(run: SavedRun, setting: Setting) -> _Json:
    found = problems(run)
    rules = _rules(found)
    index = {rule.id: number for number, rule in enumerate(rules)}
    notes = [{"level": "warning", "message": _message(note)} for note in run.notes]
    return {
        "tool": {"driver": {"name": "powercut", "version": run.version or "unknown", "rules": [*map(_rule, rules)]}},
        "invocations": [{"executionSuccessful": not run.interrupted, "toolExecutionNotifications": notes}],
        "originalUriBaseIds": {_BASE: {"description": _message("The folder where the report was written.")}},
        "results": [_result(problem, index, setting) for problem in found],
        "properties": {"states": run.states, "model": run.model, "seconds": round(run.seconds, 3)},
    }


def _rules(found: list[Problem]) -> list[Rule]:
    """All that there are; those of assertions, which only their checker knows, as far as they were met."""
    rules = {rule.id: rule for rule in RULES}
    for problem in found:
        words = f"{problem.title[:1].upper()}{problem.title[1:]}."
        rules.setdefault(problem.rule, Rule(problem.rule, problem.title, words, problem.advice))
    return list(rules.values())


def _rule(rule: Rule) -> _Json:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.title.replace("-", " ").split()),
        "shortDescription": _message(rule.title),
        "fullDescription": _message(rule.description),
        "help": {"text": f"{rule.description} {rule.help}", "markdown": f"{rule.description}\n\n{rule.help}"},
        "properties": {"tags": ["crash-consistency"]},
    }


def _result(problem: Problem, index: dict[str, int], setting: Setting) -> _Json:
    first = problem.place
    others = [location for location in problem.locations if location is not first]
    known = {"suppressions": [{"kind": "external", "justification": printable(problem.known or "")}]}
    return {
        "ruleId": problem.rule,
        "ruleIndex": index[problem.rule],
        "level": problem.level.value,
        "message": _message(_words(problem)),
        "locations": [_location(first, setting)] if first else [],
        "relatedLocations": [{"id": n, **_location(place, setting)} for n, place in enumerate(others, 1)],
        "codeFlows": [_flow(location, setting) for location in problem.locations if location.frames],
        "fingerprints": {"powercut/v1": problem.id},
        "partialFingerprints": {"primaryLocationLineHash": f"{problem.id}:1"},
        **({} if problem.known is None else known),
        "properties": {"id": problem.id, "advice": printable(problem.advice), "replay": printable(problem.replay)},
    }


def _words(problem: Problem) -> str:
    """What happened, what to change, and how to see it again."""
    advice = f"\n{'Fix' if problem.verified else 'Suggestion'}: {problem.advice}" if problem.advice else ""
    replay = f"\nReplay: {problem.replay}" if problem.replay else ""
    return f"{problem.message}{advice}{replay}"


def _location(location: Location, setting: Setting) -> _Json:
    return _place(_part(location), location.file, location.line, location.function, setting)


def _part(location: Location) -> str:
    """What a place has to do with the problem."""
    return f"{location.role}: {location.what}" if location.what else location.role


def _flow(location: Location, setting: Setting) -> _Json:
    """A call stack, from the outermost frame to the call itself."""
    frames = [{"location": _step(step, setting), "nestingLevel": depth} for depth, step in enumerate(steps(location))]
    return {"message": _message(_part(location)), "threadFlows": [{"locations": frames}]}


def _step(step: Step, setting: Setting) -> _Json:
    return _place(step.words, step.file, step.line, None, setting)


def _place(words: str, file: str | None, line: int | None, function: str | None, setting: Setting) -> _Json:
    place: _Json = {"message": _message(words)}
    if function:
        place["logicalLocations"] = [{"name": printable(function), "kind": "function"}]
    if file:
        place["physicalLocation"] = {"artifactLocation": _artifact(file, setting)}
        if line and line > 0:
            source = source_line(file, line)
            snippet = {"snippet": {"text": printable(source.expandtabs(4))}} if source else {}
            place["physicalLocation"]["region"] = {"startLine": line, **snippet}
    return place


def _artifact(file: str, setting: Setting) -> _Json:
    """A file: relative to the checkout if it is in there."""
    path = PurePath(file)
    if path.is_relative_to(setting.root):
        return {"uri": quote(os.fsencode(path.relative_to(setting.root))), "uriBaseId": _BASE}
    return {"uri": f"{'file://' if path.is_absolute() else ''}{quote(os.fsencode(path))}"}


def _message(text: str) -> _Json:
    return {"text": printable(text)}
