"""Whether a finding is still there in another run of the same program, in which its fix was put in."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from powercut.findings.finding import Finding, FindingKind

_ORDERS = (FindingKind.ORDERING, FindingKind.UNPERSISTED)  # which of the two it is depends on later syncs alone


def shown_again(finding: Finding, others: Collection[str], found: Iterable[Finding]) -> Finding | None:
    """The one of some findings that shows a finding again, if there is one: by its id, or because the same is lost.

    `others` are the ids of what the first run had found besides: they were there before, and stay with or without it.
    """
    candidates = [other for other in found if other.id not in others]
    same = [other for other in candidates if other.id == finding.id]
    alike = [other for other in candidates if _is_alike(finding, other)]
    return next(iter([*same, *alike]), None)


def _is_alike(one: Finding, other: Finding) -> bool:
    """Whether the same goes wrong, and what one place changed is lost in both."""
    kinds = {one.kind, other.kind}
    return (len(kinds) == 1 or kinds <= set(_ORDERS)) and bool(_lost(one) & _lost(other))


def _lost(finding: Finding) -> set[tuple[str | None, int | None, str | None, str]]:
    """What is lost, and where: the name that a line makes and the content that it writes take different syncs."""
    return {
        (place.file, place.line, place.function, place.detail) for place in finding.locations if place.role == "lost"
    }
