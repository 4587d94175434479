"""A check command as an oracle: its exit status is the verdict.

Before ``judge``: the data folder holds an image. After: the command has run in it and nothing of it runs any more. The
command finds the folder in POWERCUT_DIR and, in the file that POWERCUT_ACKED names, what the program had printed
before the power cut. Where the image cannot be shown in the data folder's own place, the folder's path in the command's
arguments is replaced by that of the copy.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from powercut import _engine
from powercut.oracle.verdict import Outcome, Verdict
from powercut.run.jobs import Place

_OUTCOMES = {"signal": Outcome.CRASH, "timeout": Outcome.HANG, "error": Outcome.ERROR}


class CommandOracle:
    """Judges an image by running a command in it.

    Attributes:
        slack: seconds that ending a command that hangs may take on top of its time-out.
    """

    slack = 10.0

    def __init__(self, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None) -> None:
        if not argv:
            raise ValueError("a check command needs a program")
        self.argv = list(argv)
        self.timeout = timeout
        self._env = dict(os.environ if env is None else env)
        self._program = find_program(argv[0], self._env.get("PATH"))
        self._acked: bytes | None = None
        self._acked_seen = (0, 0, 0)

    def mentions(self, data_dir: Path) -> bool:
        """Whether the arguments name the data folder, so that they must be changed where views are not possible."""
        return substitute_path(self.argv, data_dir, Path("/")) != self.argv

    def open(self, place: Place) -> None:
        """Get ready to run in a worker."""
        argv, program = self.argv, self._program
        if place.folder != place.data_dir:
            argv = substitute_path(argv, place.data_dir, place.folder)
            program = substitute_path([program], place.data_dir, place.folder)[0]
        self._acked_path = os.fsencode(place.scratch / "acked")
        self._cwd = os.fsencode(place.folder)
        env = {**self._env, "POWERCUT_DIR": str(place.folder), "PWD": str(place.folder)}
        env["POWERCUT_ACKED"] = os.fsdecode(self._acked_path)
        self._environment = [os.fsencode(f"{name}={value}") for name, value in env.items()]
        self._arguments = [os.fsencode(argument) for argument in argv]
        self._path = os.fsencode(program)
        self._stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._output = os.memfd_create("powercut-output", os.MFD_CLOEXEC)

    def judge(self, folder: Path, acked: bytes, tick: Callable[[], object] | None = None) -> Verdict:
        """Run the command; its end is the verdict."""
        self._write_acked(acked)
        kind, code, seconds, output = _engine.spawn(
            self._path,
            self._arguments,
            self._environment,
            self._cwd,
            self._stdin,
            self._output,
            self.timeout,
            tick,
        )
        text = output.decode(errors="replace") if output else ""
        if kind == "exit":
            return Verdict(Outcome.PASS if code == 0 else Outcome.FAIL, code, text, seconds)
        if kind == "error":
            text = f"cannot start {os.fsdecode(self._path)}: {os.strerror(code)}"
        return Verdict(_OUTCOMES[kind], code, text, seconds)

    def _write_acked(self, acked: bytes) -> None:
        """Rewrite the file only when the words changed, or somebody changed the file."""
        if acked == self._acked and self._acked_state() == self._acked_seen:
            return
        fd = os.open(self._acked_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            os.write(fd, acked)
            self._acked_seen = _identity(os.fstat(fd))
        finally:
            os.close(fd)
        self._acked = acked

    def _acked_state(self) -> tuple[int, int, int]:
        try:
            return _identity(os.stat(self._acked_path))  # noqa: PTH116 - bytes, and once for each state
        except OSError:
            return (0, 0, 0)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_ctime_ns


def find_program(name: str, path: str | None) -> str:
    """The program a name stands for, found once; a name that stands for none is left for the start to fail on."""
    if os.sep in name:
        return str(Path(name).absolute())
    return shutil.which(name, path=path) or name


def substitute_path(argv: Sequence[str], folder: Path, copy: Path) -> list[str]:
    """Arguments in which a folder's path is replaced, but only where it stands as a whole path."""
    border = re.compile(rf"(?<![\w./-]){re.escape(str(folder))}(?=$|[/\s:;,'\")\]}}])")
    return [border.sub(lambda _: str(copy), argument) for argument in argv]
