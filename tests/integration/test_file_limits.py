"""A traced program sets its limit of open files as in life: servers ask for as many as they need, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.race.board import Plan

from .memory_kit import TOOL
from .race_kit import COUNTED, build, race

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

PROGRAM = r"""
#include <errno.h>
#include <sys/resource.h>
static int set(unsigned long now, unsigned long most) {
    struct rlimit limit = {now, most};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? 0 : errno;
}
int main(int argc, char **argv) {
    struct rlimit limit;
    int files = 3;
    pm = map_file(argv[1], 4096, 0, NULL);
    if (set(200, 300) || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur != 200 || limit.rlim_max != 300)
        return 1;
    if (set(150, 150) || set(151, 150) != EINVAL)
        return 2;
    while (open("/dev/null", O_RDONLY) >= 0) files++;
    return errno != EMFILE || files < 100 || files > 151 ? 3 : 0;
}
"""


def test_a_program_may_lower_its_limit_of_open_files(tmp_path: Path) -> None:
    run = race(tmp_path, build(tmp_path, PROGRAM), Plan(COUNTED))
    assert run.recording.trace.meta["exit"] == b"exited 0", run.recording.stderr
