"""Two writes through one helper: the finding names the lines that call it."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.kit import World

PROGRAM = """\
def put(path, text):
    with open(path, "w") as file:
        file.write(text)


put("data/f", "new")
put("data/done", "yes")
"""
CHECK = '[ ! -s done ] || [ "$(cat f)" = new ]'


def test_callers_are_named_where_the_innermost_lines_are_one(world: World) -> None:
    (world.here / "save.py").write_text(PROGRAM)
    (world.here / "check").write_text(CHECK)
    ended = world.run("test", "--dir", "data", "--check", "sh check", "--", sys.executable, "save.py")
    assert ended.code == 1
    assert "lost:         HERE/save.py:6 in <module>" in ended.out
    assert "survived:     HERE/save.py:7 in <module>" in ended.out
    assert "before save.py:7 (verified in the model)" in ended.out


def test_what_the_c_library_does_for_one_line_is_not_named(world: World) -> None:
    """Open and write of one `with` part in the C library only; where its debug information is installed, with lines."""
    (world.here / "save.py").write_text('with open("data/f", "w") as file:\n    file.write("new")\n')
    ended = world.run("test", "--dir", "data", "--", sys.executable, "save.py")
    assert ended.code == 1
    assert "not run yet:  HERE/save.py:1 in <module>" in ended.out
    assert "survived:     HERE/save.py:1 in <module>" in ended.out


def test_what_is_printed_when_a_c_program_ends_is_said_by_exit(world: World) -> None:
    """What stays in a buffer of C, such as a line without an end, is written by exit."""
    source = world.here / "save.c"
    source.write_text('#include <stdio.h>\nint main(void) { fclose(fopen("data/new", "w")); printf("saved"); }\n')
    subprocess.run(["cc", "-g", source, "-o", world.here / "save"], check=True)
    (world.here / "check").write_text('[ -e new ] || ! grep -q saved "$POWERCUT_ACKED"')
    ended = world.run("test", "--dir", "data", "--check", "sh check", "--", "./save")
    assert ended.code == 1
    assert "  acknowledged: exit\n" in ended.out
    assert "before the output 'saved' (exit)" in " ".join(ended.out.split())
