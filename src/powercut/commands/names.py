"""Names for shell completion. If a saved run is missing or damaged, nothing is offered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from powercut.errors import PowercutError

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _completer(names: Callable[[], Iterable[str]]) -> Completer:
    """Offers names that begin as what was typed; with commas, the last one of a list is completed."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        try:
            return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]
        except (PowercutError, OSError):
            return []

    return complete


def _file_systems() -> Iterable[str]:
    from powercut.model.filesystem import FILE_SYSTEMS, GROUPS

    return [*FILE_SYSTEMS, *GROUPS]


def _memories() -> Iterable[str]:
    from powercut.model.memory import MEMORIES

    return MEMORIES


def _strategies() -> Iterable[str]:
    from powercut.states.strategy_order import STRATEGY_NAMES

    return [*STRATEGY_NAMES, "all"]


def _formats() -> Iterable[str]:
    from powercut.report.formats import FORMATS

    return [form.name for form in FORMATS]


def _runs() -> Iterable[str]:
    from powercut.commands.options import saved_runs
    from powercut.runs.store import saved_runs as folders

    return [folder.name for folder in folders(saved_runs(None))]


def _findings() -> Iterable[str]:
    from powercut.commands.options import saved_runs
    from powercut.runs.store import find_run, load_run

    return [finding.id for finding in load_run(find_run(saved_runs(None))).findings]


complete_file_systems = _completer(_file_systems)
complete_memories = _completer(_memories)
complete_strategies = _completer(_strategies)
complete_formats = _completer(_formats)
complete_tracers = _completer(lambda: ("auto", "calls", "memory"))
complete_runs = _completer(_runs)
complete_findings = _completer(_findings)
