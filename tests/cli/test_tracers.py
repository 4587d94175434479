"""Which tracer records a program: chosen by powercut, said aloud, overridden by the user."""

from __future__ import annotations

import subprocess
import sys

import pytest

from powercut.native_programs import memory_tool, why_no_memory_tool
from tests.cli.kit import World

MAPS = """\
#include <fcntl.h>
#include <sys/mman.h>
int main(void) {
    char *p = mmap(0, 3, PROT_READ | PROT_WRITE, MAP_SHARED, open("data/f", O_RDWR), 0);
    p[0] = 'n';
    return msync(p, 3, MS_SYNC);
}
"""
needs_tool = pytest.mark.skipif(memory_tool() is None, reason=why_no_memory_tool() or "nothing is missing")


def build(world: World) -> str:
    (world.here / "maps.c").write_text(MAPS)
    subprocess.run(["gcc", "-g", "-o", world.here / "maps", world.here / "maps.c"], check=True)
    return "./maps"


@needs_tool
def test_a_program_that_maps_a_file_is_started_again_with_the_memory_tracer(world: World) -> None:
    ended = world.run("test", "--dir", "data", "--check", "grep -q '[no]ld' f", "--", build(world))
    assert ended.code == 0, ended
    assert "the program maps f for writing: restarting it with the memory tracer" in ended.err
    assert "not covered" not in ended.err
    assert " 2 tested, " in ended.out


def test_stores_are_left_out_if_the_user_says_so(world: World) -> None:
    ended = world.run("record", "--tracer", "calls", "-o", "t", "--dir", "data", "--", build(world))
    assert ended.code == 0, ended
    assert "the recording of f is incomplete; do not trust crash states of these files" in ended.err


@needs_tool
def test_the_memory_tracer_starts_a_program_once_if_it_is_asked_for(world: World) -> None:
    ended = world.run("record", "--tracer", "memory", "-o", "t", "--dir", "data", "--", build(world))
    assert ended.code == 0, ended
    assert "with the memory tracer (--tracer memory)" in ended.err
    listing = world.run("show", "t").out
    assert "store        f 1 bytes at 0 'n' [HERE/maps.c:5]" in listing
    assert "msync        f 3 bytes at 0" in listing


@needs_tool
def test_a_program_for_another_machine_is_refused(world: World) -> None:
    path = world.here / "old"
    path.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x02\x00\x03\x00" + bytes(100))
    path.chmod(0o755)
    ended = world.run("test", "--tracer", "memory", "--dir", "data", "--", "./old")
    assert (ended.code, "[not-x86-64]" in ended.err) == (3, True), ended


@needs_tool
def test_an_index_that_is_made_anew_is_no_reason_to_look_closer(world: World) -> None:
    script = (
        "import sqlite3; c = sqlite3.connect('data/db', isolation_level=None); c.execute('pragma journal_mode=wal');"
    )
    script += "c.execute('create table t (x)')"
    ended = world.run("record", "-o", "t", "--dir", "data", "--", sys.executable, "-c", script)
    assert ended.code == 0, ended
    assert "memory tracer" not in ended.err


def test_an_unknown_tracer_is_refused(world: World) -> None:
    ended = world.run("test", "--tracer", "magic", "--dir", "data", "--", "true")
    assert (ended.code, ended.out) == (2, "")
    assert "tracer must be auto, calls or memory, not 'magic'. [bad-setting]" in ended.err
