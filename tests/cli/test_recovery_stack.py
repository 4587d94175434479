"""A check that dies of a signal: the finding says where, with a line."""

from __future__ import annotations

import subprocess

from tests.cli.kit import SAVE, World

DIES = """\
#include <stdio.h>
static int first(const char *text) {
    return *text;
}
int main(void) {
    FILE *file = fopen("f", "r");
    int letter = file != NULL ? fgetc(file) : 'x';
    return first(letter > 0 ? "fine" : NULL) != 'f';
}
"""


def test_the_place_where_the_check_died_is_named(world: World) -> None:
    (world.here / "dies.c").write_text(DIES)
    subprocess.run(["gcc", "-g", "-O0", "-o", world.here / "dies", world.here / "dies.c"], check=True)
    ended = world.test("--fs", "xfs", workload=SAVE, check="./dies")  # there the new name can hold zeros
    assert ended.code == 1
    assert "the check crashes (signal 11)" in ended.out
    assert "the check crashed at:\n    first at HERE/dies.c:3\n    main at HERE/dies.c:8\n" in ended.out
