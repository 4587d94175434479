"""What was found without a crash state: what lint reports, or the assertions that do not hold."""

from __future__ import annotations

from powercut.report.html.entries import plain_entries
from powercut.report.html.section import Material, Section
from powercut.report.lint import lint_counts


def section(material: Material) -> Section | None:
    """The misuses of a run; those of a program with assertions are its own words."""
    run = material.run
    entries = plain_entries(material.problems[len(run.findings) :], material.root)
    if run.assertions:
        ending = run.assertions.get("ending")
        words = f"The program {ending}. What it did until then is checked." if ending else ""
        return Section("analysis", "Assertions", len(entries), {"entries": entries, "words": words, "first": True})
    if not entries:
        return None
    words = f"Lint reports {lint_counts(run.misuses)}. It only reads the trace: nothing is tested, the exit code stays."
    return Section("analysis", "Lint", len(entries), {"entries": entries, "words": words, "first": False})
