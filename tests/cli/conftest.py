"""The fixture that all tests of the command line start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.kit import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fresh world."""
    return World.make(tmp_path)
