"""About the run: what was run, on what, by which powercut, and what it had to say."""

from __future__ import annotations

import shlex

from powercut.report.html.section import Material, Section


def section(material: Material) -> Section:
    """The facts that are there."""
    run = material.run
    check = shlex.join(run.check) if run.check else run.function or ("" if run.assertions or run.race else "built-in")
    facts = [
        ("program", shlex.join(run.command)),
        ("data folder", run.folder),
        ("check", check),
        ("models", run.model.replace(",", ", ")),
        ("time", f"{run.seconds:.1f} s"),
        ("powercut", run.version),
    ]
    return Section("about", "About this run", None, {"facts": [fact for fact in facts if fact[1]], "notes": run.notes})
