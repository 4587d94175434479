"""The table of a program's syncs as text for people and as JSON for programs."""

from __future__ import annotations

import shlex
import textwrap
from typing import Any

import msgspec

from powercut import __version__
from powercut.findings.finding import Finding, Location
from powercut.printable import counted, one_line
from powercut.report.location_document import location_document
from powercut.syncs.sites import Site
from powercut.syncs.sync_verdict import Judgement, Need, SyncReport, SyncsRun, Why

_WIDTH = 110
_TITLES = {
    Need.NEEDED: "needed: without it, the check fails",
    Need.NOT_COVERED: "not covered: without it something is less durable, but the check never fails",
    Need.REDUNDANT: "redundant: nothing is less durable without it",
}
_REASONS = {
    Why.NOTHING_LEFT: "everything it syncs is already durable",
    Why.IN_TIME: "another sync makes the same durable before anything depends on it",
    Why.NOTHING_FOLLOWS: "nothing the program does or prints afterwards depends on it",
}


_ENDS = {
    Why.ALL_PASS: "",
    Why.TOO_MANY: "; there are too many to test all",
    Why.BUDGET: "; then the budget ended",
}


def syncs_text(run: SyncsRun, trace: str) -> str:
    """The whole table, and how it came about; `trace` is where the recording lies."""
    parts = []
    for need, title in _TITLES.items():
        reports = [report for report in run.reports if report.need is need]
        if reports:
            parts.append("\n".join([title, *(line for report in reports for line in _lines(report))]))
    if not run.reports:
        parts.append("The program makes no sync, flush or fence.")
    if run.broken:
        parts.append(
            f"{counted(run.broken, 'tested state')} also fail{'s' if run.broken == 1 else ''} with every sync in "
            "place: the program has findings of its own. powercut test explains them."
        )
    counts = ", ".join(f"{run.count(need):,} {need.value}" for need in Need)
    if run.interrupted:
        parts.append("Interrupted before all syncs were tested.")
    elif run.unfinished:
        parts.append("The budget ended before all syncs were tested. Give a larger --budget or --max-states.")
    models = ", ".join(run.model.split(","))
    lines = [f"Models: {one_line(models)}", f"The trace is {one_line(shlex.quote(trace))}"]
    lines.append(f"Syncs: {counts}. {counted(run.tested, 'crash state')} tested. {run.seconds:,.1f} s.")
    return "\n\n".join([*parts, "\n".join(lines)])


def syncs_document(run: SyncsRun) -> dict[str, Any]:
    """The JSON report of `powercut syncs`. Fields may be added; those here keep their meaning."""
    return {
        "version": __version__,
        "command": run.command,
        "folder": run.folder,
        "model": run.model,
        "seconds": round(run.seconds, 3),
        "interrupted": run.interrupted,
        "unfinished": run.unfinished,
        "tested": run.tested,
        "broken": run.broken,
        "notes": run.notes,
        "syncs": [_report(report) for report in run.reports],
    }


def _report(report: SyncReport) -> dict[str, Any]:
    site = report.site
    return {
        "need": report.need.value,
        "call": site.call,
        "location": msgspec.to_builtins(location_document(site.location)),
        "caller": msgspec.to_builtins(location_document(site.caller)) if site.caller is not None else None,
        "library": site.library,
        "files": list(site.files),
        "more_files": site.more_files,
        "executions": len(site.events),
        "first_event": int(site.events[0]),
        "stacks": site.stacks,
        "reason": _reasons(report),
        "models": [_judgement(judgement) for judgement in report.judgements],
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "model": judgement.model,
        "need": judgement.need.value,
        "why": judgement.why.value,
        "tested": judgement.tested,
        "broken": judgement.broken,
        "counted": judgement.counted,
        "prevents": _prevented(judgement.finding),
    }


def _prevented(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    return {
        "id": finding.id,
        "kind": finding.kind.value,
        "message": finding.message,
        "locations": [msgspec.to_builtins(location_document(location)) for location in finding.locations],
        "lost": finding.lost,
        "verdict": {"outcome": finding.outcome, "code": finding.code, "output": finding.output},
    }


def _lines(report: SyncReport) -> list[str]:
    """One sync: where it is, what it syncs, how often, and what is known of it."""
    site = report.site
    place = one_line(f"{site.location.short}{_inside(site.location)}")
    lines = ["", f"  {place}  {one_line(_what(site))}  {_how_often(site)}"]
    if site.caller is not None:
        lines.append(one_line(f"      called from {site.caller.short}{_inside(site.caller)}"))
    return [*lines, *_wrap(_reasons(report), 6)]


def _reasons(report: SyncReport) -> str:
    """What decided, and where it holds if several models were asked."""
    if len(report.judgements) == 1:
        return _reason(report.deciding)
    models = {need: [j.model for j in report.judgements if j.need is need] for need in Need}
    others = [f"{need.value} on {', '.join(names)}" for need, names in models.items() if names and need != report.need]
    rest = f" ({'; '.join(others)})" if others else ""
    return f"on {', '.join(models[report.need])}{rest}: {_reason(report.deciding)}"


def _reason(judgement: Judgement) -> str:
    finding = judgement.finding
    if finding is not None:
        return f"prevents {finding.kind.value} {finding.id}: {finding.message}"
    if judgement.why in _REASONS:
        return _REASONS[judgement.why]
    if not judgement.tested:
        return f"removing it makes no new state possible, as far as was tested{_ENDS[judgement.why]}"
    states = counted(judgement.tested, "state")
    if judgement.broken:
        reason = f"{states} tested that removing it makes possible; {judgement.broken:,} fail, but fail with it, too"
    else:
        every = "all " if judgement.why is Why.ALL_PASS else ""
        reason = f"the check passes on {every}{states} that removing it makes possible"
    return f"{reason}{_ENDS[judgement.why]}"


def _what(site: Site) -> str:
    more = f" and {site.more_files} more" if site.more_files else ""
    by = f" by {site.library}" if site.library else ""
    return f"{site.call} of {', '.join(site.files)}{more}{by}" if site.files else f"{site.call}{by}"


def _inside(location: Location) -> str:
    return f" in {location.function}" if location.function and location.file else ""


def _how_often(site: Site) -> str:
    return "once" if len(site.events) == 1 else f"{len(site.events):,} times"


def _wrap(text: str, indent: int) -> list[str]:
    space = " " * indent
    return textwrap.wrap(one_line(text), _WIDTH, initial_indent=space, subsequent_indent=space, break_long_words=False)
