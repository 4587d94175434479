"""What is given to others: an sdist that builds, and a wheel that needs no compiler where it is installed.

The wheel is built once, from the unpacked sdist, and installed in an environment of its own by the script of the
GitHub action. There the path has no compiler, no Valgrind and nothing of this checkout, and the programs of the demo
are tested as a user would.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from scikit_build_core.build import build_sdist

from powercut import __version__
from powercut.native_programs import why_no_memory_tool
from powercut.trace.lines import line_reader

from .conftest import built_once

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "corpus" / "demo"
TOOLS = ("sh", "cat")  # beside powercut and its Python; what users of a bare machine have at least
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
QUICKLY = "-Ccmake.build-type=Debug"  # whether the compiler optimizes is not what is tested
ASSERTS = b"""
#include <powercut.h>
int main(void) {
    static long value;
    pc_init();
    pc_start();
    pc_write(&value, sizeof value); /* and never flushed */
    pc_is_persistent(&value, sizeof value);
    pc_end();
}
"""
pytestmark = pytest.mark.xdist_group("wheel")  # which is built once
without_valgrind = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "there is one")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A machine without compiler: an environment with the wheel in it, a path of few programs, a folder to work in."""

    wheel: Path
    site: Path
    here: Path
    env: dict[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run what the wheel has installed."""
        command = [str(self.site / "bin" / "powercut"), *arguments]
        return subprocess.run(command, cwd=self.here, env=self.env, capture_output=True, text=True, timeout=120)

    def demo(self, name: str, *program: str, options: tuple[str, ...] = ()) -> set[str]:
        """Test one program of the demo; the kinds of mistakes that were found."""
        data = self.here / name
        data.mkdir(exist_ok=True)
        check = f"python3 {DEMO / name}_check.py"
        command = [str(self.site / "bin" / "powercut"), "test", "--dir", ".", "--output", "../runs", "--check", check]
        ended = subprocess.run(
            [*command, *options, "--", *program], cwd=data, env=self.env, capture_output=True, text=True, timeout=120
        )
        assert ended.returncode == 1, ended.stderr
        return set(re.findall(r"^[0-9a-f]{8}  .+ \((\w+)\)$", ended.stdout, re.MULTILINE))


def build_wheel(folder: Path) -> None:
    """The wheel, from the unpacked sdist."""
    here = Path.cwd()
    os.chdir(ROOT)  # where a build backend is to be called
    try:
        sdist = folder / build_sdist(str(folder))
    finally:
        os.chdir(here)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / f"powercut-{__version__}"
    subprocess.run(
        [*PIP, "wheel", QUICKLY, "--no-deps", "--no-build-isolation", "-w", str(folder), str(source)], check=True
    )


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    (wheel,) = built_once(tmp_path_factory, "built-wheel", build_wheel).glob("*.whl")
    folder = tmp_path_factory.mktemp("wheel")
    site = install(wheel, folder)
    tools = folder / "tools"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name) or "")
    (folder / "work").mkdir()
    return Elsewhere(wheel, site, folder / "work", {"PATH": f"{site}/bin:{tools}", "HOME": str(folder / "work")})


def install(wheel: Path, folder: Path) -> Path:
    """What the action does on a runner, to which a wheel is as good as its own checkout; the environment it makes."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (script,) = (step["run"] for step in steps if step["name"] == "Install powercut")
    told = folder / "path"
    env = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder)}
    env |= {"GITHUB_ACTION_PATH": str(wheel), "GITHUB_PATH": str(told)}
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], env={**os.environ, **env}, check=True)
    return Path(told.read_text().strip()).parent


def test_there_is_no_compiler_and_no_checkout(elsewhere: Elsewhere) -> None:
    for name in ("gcc", "cc", "clang", "cmake", "ninja", "valgrind", "make", "addr2line"):
        assert shutil.which(name, path=elsewhere.env["PATH"]) is None
    asked = [str(elsewhere.site / "bin" / "python"), "-c", "import powercut; print(powercut.__file__)"]
    told = subprocess.run(asked, cwd=elsewhere.here, env=elsewhere.env, capture_output=True, text=True).stdout
    assert told.startswith(str(elsewhere.site))


def test_a_program_of_python_is_tested(elsewhere: Elsewhere) -> None:
    options = ("--html", "../settings.html")
    kinds = elsewhere.demo("settings", "python3", str(DEMO / "settings.py"), options=options)
    assert kinds == {"unpersisted", "durability"}
    page = (elsewhere.here / "settings.html").read_text()
    assert "Around the power cut" in page and 'id="coverage"' in page


def test_a_program_of_c_is_tested(elsewhere: Elsewhere) -> None:
    program = elsewhere.here / "kv-program"  # built where there is a compiler
    subprocess.run(["gcc", "-g", str(DEMO / "kv.c"), "-o", str(program)], check=True)
    assert elsewhere.demo("kv", str(program)) == {"atomicity"}
    if line_reader() is not None:  # it is in the wheel, then, and needs no package
        assert re.search(r"kv\.c:\d+", elsewhere.run("show", "--output", "runs").stdout)


