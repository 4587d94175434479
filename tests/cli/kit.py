"""A small world for the command line: a folder with data, a program that saves, a check; and what must always hold.

Whatever a test does, powercut prints no traceback, leaves the user's data folder as it was, to the byte and the
nanosecond, and leaves nothing of its own in temporary folders.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

SAVE = "printf new > data/f.tmp && mv data/f.tmp data/f && echo saved"  # no sync: acknowledged, and lost
SAFE = "printf new > data/f.tmp && sync data/f.tmp && mv data/f.tmp data/f && sync data && echo saved"
CHECK = """\
content=$(cat f) || exit 1
case "$content" in
    new) ;;
    old) if grep -q saved "$POWERCUT_ACKED"; then echo "f holds $content"; exit 1; fi ;;
    *) echo "f holds $content"; exit 1 ;;
esac
"""
ROW = "ext4-nodelalloc"  # which forgives the rename of SAVE, so that its one mistake is that it says too much
MARK = "POWERCUT_TEST_WORLD"  # what all processes of a world have in their environment
LIMIT = 60.0  # seconds; far more than any test needs, so that only a hang reaches it


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run of powercut ended; paths of the test are shortened to HERE."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class World:
    """A folder to run powercut in."""

    here: Path
    env: dict[str, str] = field(default_factory=dict)
    harmless: bool = True  # the data folder must stay as it was

    @classmethod
    def make(cls, here: Path) -> World:
        """A world with an old file `data/f`, in which `sh check` accepts what it may."""
        (here / "data").mkdir()
        (here / "data" / "f").write_text("old")
        (here / "check").write_text(CHECK)
        (here / "tmp").mkdir()
        return cls(here, {**os.environ, "TMPDIR": str(here / "tmp"), "LC_ALL": "C.UTF-8", MARK: str(here)})

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.here / "data"

    def test(self, *options: str, workload: str = SAVE, check: str | None = "sh check") -> Ended:
        """`powercut test` on a shell script, on one row if nothing else is said: most tests are not about rows."""
        checks = [] if check is None else ["--check", check]
        rows = [] if "--fs" in options else ["--fs", ROW]
        return self.run("test", "--dir", "data", *checks, *rows, *options, "--", "sh", "-c", workload)

    def run(self, *arguments: str | bytes, **options: object) -> Ended:
        """Run powercut to its end, and look whether all is as it must be."""
        before = looks(self.data)
        process = self.start(*arguments, **options)
        return self.finish(process, before)

    def start(self, *arguments: str | bytes, **options: object) -> subprocess.Popen[bytes]:
        """Start powercut, in a process group of its own as a shell does."""
        given: dict[str, object] = {
            "cwd": self.here,
            "env": self.env,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "process_group": 0,
            **options,
        }
        return subprocess.Popen([sys.executable, "-m", "powercut", *arguments], **given)  # type: ignore[call-overload,no-any-return]

    def finish(self, process: subprocess.Popen[bytes], before: object) -> Ended:
        """Wait for the end."""
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        ended = Ended(process.returncode, self.shorten(out or b""), self.shorten(err or b""))
        assert "powercut/src" not in ended.err + ended.out and 'File "' + str(SOURCE) not in ended.err, ended
        assert "[bug]" not in ended.err, ended.err
        assert looks(self.data) == before or not self.harmless, "the data folder was changed"
        assert leftovers(process.pid) == []
        assert sorted((self.here / "tmp").iterdir()) == []
        return ended

    def shorten(self, text: bytes) -> str:
        """Text in which paths and what differs from run to run are shortened."""
        found = text.decode("utf-8", "replace").replace(str(self.here), "HERE")
        found = found.replace("python -m powercut", "powercut").replace(f"{Path(sys.executable).name} -m", "")
        return re.sub(r"\d+\.\d s,", "N s,", found)

    def running(self) -> list[str]:
        """The commands of all processes of this world, told by their environment; programs without their folders."""
        mine, found = os.fsencode(f"{MARK}={self.here}"), []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended meanwhile, or is another user's
                if mine in (process / "environ").read_bytes().split(b"\0"):
                    program, *arguments = (process / "cmdline").read_text(errors="replace").split("\0")
                    found.append(" ".join([Path(program).name, *arguments]).rstrip())
        return found

    def runs(self) -> list[str]:
        """Runs that were saved."""
        return sorted(path.parent.name for path in self.here.glob(".powercut/runs/*/run.json"))


SOURCE = Path(__file__).resolve().parents[2] / "src"


def looks(folder: Path) -> object:
    """Everything about a folder that its owner can see, except when it was read."""
    if not folder.is_dir() or folder.is_symlink():
        return os.path.lexists(folder)
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        regular = path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)
        content = path.read_bytes() if regular else os.readlink(path) if path.is_symlink() else None
        found[path] = (status.st_mode, status.st_ino, status.st_nlink, status.st_mtime_ns, status.st_ctime_ns, content)
    return found


def leftovers(pid: int) -> list[str]:
    """Scratch folders that a process has left in shared memory."""
    found = []
    for marker in Path("/dev/shm").glob("powercut-*/.powercut-scratch"):
        try:
            if marker.read_text().split()[1] == str(pid):
                found.append(str(marker.parent))
        except (OSError, IndexError):
            continue  # that of another run, removed meanwhile or not yet written
    return found


def wait_for(condition: object, seconds: float = 20.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
