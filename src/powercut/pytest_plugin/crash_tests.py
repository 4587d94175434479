"""Running a crash test in pytest: collecting its settings, running it, and reporting its findings.

Before: a workload, a check, and what the suite's options, markers and files say. After: the test passes, and the states
that were tested all passed; or it fails with every finding that is not in the baseline and how to get it back. A search
that tested nothing fails the test, too, and so do failing states without an explanation and states on which the check
did not end: nothing is known then.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from powercut.errors import ExitCode, PowercutError, UsageError
from powercut.findings.finding import Finding
from powercut.oracle.verdict import Verdict
from powercut.printable import counted
from powercut.pytest_plugin import OPTIONS, SETTINGS
from powercut.quick_dataclass import dataclass
from powercut.report.finding_text import explain, explain_verdict, headline
from powercut.report.summary import summary_line
from powercut.runs.replay import replay
from powercut.runs.store import SavedRun
from powercut.search.events import Event
from powercut.settings import Settings, load_settings
from powercut.testing.run_figures import exit_code
from powercut.testing.session import Session

Check = str | Callable[..., object] | None


@dataclass(frozen=True, slots=True)
class CrashTest:
    """The fixture `crash_test`: called with a program, a check and settings, it fails the test on findings."""

    config: pytest.Config
    item: pytest.Item
    folder: Path

    def __call__(
        self, workload: Sequence[str] | Callable[[], object], check: Check = None, **settings: Any
    ) -> SavedRun | None:
        """Crash-test a function or a command; the run, or None if only one finding was replayed."""
        __tracebackhide__ = True
        wanted = self.config.getoption("--powercut-replay")
        error: PowercutError | None = None
        try:
            session = self._session(check, settings)
            if wanted is not None:
                verdict = replay(session.output, wanted, None, check, _ignore)
            else:
                run, _ = session.test(workload)
        except PowercutError as raised:
            error = raised
        if error is not None:  # out of the handler, or pytest shows the error twice
            pytest.fail(f"powercut: {error}", pytrace=False)
        if wanted is not None:
            _replayed(wanted, verdict)
            return None
        return self._judged(run, check)

    def _session(self, check: Check, given: dict[str, Any]) -> Session:
        settings = self._settings({**given, "check": check if isinstance(check, str) else None})
        session = Session(settings, Path.cwd(), _ignore)
        if callable(check):
            session.check = check
        return session

    def _settings(self, given: dict[str, Any]) -> Settings:
        """Files of the root folder, then pytest's configuration, markers, the call, and the command line."""
        values: dict[str, Any] = {"dir": self.folder}
        values.update({name: self._from_ini(name) for name in OPTIONS})
        for marker in reversed([*self.item.iter_markers(SETTINGS)]):  # the closest one wins
            values.update(marker.kwargs)
        values.update(given)
        options = {name: self.config.getoption(f"--powercut-{name.replace('_', '-')}") for name in OPTIONS}
        values.update({name: value for name, value in options.items() if value is not None})
        root = self.config.rootpath
        settings = load_settings(root, values)
        places = {name: str(root / getattr(settings, name)) for name in ("output", "baseline")}
        return msgspec.structs.replace(settings, workers=settings.workers or _share(), **places)

    def _from_ini(self, name: str) -> Any:
        value = self.config.getini(f"powercut_{name}")
        if not value:
            return None
        try:
            return OPTIONS[name][0](value)
        except ValueError as error:
            raise UsageError("bad-setting", f"powercut_{name} in {self.config.inipath}: {error}.") from error

    def _judged(self, run: SavedRun, check: Check) -> SavedRun:
        __tracebackhide__ = True
        if run.interrupted:
            raise KeyboardInterrupt  # the session has saved what it had; the suite was meant to end
        found = run.new_findings
        for finding in found:
            if callable(check):  # which no other process can call
                finding.replay = self._again(finding.replay.split()[2])
        if found or exit_code(run) is not ExitCode.NOTHING_FOUND:
            parts = [_headline(found), *map(explain, found)] if found else []
            pytest.fail("\n\n".join([*parts, summary_line(run)]), pytrace=False)
        return run

    def _again(self, name: str) -> str:
        return f"pytest {shlex.quote(self.item.nodeid)} --powercut-replay {shlex.quote(name)}"


def _headline(found: Sequence[Finding]) -> str:
    """The first line, which pytest repeats in its summary: kind and place of the first finding, and how many more."""
    more = f", and {counted(len(found) - 1, 'more finding')}" if len(found) > 1 else ""
    return f"{headline(found[0])} ({found[0].id}){more}"


def _replayed(name: str, verdict: Verdict) -> None:
    __tracebackhide__ = True
    if not verdict.passed:
        pytest.fail(f"finding {name}: {explain_verdict(verdict)}", pytrace=False)


def _share() -> int:
    """Workers of one test among those of pytest-xdist; 0, which is one for each core, where it does not run."""
    count = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    return max(1, (os.cpu_count() or 1) // int(count)) if count.isdecimal() and int(count) else 0


def _ignore(event: Event) -> None:
    """pytest shows what comes out."""
