"""Settings of all tests."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import settings

# The same examples in every run of CI: a change must not fail for what another one left behind. Elsewhere each run
# looks at new ones.
settings.register_profile("powercut", derandomize="CI" in os.environ, deadline=None)
settings.load_profile("powercut")

# A shell without job control starts background jobs deaf to SIGINT, nohup to SIGHUP, others to more, and what they
# start inherits that; a program that ignores a signal keeps ignoring it under powercut, too. Tests that send it would
# wait for ever, and with SIGCHLD nobody would learn how a process ended.
for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGALRM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests first: one that starts last keeps one core waiting for the other.

    Files stay whole: what is set up once for a file would be set up twice otherwise.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """What was loaded and collected stays to the end: to look for garbage in it again and again takes minutes."""
    gc.collect()
    gc.freeze()
