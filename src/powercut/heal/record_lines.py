"""The lines of a service that made the records of its log."""

from __future__ import annotations

from powercut.guard.endings import place_calls
from powercut.guard.log import GuardLog
from powercut.trace.symbols import Frame, Symbolizer, user_frame


class Places:
    """Lines of one log's records."""

    def __init__(self, log: GuardLog) -> None:
        self._log = log
        self._symbols = Symbolizer()

    def of(self, record: int) -> Frame | None:
        """The line that made a record, None if that is not known."""
        site = int(self._log.records["site"][record])
        if not site:
            return None
        path, _, offset = place_calls(self._log, [site], before=record)[0].rpartition("+")
        frames = self._symbols.resolve([(path, int(offset, 16) - 1)])
        return user_frame(next(iter(frames.values())))
