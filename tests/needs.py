"""What tests need that a machine may not have: without it they are skipped, and say why."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.record.tracers import memory_tool

HAS_PMDK = Path("/usr/include/libpmemobj.h").exists()
needs_pmdk = pytest.mark.skipif(not HAS_PMDK, reason="libpmemobj-dev is not there")
needs_memory_tool = pytest.mark.skipif(memory_tool() is None, reason="built without Valgrind")
