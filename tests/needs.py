"""What tests need that a machine may not have: without it they are skipped, and say why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from powercut import _engine
from powercut.native_programs import memory_tool

HAS_PMDK = Path("/usr/include/libpmemobj.h").exists()
needs_pmdk = pytest.mark.skipif(not HAS_PMDK, reason="libpmemobj-dev is not there")
needs_memory_tool = pytest.mark.skipif(memory_tool() is None, reason="built without Valgrind")

VIEWS, WHY_NO_VIEWS = _engine.can_enter_view()
needs_views = pytest.mark.skipif(not VIEWS, reason=WHY_NO_VIEWS or "private mount views work")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs to become somebody else")
HAS_LOOP_DEVICES = os.geteuid() == 0 and Path("/dev/loop-control").exists()
needs_loop_devices = pytest.mark.skipif(not HAS_LOOP_DEVICES, reason="only root can mount files, through loop devices")
