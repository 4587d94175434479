"""What the programs of the survey need: an environment and a folder of packages of their own, in build/survey.

Nothing of it is a dependency of powercut. Debian's packages are installed for root only, as by make setup; others
install them themselves. What is missing is skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from survey.program import PYTHON, WORK, Program

SYSTEM_PYTHON = Path("/usr/bin/python3")  # the one that Debian's python3-gdbm and python3-tdb are for


def how_to_install(program: Program) -> str:
    """What a user does to have a program."""
    commands = {"apt": "apt install", "pip": "make survey installs", "npm": "make survey installs"}
    return "; ".join(f"{commands[kind]} {package}" for kind, package in program.install.items())


def install(programs: Iterable[Program]) -> None:
    """Install what the programs need; what fails is said, and its programs are skipped."""
    install_from_debian(package for program in programs for package in program.install.get("apt", "").split())
    wanted: dict[str, list[str]] = {"pip": [], "npm": []}
    for program in programs:
        for kind, packages in wanted.items():
            packages += program.install.get(kind, "").split()
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


def install_from_debian(packages: Iterable[str]) -> None:
    """Install those that are missing, one by one: Debian may lack one of them, or have it in another release."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    patient = ["-o", "DPkg::Lock::Timeout=300"]
    missing = [package for package in sorted(set(packages)) if not is_installed(package)]
    if missing:
        run(["apt-get", *patient, "-qq", "update"])
    for package in missing:
        run(["apt-get", *patient, "-qq", "install", "-y", "--no-install-recommends", package])


def is_installed(package: str) -> bool:
    """Whether Debian's package manager has installed a package."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return done.stdout == "installed"


def run(command: list[str]) -> None:
    """Run an installer; its complaint is shown only if it fails. No package may ask anything."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"survey: could not install: {' '.join(command)}\n{done.stderr.strip()}", file=sys.stderr)
