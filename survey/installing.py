"""What the programs of the survey need: an environment and a folder of packages of their own, in build/survey.

Nothing of it is a dependency of powercut. Debian's packages are installed only if we are root, as
tools/system-packages.sh does; otherwise they are the user's to install. The programs of what is missing are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from survey.program import PYTHON, WORK, Program

SYSTEM_PYTHON = Path("/usr/bin/python3")  # the one that Debian's python3-gdbm and python3-tdb are for


def how_to_install(program: Program) -> str:
    """What a user does to have a program."""
    commands = {"apt": "apt install", "pip": "make survey installs", "npm": "make survey installs"}
    return "; ".join(f"{commands[kind]} {package}" for kind, package in program.install.items())


def install(programs: Iterable[Program]) -> None:
    """Install what the programs need; what fails is said, and its programs are skipped."""
    wanted: dict[str, list[str]] = {"apt": [], "pip": [], "npm": []}
    for program in programs:
        for kind, packages in wanted.items():
            packages += program.install.get(kind, "").split()
    install_debian(set(wanted["apt"]))
    WORK.mkdir(parents=True, exist_ok=True)
    if not PYTHON.exists():
        python = SYSTEM_PYTHON if SYSTEM_PYTHON.exists() else Path(sys.executable)
        run([str(python), "-m", "venv", "--without-pip", "--system-site-packages", str(PYTHON.parents[1])])
    quiet = ["--quiet", "--disable-pip-version-check"]
    for package in sorted(set(wanted["pip"])):
        run([sys.executable, "-m", "pip", "--python", str(PYTHON), "install", *quiet, package])
    if (packages := sorted(set(wanted["npm"]))) and shutil.which("npm"):
        (WORK / "npm").mkdir(exist_ok=True)
        run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(WORK / "npm"), *packages])


def install_debian(packages: Iterable[str]) -> None:
    """Install Debian's packages that are missing, if that can be done without asking; a line says which."""
    if not shutil.which("dpkg-query") or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    if not (missing := sorted(package for package in packages if not is_installed(package))):
        return
    print(f"survey: installing {', '.join(missing)}", flush=True)
    run(["apt-get", "update", "-qq"])
    for package in missing:  # one after the other: a package that this release does not have keeps out no other
        options = ["-o", "DPkg::Lock::Timeout=300", "-y", "-qq", "--no-install-recommends"]
        run(["apt-get", "install", *options, package], {"DEBIAN_FRONTEND": "noninteractive"})


def is_installed(package: str) -> bool:
    """Whether a package of Debian is there."""
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout == "installed"


def run(command: list[str], variables: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run an installer; its complaint is shown only if it fails."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        print(f"survey: could not install: {' '.join(command)}\n{done.stderr.strip()}", file=sys.stderr)
