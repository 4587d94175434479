"""The fixture that all tests of the command line start from."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.cli.kit")  # before it is imported: what differs is shown

from tests.cli.kit import World  # noqa: E402


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fresh world."""
    return World.make(tmp_path)
