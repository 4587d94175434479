"""Commands for this machine that fix what `doctor` finds missing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import powercut

_INSTALLERS = {
    "apt-get": "apt-get install {}",
    "dnf": "dnf install {}",
    "zypper": "zypper install {}",
    "pacman": "pacman -S {}",
    "apk": "apk add {}",
}
MORE_ROOM = "powercut test --scratch /var/tmp -- PROGRAM"
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_CHILDREN_ONLY = 1  # of Yama: what is enough for us


def install(package: str) -> str:
    """The command of this distribution that installs a package."""
    found = next((name for name in _INSTALLERS if shutil.which(name)), "apt-get")
    return _as_root(_INSTALLERS[found].format(package))


def reinstall() -> str:
    """What brings back files that are missing: in the checkout that it runs from, or from a package."""
    return _made_again() or _from_package()


def rebuild() -> str:
    """What builds powercut again, with what this machine has by now; a wheel would be as the one before."""
    return _made_again() or _from_package("--no-binary", "powercut")


def _made_again() -> str:
    """What does both in a checkout; empty elsewhere."""
    checkout = Path(powercut.__file__).resolve().parents[2]
    return f"make -C {shlex.quote(str(checkout))} clean setup" if (checkout / "Makefile").is_file() else ""


def _from_package(*options: str) -> str:
    pip = [sys.executable, "-m", "pip", "install", "--force-reinstall", "--no-cache-dir"]
    return shlex.join([*pip, *options, _origin()])


def _origin() -> str:
    """What powercut was installed from: a folder or file of the user's, as pip has noted it, or the package index."""
    from importlib.metadata import distribution  # takes long to load

    noted = distribution("powercut").read_text("direct_url.json")
    url = urlsplit(json.loads(noted)["url"] if noted else "")
    return unquote(url.path) if url.scheme == "file" else "powercut"


def allow_tracing() -> str:
    """What allows ptrace: a setting of the kernel, or else an option of the container that we must be in."""
    if _number(_YAMA) > _CHILDREN_ONLY:
        return _as_root(f"sysctl kernel.yama.ptrace_scope={_CHILDREN_ONLY}")
    return "docker run --cap-add SYS_PTRACE --security-opt seccomp=unconfined IMAGE"


def allow_namespaces() -> str:
    """What allows private mounts: the setting of the kernel that forbids them, or an option of the container."""
    kernel = Path("/proc/sys/kernel")
    if _number(kernel / "apparmor_restrict_unprivileged_userns") == 1:
        return _as_root("sysctl kernel.apparmor_restrict_unprivileged_userns=0")
    if _number(kernel / "unprivileged_userns_clone") == 0:
        return _as_root("sysctl kernel.unprivileged_userns_clone=1")
    if _number(Path("/proc/sys/user/max_user_namespaces")) == 0:
        return _as_root("sysctl user.max_user_namespaces=10000")
    return "docker run --cap-add SYS_ADMIN --security-opt apparmor=unconfined IMAGE"


def _as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"


def _number(path: Path) -> int:
    """A setting of the kernel, -1 where there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return -1
