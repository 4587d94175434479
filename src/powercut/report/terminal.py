"""The terminal: progress while it runs, findings when they come. Plain lines when nobody watches."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

import click

from powercut.printable import counted, printable
from powercut.report.finding_text import headline
from powercut.report.race import raced_table, raced_words, standing_words
from powercut.search.events import Doing, Event, Found, Progress, Raced, Repeated, Said, Weighed

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.status import Status

PLAIN_EVERY = 10.0  # seconds between progress lines where there is no terminal
RACED_EVERY = 5.0  # the same of races, whose every step takes its time
_FOUND = {"finding": "red"}


class Terminal:
    """A subscriber that writes to standard error; reports go to standard output."""

    def __init__(self) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty()
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
            with suppress(OSError):
                self._status.stop()

    def tell(self, event: Event) -> None:
        """Show an event. That nobody can read it any more is no reason to end a run."""
        with suppress(OSError):
            if isinstance(event, Said):
                self._line(f"{'warning: ' if event.warning else ''}{event.text}", "yellow" if event.warning else "")
            elif isinstance(event, Found):
                standing = standing_words(event.finding)
                self._line(f"{standing} {event.finding.id}: {headline(event.finding)}", _FOUND.get(standing, ""))
            elif self._status is not None:
                self._status.update(_live(event))
            elif isinstance(event, Doing):
                pass  # without a terminal, only what takes long is worth a line
            elif time.monotonic() - self._last_line >= (RACED_EVERY if isinstance(event, Raced) else PLAIN_EVERY):
                self._last_line = time.monotonic()
                self._line(progress_line(event))

    def _line(self, text: str, style: str = "") -> None:
        line = f"powercut: {printable(text)}"
        if self._status is not None:  # above the progress, not into it
            from rich.text import Text

            self._status.console.print(Text(line, style=style), soft_wrap=True)
        else:
            click.echo(line, err=True)


def _live(event: Doing | Progress | Weighed | Raced | Repeated) -> RenderableType:
    """What a terminal shows while a search goes on: the counts of a race in columns, others in a line."""
    if isinstance(event, Doing):
        return _markup_free(printable(event.text))
    if isinstance(event, Raced):
        return raced_table(event.counts, event.rate, event.left)
    return _markup_free(progress_line(event))


def progress_line(progress: Progress | Weighed | Raced | Repeated) -> str:
    """How far the search is, in one line."""
    if isinstance(progress, Repeated):
        return f"seen again in {progress.seen:,} of {progress.done:,} executions, {progress.tries:,} in all"
    left = f", {progress.left:,.0f} s left" if progress.left is not None else ""
    if isinstance(progress, Raced):
        return f"{raced_words(progress.counts)}, {progress.rate:.1f}/s{left}"
    if isinstance(progress, Weighed):
        tested = f"{counted(progress.tested, 'state')} tested"
        return f"{progress.settled:,} of {progress.total:,} syncs decided, {tested}{left}"
    counts = progress.counts
    rate = counts.tested / progress.seconds if progress.seconds > 0.5 else 0.0
    total = f"{counts.total:,}" if isinstance(counts.total, int) else str(counts.total)
    of = "" if counts.total is None else f" of {total}"
    speed = f", {rate:,.0f}/s" if rate >= 0.5 else ""
    found = counted(progress.findings, "finding")
    cached = f", {counts.known:,} cached" if counts.known else ""
    follow = f", {counts.equivalent:,} equivalent" if counts.equivalent else ""
    tested = f"{counted(counts.tested, 'state')} tested"
    return f"{tested}{cached}, {counts.equal:,} identical{follow}{of}{speed}, {found}{left}"


def _markup_free(text: str) -> str:
    return text.replace("[", "\\[")
