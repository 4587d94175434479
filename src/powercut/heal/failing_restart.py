"""Running the failing restart on copies of the pool's folder.

Before: the folder of a pool, and the command that restarts the service on it and judges it. After each run: the copy is
gone, and the folder is as it was. A run is plain, or in the memory tracer: then it also tells which bytes of the pool
reached the fault, or which were touched at all.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from powercut.errors import EnvironmentFailure
from powercut.heal.later_process import failed_later
from powercut.heal.progress import LOOK, Progress, Spin
from powercut.heal.taint import Fault, LabelRange, LabelsBoard, Thread
from powercut.native_programs import call_tracer
from powercut.programs import find_program
from powercut.quick_dataclass import dataclass
from powercut.record.private_copy import PrivateCopy
from powercut.record.recorder import TRACER_FAILED
from powercut.record.tracers import require_memory_tool
from powercut.trace.reader import Trace
from powercut.trace.symbols import Frame, StackResolver

TRACING_TAKES = 30  # times as long as a plain run, at most
_SLOWER = 4  # so much longer a loop is watched there
HANGS_SOON = 3  # a restart that hangs gets that many times its time-out: it hangs long before
_TRACE = "trace"  # its file among the notes of a run
Prepare = Callable[[Path], object]  # gets the copy's folder before the command runs
Label = Callable[[Path], Sequence[LabelRange]]  # says which bytes of the copy have which numbers


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of the command.

    Attributes:
        how: "exited", "signaled" or "hung".
        said: the end of what it printed.
        is_guess: that it hangs was seen before its time was over.
    """

    how: str
    code: int
    seconds: float
    said: str = ""
    is_guess: bool = False

    @property
    def healed(self) -> bool:
        """Whether the service is well."""
        return self.how == "exited" and self.code == 0

    def resembles(self, other: Attempt) -> bool:
        """Whether it failed as the other one did."""
        return (self.how, self.code) == (other.how, other.code)

    def __str__(self) -> str:
        if self.is_guess:
            return f"went round in a loop again, and was ended after {self.seconds:.0f} s"
        if self.how == "hung":
            return f"did not end within {self.seconds:.0f} s"
        return f"exited with status {self.code}" if self.how == "exited" else f"was killed by signal {self.code}"


@dataclass(frozen=True, slots=True)
class Origins:
    """What the bytes of the pool led to in a run under taint.

    Attributes:
        incomplete: some sets of labels are too small.
        loaded: when each number was loaded last; larger is later.
        later: the process that failed after the one that used the pool had ended well, None: there is none.
        stacks: where it failed, or where its threads were last, if that was asked for; what is nearest first.
    """

    attempt: Attempt
    faults: list[Fault]
    threads: list[Thread]
    incomplete: bool
    loaded: Mapping[int, int]
    later: str | None
    stacks: list[tuple[Frame, ...]]


@dataclass(frozen=True, slots=True)
class Touches:
    """What of the pool the command's own code touched.

    Attributes:
        plain: how the command ended when nobody looked.
        attempt: how it ended when its touches were seen.
        marked: the program said where its recovery begins and ends: only that counts.
    """

    plain: Attempt
    attempt: Attempt
    numbers: frozenset[int]
    marked: bool


