"""The terminal: progress while it runs, findings when they come. Plain lines when nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click

from powercut.report.events import Event, Found, Progress, Said

if TYPE_CHECKING:
    from rich.status import Status

PLAIN_EVERY = 10.0  # seconds between progress lines where there is no terminal


class Terminal:
    """A subscriber that writes to standard error; reports go to standard output."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._status: Status | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Terminal:
        if self._live:
            from rich.console import Console

            self._status = Console(stderr=True).status("starting", spinner="dots")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, event: Event) -> None:
        """Show an event."""
        if isinstance(event, Said):
            click.echo(f"powercut: {'warning: ' if event.warning else ''}{event.text}", err=True)
        elif isinstance(event, Found):
            click.echo(f"powercut: found {event.finding.kind.value} {event.finding.id}", err=True)
        elif self._status is not None:
            self._status.update(_markup_free(progress_line(event)))
        elif time.monotonic() - self._last_line >= PLAIN_EVERY:
            self._last_line = time.monotonic()
            click.echo(f"powercut: {progress_line(event)}", err=True)


def progress_line(progress: Progress) -> str:
    """How far the search is, in one line."""
    counts = progress.counts
    rate = counts.tested / progress.seconds if progress.seconds > 0.5 else 0.0
    of = f" of {counts.total}" if counts.total is not None else ""
    speed = f", {rate:.0f}/s" if rate else ""
    left = f", {progress.left:.0f} s left" if progress.left is not None else ""
    found = f"{progress.findings} finding{'s' if progress.findings != 1 else ''}"
    return f"{counts.tested} states tested, {counts.equal} equal{of}{speed}, {found}{left}"


def _markup_free(text: str) -> str:
    return text.replace("[", "\\[")
