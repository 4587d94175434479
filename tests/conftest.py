"""Settings of all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# The same examples in every run of CI: a change must not fail for what another one left behind. Elsewhere each run
# looks at new ones.
settings.register_profile("powercut", derandomize="CI" in os.environ, deadline=None)
settings.load_profile("powercut")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: one that starts last keeps one core waiting for the other."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
