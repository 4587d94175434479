"""What a finding says to people, in one sentence."""

from __future__ import annotations

from powercut.findings.finding import Finding, FindingKind, Location


def message(finding: Finding) -> str:
    """One sentence for people."""
    lost = next((place for place in finding.locations if place.role in ("lost", "missing")), None)
    other = next((place for place in finding.locations if place.role in ("survived", "acknowledged")), None)
    verdict = _verdict(finding)
    if other is not None and other.role == "acknowledged":
        return _said(other, lost, verdict)
    if lost is None:
        return f"After a power cut right after {_placed(other) if other else 'the start'}, {verdict}."
    if other is None:
        return f"If a power cut takes {_placed(lost)}, {verdict}."
    if lost.role == "missing":
        return f"After a crash between {_placed(other)} and {_placed(lost)}, {verdict}."
    if finding.kind is FindingKind.ATOMICITY and (other.what, other.short) == (lost.what, lost.short):
        return f"A power cut can leave a part of {_placed(lost)} without the rest: {verdict}."
    return f"{_capital(_placed(other))} can survive a power cut while {_placed(lost)} does not: {verdict}."


def _said(said: Location, lost: Location | None, verdict: str) -> str:
    if lost is None:
        return f"{_capital(said.what)} was said ({said.short}), and nothing was written: {verdict}."
    if lost.role == "missing":
        return f"{_capital(said.what)} was said ({said.short}) before {_placed(lost)} was made: {verdict}."
    return (
        f"{_capital(said.what)} was said ({said.short}) before {_placed(lost)} was durable: "
        f"a power cut can take it back, {verdict}."
    )


def _verdict(finding: Finding) -> str:
    refused = "the check fails" if finding.code else finding.output  # the built-in oracle has no exit status
    died = {"crash": f"the check died of signal {finding.code}", "hang": "the check hung"}
    return died.get(finding.outcome, refused)


def _placed(location: Location) -> str:
    return f"{location.what} ({location.short})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
