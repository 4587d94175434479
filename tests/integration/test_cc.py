"""`powercut cc` where a build has its compiler: what it makes is what was asked for, and tracked."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import powercut

POWERCUT = Path(sys.executable).with_name("powercut")

PROGRAMS = Path(__file__).resolve().parents[1] / "cc_programs"
COMPILERS = [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O2")]
HELLO = '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n'


def cc(*words: str | Path, cwd: Path, language: str = "cc", code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(POWERCUT), language, *map(str, words)]
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done


def run(program: Path) -> str:
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("compiler", "level"), COMPILERS)
def test_every_store_flush_and_fence_is_seen_at_its_line(compiler: str, level: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = PROGRAMS / "stores.c"
    cc("--compiler", compiler, level, "-w", source, "-o", "stores", cwd=tmp_path)
    checked = powercut.check_program([str(tmp_path / "stores"), str(tmp_path / "pool")])
    assert checked.ending == ""
    lines = source.read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if re.match(r" *LOST\(", line)}
    assert {finding.pattern for finding in checked.failures} == {"not-persistent"}
    assert {finding.locations[0].line for finding in checked.failures} == expected
    helper = next(number for number, line in enumerate(lines, 1) if "void *copy(" in line)
    for finding in checked.failures:
        at, written = finding.locations[:2]
        where = helper if " copy(p" in lines[(at.line or 0) - 1] else at.line
        assert (written.role, written.line) == ("written", where)


def test_record_leaves_registers_and_flags_alone(tmp_path: Path) -> None:
    cc("-O2", PROGRAMS / "registers.c", "-o", "registers", cwd=tmp_path)
    program, pool = str(tmp_path / "registers"), str(tmp_path / "pool")
    subprocess.run([program, pool], check=True)  # nothing is watched
    checked = powercut.check_program([program, pool])
    assert checked.ending == ""
    assert checked.operations >= 256


def test_steps_of_a_build_can_be_apart(tmp_path: Path) -> None:
    folder = tmp_path / "a folder with ünïcode"
    folder.mkdir()
    (folder / "hello.c").write_text(HELLO)
    preprocessed = cc("-E", "hello.c", cwd=folder).stdout
    assert "puts" in preprocessed
    (folder / "hello.i").write_text(preprocessed)
    cc("-S", "-O1", "hello.i", "-o", "hello.s", cwd=folder)
    cc("-c", "hello.s", cwd=folder)
    cc("hello.o", "-o", "a program", cwd=folder)
    assert run(folder / "a program") == "hello\n"
    cc("-pipe", "-O2", "-flto", "-MMD", "-MF", "needs.d", "hello.c", "-o", "lto", cwd=folder)
    assert run(folder / "lto") == "hello\n"
    assert (folder / "needs.d").exists()
    plain = subprocess.run(["cc", "--version"], check=True, capture_output=True, text=True)
    assert cc("--version", cwd=folder).stdout == plain.stdout
    assert cc("-dumpmachine", cwd=folder).stdout.startswith("x86_64")


def test_link_time_optimised_program_is_tracked(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("void set(long *p) { *p = 4; }\n")
    (tmp_path / "b.c").write_text(
        "#include <fcntl.h>\n#include <powercut.h>\n#include <sys/mman.h>\n#include <unistd.h>\nvoid set(long *p);\n"
        'int main(void) {\n int f = open("pool", O_RDWR | O_CREAT, 0600);\n if (ftruncate(f, 4096)) return 1;\n'
        " long *p = mmap(0, 4096, PROT_WRITE, MAP_SHARED, f, 0);\n set(p);\n pc_is_persistent(p, 8);\n}\n"
    )
    cc("-O2", "-flto", "a.c", "b.c", "-o", "program", cwd=tmp_path)
    (finding,) = powercut.check_program([str(tmp_path / "program")], cwd=tmp_path).failures
    assert [Path(location.file or "").name for location in finding.locations] == ["b.c", "a.c"]


def test_make_and_shared_libraries_and_cxx_work(tmp_path: Path) -> None:
    (tmp_path / "part.cc").write_text("#include <vector>\nint count() { std::vector<int> v(3); return v.size(); }\n")
    (tmp_path / "main.cc").write_text(
        '#include <cstdio>\n#include <stdexcept>\nint count();\nint main() {\n try { throw std::runtime_error("x"); }'
        ' catch (std::exception &e) { std::printf("%d%s\\n", count(), e.what()); }\n}\n'
    )
    (tmp_path / "Makefile").write_text(
        "main: main.o libpart.so\n\t$(CXX) $(LDFLAGS) -o $@ main.o -L. -lpart -Wl,-rpath,'$$ORIGIN'\n"
        "libpart.so: part.cc\n\t$(CXX) -O2 -fPIC -shared -o $@ $<\n"
    )
    subprocess.run(["make", "-s", f"CXX={POWERCUT} c++"], cwd=tmp_path, check=True)
    assert run(tmp_path / "main") == "3x\n"


def test_mistake_in_the_program_is_the_compilers_message(tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text("int main(void) { return nothing; }\n")
    done = cc("wrong.c", cwd=tmp_path, code=1)
    assert "nothing" in done.stderr
    assert "powercut" not in done.stderr.replace(str(tmp_path), "")
    (tmp_path / "wrong.s").write_text("\tsfence\n\twobble %rax\n")
    done = cc("-c", "wrong.s", cwd=tmp_path, code=1)
    assert "wobble" in done.stderr


def test_what_is_not_tracked_is_said(tmp_path: Path) -> None:
    (tmp_path / "intel.c").write_text(HELLO + "void set(long *p) { *p = 4; }\n")
    assert "[cc-intel-syntax]" in cc("-masm=intel", "-c", "intel.c", cwd=tmp_path).stderr
    scatter = "\tvscatterdps %zmm0, (%rdi,%zmm1,4){%k1}\n"
    (tmp_path / "mask.s").write_text(scatter)
    assert "vscatterdps [cc-stores]" in cc("-c", "mask.s", cwd=tmp_path).stderr
    (tmp_path / "tight.s").write_text("1:\n" + "\tmovq %rax, (%rdi)\n" * 9 + "\tloop 1b\n")
    assert "[cc-as-it-is]" in cc("-c", "tight.s", cwd=tmp_path).stderr


def test_program_that_stores_nothing_persistent_is_not_called_clean_in_silence(tmp_path: Path) -> None:
    (tmp_path / "hello.c").write_text(HELLO)
    cc("hello.c", "-o", "hello", cwd=tmp_path)
    checked = powercut.check_program([str(tmp_path / "hello")], cwd=tmp_path, quiet=True)
    assert checked.operations == 0
    assert any(note.startswith("nothing was recorded") for note in checked.notes)


def test_wrong_use_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "hello.c").write_text(HELLO)
    assert "[cc-cannot]" in cc("-static", "hello.c", cwd=tmp_path, code=2).stderr
    assert "[no-compiler]" in cc("--compiler", "nothing here", "hello.c", cwd=tmp_path, code=3).stderr
    assert "powercut cc" in cc("--help", cwd=tmp_path).stdout
    cc("missing.c", cwd=tmp_path, code=1)


def test_own_pools_and_own_start_decide_what_is_tracked(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(
        "#include <powercut.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "int main(void) {\n pc_init();\n long *p = malloc(4096);\n pc_register_pool(p, 4096);\n"
        " p[0] = 1;\n pc_start();\n p[8] = 1; pc_write(p + 8, 8);\n"
        " pc_is_persistent(p, 16);\n pc_is_persistent(p + 8, 8);\n pc_end();\n pc_exit();\n}\n"
    )
    cc("-O1", "own.c", "-o", "own", cwd=tmp_path)
    checked = powercut.check_program([str(tmp_path / "own")], cwd=tmp_path)
    assert [[location.line for location in finding.locations] for finding in checked.findings] == [[12, 10]]
