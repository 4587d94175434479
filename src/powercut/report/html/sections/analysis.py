"""What was found without a crash state: the patterns of misuse in the trace, or the assertions that do not hold."""

from __future__ import annotations

from powercut.report.html.entries import plain_entries
from powercut.report.html.section import Material, Section
from powercut.report.lint import counts


def section(material: Material) -> Section | None:
    """The misuses of a run; those of a program with assertions are its own words."""
    run = material.run
    entries = plain_entries(material.problems[len(run.findings) :], material.root)
    if run.assertions:
        ending = run.assertions.get("ending")
        words = f"The program {ending}; what it did until then is checked." if ending else ""
        return Section("analysis", "Assertions", len(entries), {"entries": entries, "words": words, "first": True})
    if not entries:
        return None
    words = f"{counts(run.misuses)}. These need no check: the calls and instructions of the trace show them."
    return Section("analysis", "Trace analysis", len(entries), {"entries": entries, "words": words, "first": False})