LOADS = """\
import importlib.util, sys
spec = importlib.util.spec_from_file_location("powercut._engine", sys.argv[1])
engine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(engine)
print(type(engine.BlockHashes()).__name__, engine.mark_set([1, 2]) == engine.mark_set([2, 1]))
"""


def test_one_wheel_is_for_every_cpython_from_3_11_on(elsewhere: Elsewhere) -> None:
    assert re.search(r"-cp311-abi3-[a-z0-9_]+\.whl$", elsewhere.wheel.name), elsewhere.wheel
    (engine,) = elsewhere.site.glob("lib/python3*/site-packages/powercut/_engine.abi3.so")
    others = other_pythons()
    for python in others:
        told = subprocess.run([python, "-c", LOADS, str(engine)], capture_output=True, text=True)
        assert told.stdout == "BlockHashes True\n", (python, told.stderr)
    if not others:
        pytest.skip("there is no other CPython from 3.11 on here: only the name was looked at")


def other_pythons() -> list[str]:
    """Each other CPython of this machine that the wheel is for, with the limited interface (not free-threaded)."""
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    kept = [str(path) for path in Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    asks = "import sys; print('.'.join(map(str, sys.version_info[:2]))); sys.exit('t' in sys.abiflags)"
    found: dict[str, str] = {}
    for python in (*kept, *filter(None, named)):
        told = subprocess.run([python, "-c", asks], capture_output=True, text=True)
        version = told.stdout.strip()
        if told.returncode == 0 and tuple(map(int, version.split("."))) >= (3, 11):
            found[version] = python
    found.pop(".".join(map(str, sys.version_info[:2])), None)
    return list(found.values())


@without_valgrind
def test_the_memory_tracer_needs_nothing_else(elsewhere: Elsewhere) -> None:
    command = ("python3", str(DEMO / "settings.py"))
    assert elsewhere.demo("settings", *command, options=("--tracer", "memory")) == {"unpersisted", "durability"}


def test_doctor_tells_what_there_is_and_closes_each_gap(elsewhere: Elsewhere) -> None:
    ended = elsewhere.run("doctor")
    assert ended.returncode == 0, ended.stdout
    lines = ended.stdout.splitlines()
    assert lines[0] == "ok       recording: programs can be traced"
    gap = lines.index("limited  building programs with assertions: cannot find the C compiler cc")
    told = [line.strip() for line in lines[gap + 1 : gap + 3]]
    assert told == ["Only powercut cc and powercut c++ need it.", f"run: {sudo()}apt-get install gcc"]
    if not why_no_memory_tool():
        assert "ok       stores into mapped files: programs can run inside Valgrind" in lines


def test_what_needs_a_compiler_says_so(elsewhere: Elsewhere) -> None:
    ended = elsewhere.run("cc", "-O2", "store.c", "-o", "store")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == (
        f"powercut: cannot find the compiler 'cc'. Install one ({sudo()}apt-get install gcc), or choose another with "
        "--compiler, POWERCUT_CC or POWERCUT_CXX. [no-compiler]\n"
    )
    program = elsewhere.here / "bare"
    subprocess.run(["gcc", "-x", "c", "-", "-o", str(program)], input=b"int main(void) { return 0; }", check=True)
    ended = elsewhere.run("check", "--", str(program))
    assert ended.returncode == 3 and "Build it with powercut cc" in ended.stderr


def test_a_program_is_built_with_what_the_wheel_brings(elsewhere: Elsewhere) -> None:
    """The flags of `powercut config` name headers and a library that are there, and the checker starts."""
    flags = elsewhere.run("config", "--cflags", "--libs").stdout.split()
    program = elsewhere.here / "asserts"
    subprocess.run(["gcc", "-g", "-x", "c", "-", "-o", str(program), *flags], input=ASSERTS, check=True)
    ended = elsewhere.run("check", "--", str(program))
    assert ended.returncode == 1, ended.stderr
    assert "FAIL" in ended.stdout


def test_the_wheel_states_the_licence_of_each_part(elsewhere: Elsewhere) -> None:
    with ZipFile(elsewhere.wheel) as wheel:
        names = set(wheel.namelist())
        about = f"powercut-{__version__}.dist-info"
        metadata = wheel.read(f"{about}/METADATA").decode()
    assert "License-Expression: Apache-2.0 AND BSD-2-Clause AND GPL-2.0-or-later\n" in metadata
    assert f"\nVersion: {__version__}\n" in metadata
    parts = {"native/engine/LICENSE", "native/grind/LICENSE", "native/grind/COPYING", "native/lines/LICENSE"}
    files = {"LICENSE", *parts}
    assert {f"{about}/licenses/{file}" for file in files} <= names
    assert "powercut/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "corpus", "native"))]


def test_the_changelog_is_of_this_version() -> None:
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None and newest[1] == __version__


def sudo() -> str:
    """What stands before commands for root."""
    return "" if os.geteuid() == 0 else "sudo "
