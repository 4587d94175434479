"""What a finding says to people: its message, and what to do where no sync can help."""

from __future__ import annotations

from powercut.findings.finding import Finding, FindingKind

_ATOMIC_ADVICE = (
    "no sync can help here: make the change in one step (write a new file, fsync it, rename it over the old one, fsync "
    "the directory), or let the recovery tell the unfinished state apart"
)
_ATOMIC_MEMORY_ADVICE = (
    "no flush or fence can help here: make the change with one store of 8 bytes, or in a transaction or log, or let "
    "the recovery tell the unfinished state apart"
)


def advice(*, stored: bool) -> str:
    """What to do where no sync can help; `stored`: what was lost was stored in persistent memory."""
    return _ATOMIC_MEMORY_ADVICE if stored else _ATOMIC_ADVICE


def message(finding: Finding) -> str:
    """One sentence for people."""
    lost = next((loc for loc in finding.locations if loc.role == "lost"), None)
    other = next((loc for loc in finding.locations if loc.role != "lost"), None)
    where_lost, where_other = (loc.short if loc is not None else "" for loc in (lost, other))
    refused = "the check fails" if finding.code else finding.output  # the built-in oracle has no exit status
    verdict = {"crash": f"the check died of signal {finding.code}", "hang": "the check hung"}.get(
        finding.outcome, refused
    )
    if lost is None:
        after = f"{other.what} ({where_other})" if other else "the start"
        return f"After a power cut right after {after}, {verdict}."
    if finding.kind is FindingKind.DURABILITY and other is not None:
        return (
            f"{_capital(other.what)} was said ({where_other}) before {lost.what} ({where_lost}) was durable: "
            f"a power cut can take it back, {verdict}."
        )
    if other is None:
        return f"If a power cut takes {lost.what} ({where_lost}), {verdict}."
    if not finding.lost:
        return f"After a crash between {other.what} ({where_other}) and {lost.what} ({where_lost}), {verdict}."
    return (
        f"{_capital(other.what)} ({where_other}) can survive a power cut while {lost.what} ({where_lost}) does not: "
        f"{verdict}."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
