"""Help that lists the options of a command in groups: for commands that have many."""

from __future__ import annotations

import click

_OTHER = "Other options"
_GROUPS = {
    "Main options": ("trace_file", "force", "dir", "check", "recovery", "fs", "budget"),
    "Recording": ("tracer", "stacks", "runtimes"),
    "Input and schedules": (
        "client",
        "seeds",
        "grammar",
        "threads",
        "schedule",
        "jobs",
        "max_executions",
        "max_findings",
    ),
    "Search": ("strategies", "memory", "tear", "max_states", "seed", "equivalence", "fork_checks", "lint"),
    "Running the check": ("timeout", "workers", "cache", "executor", "ray_address"),
    "Reports": ("json_file", "sarif_file", "junit_file", "markdown_file", "html_file", "github", "verbose"),
    "Baseline": ("baseline", "write_baseline"),
    "Folders and mounts": ("ignore", "any_folder", "output", "scratch", "namespaces"),
}
_WIDEST = 30  # of a column of options, as click has it; longer ones get a line of their own


class GroupedCommand(click.Command):
    """A command whose help has a section for each group of options; unknown ones are in the last section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, with the same columns."""
        known = {name: title for title, names in _GROUPS.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_GROUPS, _OTHER)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections[known.get(parameter.name or "", _OTHER)].append(record)
        widest = min(_WIDEST, max(len(names) for rows in sections.values() for names, _ in rows))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl([(names.ljust(widest), text) for names, text in rows])