class FailingRestart:
    """Runs of one command on copies of one folder."""

    def __init__(self, folder: Path, command: Sequence[str], cwd: Path, timeout: float, skip: Sequence[Path]) -> None:
        self._folder = folder
        self._command = [find_program(command[0], cwd), *command[1:]]
        self._cwd = cwd
        self._timeout = timeout
        self._skip = tuple(skip)
        self._spin: Spin | None = None  # what the first run showed, if it hung in a loop

    def attempt(self, prepare: Prepare, *, patient: bool = False) -> Attempt:
        """A plain run; if it hangs as the first one did, it need not take all its time, unless one is `patient`."""
        with self._copy() as copy, _notes() as notes:
            prepare(copy.path)
            enough = self._spin.enough if self._spin is not None and not patient else None
            return self._run(copy, Path(notes), [], (), self._timeout, enough)

    def explain(self, first: Attempt, label: Label, *, stacks: bool = False) -> Origins:
        """A run under taint, after a plain one. With `stacks`, it tells where it failed, too."""
        with self._copy() as copy, _notes() as notes, LabelsBoard(label(copy.path)) as board:
            attempt = self._trace(copy, Path(notes), board, first)
            faults, threads = board.faults(), board.threads()
            where = _stacks(Path(notes) / _TRACE, faults, threads) if stacks else []
            ended = attempt.how != "hung" and not faults
            later = failed_later(Trace.open(Path(notes) / _TRACE, opened=False), board.owner) if ended else None
            return Origins(attempt, faults, threads, bool(board.lost or board.refused), board.loaded(), later, where)

    def touches(self, label: Label) -> Touches:
        """A run that tells which of the labelled bytes matter to the command at all."""
        plain = self.attempt(lambda _: None)
        with (
            self._copy() as copy,
            _notes() as notes,
            LabelsBoard(label(copy.path), faults=False, touches=True, nodes=1) as board,
        ):
            attempt = self._trace(copy, Path(notes), board, plain)
            return Touches(plain, attempt, board.touched(), bool(board.recoveries))

    def _trace(self, copy: PrivateCopy, notes: Path, board: LabelsBoard, first: Attempt) -> Attempt:
        """A run in the memory tracer, which reads and writes the board, after a plain one."""
        patience = self._timeout * (HANGS_SOON if first.how == "hung" else TRACING_TAKES)
        tool = require_memory_tool(Path(self._cwd, self._command[0]))
        given = ["--memory-tool", str(tool), "--board", f"labels={board.descriptor}"]
        enough = _SLOWER * self._spin.enough if self._spin is not None else None
        return self._run(copy, notes, given, (board.descriptor,), patience, enough)

    def _copy(self) -> PrivateCopy:
        return PrivateCopy(self._folder, None, self._skip, in_view=True)

    def _run(
        self,
        copy: PrivateCopy,
        notes: Path,
        more: Sequence[str],
        given: Sequence[int],
        timeout: float,
        enough: float | None,
    ) -> Attempt:
        """Run the command where the copy is shown in the folder's place.

        `enough`: after so much processor time without any sign it hangs; None: only after its time.
        """
        trace, out, err = (notes / name for name in (_TRACE, "out", "err"))
        argv = [str(call_tracer()), "--output", str(trace), "--dir", str(self._folder), "--view", str(copy.path)]
        argv += ["--cwd", str(self._cwd), "--stdout", str(out), "--stderr", str(err), *more, "--", *self._command]
        began = time.monotonic()
        process = subprocess.Popen(
            argv, env=_environment(self._cwd), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=given
        )
        try:
            told, last = _until_end(process, began + timeout, enough)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        if told is None:
            process.kill()  # what it runs ends with it
            process.communicate()
            seconds = time.monotonic() - began
            is_guess = seconds < timeout
            if not (given or is_guess) and last.is_one:
                self._spin = last
            return Attempt("hung", 0, seconds, _tail(err, out), is_guess)
        failed = process.returncode == TRACER_FAILED
        ending = b"" if failed else Trace.open(trace, opened=False).meta.get("exit", b"")
        how, _, code = ending.decode("ascii", "replace").partition(" ")
        if how not in ("exited", "signaled"):
            words = told.decode("utf-8", "replace").strip() or _tail(err, out) or "it ended in an unknown way"
            raise EnvironmentFailure("heal-run", f"cannot run the command: {words}.", "Nothing was changed.")
        return Attempt(how, int(code), time.monotonic() - began, _tail(err, out))


def _until_end(process: subprocess.Popen[bytes], deadline: float, enough: float | None) -> tuple[bytes | None, Spin]:
    """What the tracer says at its end; None: its time is over, or it hangs. And what was seen of it last."""
    progress, seen = Progress(process.pid), Spin(0.0, 0.0)
    while True:
        left = deadline - time.monotonic()
        try:
            return process.communicate(timeout=max(0.0, min(LOOK, left)))[1], seen
        except subprocess.TimeoutExpired:
            if left <= LOOK:
                return None, seen
        seen = progress.look()
        if enough is not None and seen.quiet >= enough:
            return None, seen


def _notes() -> tempfile.TemporaryDirectory[str]:
    """A folder for what a run leaves: its trace and what it says."""
    return tempfile.TemporaryDirectory(prefix="powercut-heal-")


def _stacks(trace: Path, faults: Sequence[Fault], threads: Sequence[Thread]) -> list[tuple[Frame, ...]]:
    """Where each fault was, or if there are none, each thread: its calls, then where its last branches were.

    A service that ends by itself may do so when all its own functions have returned.
    """
    last = [(fault.stack, fault.thread) for fault in faults] or [(0, thread) for thread in threads]
    resolver = StackResolver.of(Trace.open(trace, opened=False))
    resolver.prepare(branch.stack for _, thread in last for branch in thread.branches)
    return [
        (*resolver.frames(stack), *(frame for branch in thread.branches for frame in resolver.frames(branch.stack)[:1]))
        for stack, thread in last
    ]


def _environment(cwd: Path) -> Mapping[str, str]:
    return {"PMEM_IS_PMEM_FORCE": "1", **os.environ, "PWD": str(cwd)}


def _tail(*files: Path) -> str:
    for file in files:
        text = file.read_bytes()[-2000:].decode("utf-8", "replace").strip() if file.exists() else ""
        if text:
            return text
    return ""
