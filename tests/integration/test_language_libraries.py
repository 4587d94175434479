"""A helper that forgets a sync is one finding, whatever files it is called for, and whichever language it is in.

What comes with a language (pathlib, std::ofstream, Rust's std) does what it is told, as the C library does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import powercut_test

CHECK = """\
for name in alice bob; do
    [ ! -e $name ] || grep -q "^$name 1" $name || { echo "$name is damaged"; exit 1; }
done
"""
PATHLIB = """\
from pathlib import Path
def save(name):
    Path(name + ".tmp").write_text(name + " 1\\n")
    Path(name + ".tmp").replace(name)
save("alice")
save("bob")
"""
FSTREAM = """\
#include <filesystem>
#include <fstream>
#include <string>
static void save(const std::string &name) {
    {
        std::ofstream out(name + ".tmp");
        out << name << " 1\\n";
    }
    std::filesystem::rename(name + ".tmp", name);
}
int main() {
    save("alice");
    save("bob");
}
"""
STDIO = """\
#include <stdio.h>
#include <string.h>
static void save(const char *name) {
    char temporary[64];
    snprintf(temporary, sizeof temporary, "%s.tmp", name);
    FILE *file = fopen(temporary, "w");
    fprintf(file, "%s 1\\n", name);
    fclose(file);
    rename(temporary, name);
}
int main(void) {
    save("alice");
    save("bob");
    return 0;
}
"""
RUST = """\
use std::fs;
use std::io::Write;
fn save(name: &str) {
    let temporary = format!("{}.tmp", name);
    let mut file = fs::File::create(&temporary).unwrap();
    writeln!(file, "{} 1", name).unwrap();
    fs::rename(&temporary, name).unwrap();
}
fn main() {
    save("alice");
    save("bob");
}
"""
COMPILERS = {"c": ["gcc", "-g"], "cpp": ["g++", "-g", "-std=c++17"], "rs": ["rustc", "-g"]}


@pytest.mark.parametrize(
    ("suffix", "source"), [("py", PATHLIB), ("cpp", FSTREAM), ("c", STDIO), ("rs", RUST)], ids=lambda value: value[:3]
)
def test_a_helper_that_forgets_a_sync_is_one_finding(suffix: str, source: str, tmp_path: Path) -> None:
    program, data = tmp_path / f"save.{suffix}", tmp_path / "data"
    program.write_text(source)
    (tmp_path / "check").write_text(CHECK)
    data.mkdir()
    command = [sys.executable, str(program)]
    if suffix in COMPILERS:
        compiler = COMPILERS[suffix]
        if shutil.which(compiler[0]) is None:
            pytest.skip(f"{compiler[0]} is not installed")
        subprocess.run([*compiler, "-o", tmp_path / "save", program], check=True)
        command = [str(tmp_path / "save")]
    run = powercut_test(command, f"sh {tmp_path / 'check'}", data, inside=True)
    (finding,) = run.findings
    assert finding.kind == "unpersisted"
    assert [Path(place.file or "").name for place in finding.locations] == [program.name] * 2


LIBRARY = """\
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void fill(const char *name, const char *text) {
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    write(file, text, strlen(text));
    close(file);
}
static void library_save(const char *text) {
    fill("new", text);
    rename("new", "saved"); }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_two_calls_of_a_library_under_one_line_are_told_apart_by_its_lines(tmp_path: Path) -> None:
    """The user's line is the same for what was lost and what survived; the library's lines say which is which."""
    library = tmp_path / ".cargo" / "registry" / "library.h"  # whose code is never the user's own
    library.parent.mkdir(parents=True)
    library.write_text(LIBRARY)
    (tmp_path / "main.c").write_text(f'#include "{library}"\nint main(void) {{\n    library_save("text");\n}}\n')
    (tmp_path / "check").write_text('[ ! -e saved ] || [ "$(cat saved)" = text ]\n')
    program = tmp_path / "program"
    subprocess.run(["gcc", "-g", "-O0", "-w", str(tmp_path / "main.c"), "-o", str(program)], check=True)
    (tmp_path / "data").mkdir()
    run = powercut_test([str(program)], f"sh {tmp_path / 'check'}", tmp_path / "data", inside=True)
    (finding,) = run.findings
    assert {(place.role, place.line) for place in finding.locations} == {("lost", 3), ("survived", 3)}
    assert "(in library_save, library.h:11)" in run.output
    assert "(in library_save, library.h:12)" in run.output
