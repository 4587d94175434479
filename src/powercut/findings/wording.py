"""What a finding says to people, in a sentence or two."""

from __future__ import annotations

from powercut.findings.finding import Finding, FindingKind, Location


def message(finding: Finding) -> str:
    """What a power cut can do, and what the check makes of it."""
    lost = next((place for place in finding.locations if place.role in ("lost", "missing")), None)
    other = next((place for place in finding.locations if place.role in ("survived", "acknowledged")), None)
    verdict = _verdict(finding)
    if other is not None and other.role == "acknowledged":
        return _too_early(other, lost, verdict)
    if lost is None:
        return f"If the power fails right after {_placed(other) if other else 'the program starts'}, {verdict}."
    if other is None:
        return f"If a power cut loses {_placed(lost)}, {verdict}."
    if lost.role == "missing":
        return f"If the power fails between {_placed(other)} and {_placed(lost)}, {verdict}."
    if finding.kind is FindingKind.ATOMICITY and other.short == lost.short:
        return _torn(other, lost, verdict)
    return f"A power cut can keep {_placed(other)} and lose {_placed(lost)}. Then {verdict}."


def _too_early(output: Location, lost: Location | None, verdict: str) -> str:
    """The program printed something that was not true yet, or not for good."""
    noun, what = output.what.split(" ", 2)[1:] if output.what.startswith("the ") else ("", output.what)
    program = f"The program {'sent' if noun == 'message' else 'printed'} {what} ({output.short})"
    if lost is None:
        return f"{program} but had written nothing. If the power fails then, {verdict}."
    if lost.role == "missing":
        return f"{program} before {_placed(lost)}. If the power fails in between, {verdict}."
    be = "were" if lost.what.startswith("bytes ") else "was"
    return (
        f"{program} before {_placed(lost)} {be} durable. A power cut can undo {_again(lost.what)}, and then {verdict}."
    )


def _torn(survived: Location, lost: Location, verdict: str) -> str:
    """A part of one call survived."""
    if survived.what == lost.what:
        return f"{_capital(_placed(lost))} is not atomic: a power cut can keep part of it. Then {verdict}."
    return f"{lost.short} is not atomic: a power cut can keep {survived.what} and lose {lost.what}. Then {verdict}."


def _again(what: str) -> str:
    """A change that was just named, in short: "the rename" for "the rename of a to b"."""
    noun, of, _ = what.partition(" of ")
    return noun if of and noun.startswith("the ") else "that"


def _verdict(finding: Finding) -> str:
    failed = "the check fails" if finding.code else finding.output  # the built-in check has no exit status
    ended = {"crash": f"the check crashes (signal {finding.code})", "hang": "the check hangs"}
    return ended.get(finding.outcome, failed)


def _placed(location: Location) -> str:
    return f"{location.what} ({location.short})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
