"""A check command as an oracle: its exit status is the verdict.

Before ``judge``: the data folder holds an image. After: the command has run in it and nothing of it runs any more. The
command finds the folder in POWERCUT_DIR and, in the files that POWERCUT_ACKED and POWERCUT_SENT name, what the program
had printed and what it had sent over sockets before the power cut. Where the image cannot be shown in the data folder's
own place, the folder's path in the command's arguments is replaced by that of the copy.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from powercut.oracle.backtrace import DeathWatch
from powercut.oracle.forked_check import Ending, ForkedCheck, Launch
from powercut.oracle.image_queries import Ask
from powercut.oracle.output_files import WordFile
from powercut.oracle.protocol import Place, Recorded, Told
from powercut.oracle.read_watcher import ReadWatcher, verdict_in
from powercut.oracle.verdict import Outcome, Verdict

_MORE_SLACK = 0.8  # of the slack, for a command inside Valgrind: ending it takes little
_OUTCOMES = {"signal": Outcome.CRASH, "timeout": Outcome.HANG, "error": Outcome.ERROR}


class CommandOracle:
    """Judges an image by running a command in it.

    Attributes:
        slack: seconds that ending a command that hangs may take on top of its time-out.
    """

    slack = 10.0

    def __init__(
        self,
        argv: Sequence[str],
        timeout: float,
        env: Mapping[str, str] | None = None,
        *,
        closely: bool = False,
        forks: bool = False,
    ) -> None:
        """`closely`: a check that is watched may take many times as long if that shows more.

        `forks`: it may be started once and forked for each state.
        """
        if not argv:
            raise ValueError("a check command needs a program")
        self.argv = list(argv)
        self.timeout = timeout
        self._closely = closely
        self._may_fork = forks
        self._env = dict(os.environ if env is None else env)
        self._program = find_program(argv[0], self._env.get("PATH"))

    def mentions(self, data_dir: Path) -> bool:
        """Whether the arguments name the data folder, so that they must be changed where views are not possible."""
        return substitute_path(self.argv, data_dir, Path("/")) != self.argv

    def open(self, place: Place) -> None:
        """Get ready to run in a worker."""
        argv, program = self.argv, self._program
        if place.folder != place.data_dir:
            argv = substitute_path(argv, place.data_dir, place.folder)
            program = substitute_path([program], place.data_dir, place.folder)[0]
        self._printed, self._sent = WordFile(place.scratch / "acked"), WordFile(place.scratch / "sent")
        self._cwd = os.fsencode(place.folder)
        env = {**self._env, "POWERCUT_DIR": str(place.folder), "PWD": str(place.folder)}
        env |= {"POWERCUT_ACKED": str(self._printed.path), "POWERCUT_SENT": str(self._sent.path)}
        self._launch = Launch(
            os.fsencode(program),
            [os.fsencode(argument) for argument in argv],
            [os.fsencode(f"{name}={value}") for name, value in env.items()],
            self._cwd,
            os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC),
            os.memfd_create("powercut-output", os.MFD_CLOEXEC),
        )
        self._forks = ForkedCheck(self._launch, place.folder, place.scratch) if self._may_fork else None
        self._forked = False
        self._watch = DeathWatch(place.scratch)
        self._lookout = ReadWatcher(place.scratch, place.folder, closely=self._closely, layered=place.layered)

    def judge(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """Run the command, or a fork of it; its end is the verdict."""
        if self._forks is not None:
            self._hold(told)
            ending = self._forks.run(self.timeout, tick)
            if ending is not None:
                self._forked = True
                return self._verdict(ending, self._launch)
        return self.judge_anew(folder, told, tick)

    def judge_anew(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """Start the command; its end is the verdict."""
        self._forked = False
        verdict = self._run(self._launch, told, tick)
        if self._forks is not None and verdict.outcome in (Outcome.PASS, Outcome.FAIL):
            self._forks.ran_plainly(verdict.seconds)
        return verdict

    @property
    def forked(self) -> bool:
        """Whether the last verdict is that of a fork."""
        return self._forked

    def must_be_proved(self, verdict: Verdict) -> bool:
        """Whether this verdict of a fork must be compared with that of a check that was started anew."""
        return self._forks is not None and self._forks.must_be_proved(verdict)

    def stop_forking(self, why: str) -> None:
        """Start the command for each state from now on."""
        if self._forks is not None:
            self._forks.give_up(why)

    def judge_traced(self, folder: Path, told: Told, tick: Callable[[], object] | None = None) -> Verdict:
        """Run the command under the tracer, which itself ends well whatever the command does; only the stack counts."""
        verdict = self._run(self._inside(self._watch.command), told, tick)
        return replace(verdict, stack=self._watch.frames())

    def judge_watched(
        self, folder: Path, told: Told, tick: Callable[[], object] | None = None
    ) -> tuple[Verdict, Recorded | None]:
        """Run the command under the tracer, which notes what it looks at."""
        inside = self._lookout.inside is not None
        launch = self._inside(self._lookout.command)
        verdict = self._run(launch, told, tick, _MORE_SLACK * self.slack if inside else 0.0)
        if inside and verdict.outcome is Outcome.HANG:
            self._lookout.go_outside()
            return Verdict(Outcome.ERROR, 0, "it takes too long inside Valgrind", verdict.seconds), None
        trace = self._lookout.trace()
        if trace is None or not verdict.passed:
            return verdict, None
        words = {file.inode: ask for file, ask in ((self._printed, Ask.PRINTED), (self._sent, Ask.SENT))}
        return verdict_in(trace, verdict), Recorded(trace, words)

    def _inside(self, tracer: Callable[[list[bytes], bytes], list[bytes]]) -> Launch:
        """How it is started by a tracer."""
        argv = tracer([self._launch.path, *self._launch.argv[1:]], self._cwd)
        return replace(self._launch, path=argv[0], argv=argv)

    def _run(self, launch: Launch, told: Told, tick: Callable[[], object] | None, more: float = 0.0) -> Verdict:
        self._hold(told)
        return self._verdict(launch.run(self.timeout + more, tick), launch)

    def _hold(self, told: Told) -> None:
        self._printed.hold(told.printed)
        self._sent.hold(told.sent)

    def _verdict(self, ending: Ending, launch: Launch) -> Verdict:
        kind, code, seconds, output = ending
        text = output.decode(errors="replace") if output else ""
        if kind == "exit":
            return Verdict(Outcome.PASS if code == 0 else Outcome.FAIL, code, text, seconds)
        if kind == "error":
            text = f"cannot start {os.fsdecode(launch.path)}: {os.strerror(code)}"
        return Verdict(_OUTCOMES[kind], code, text, seconds)


def find_program(name: str, path: str | None) -> str:
    """The program a name stands for, found once; a name that stands for none is left for the start to fail on."""
    if os.sep in name:
        return str(Path(name).absolute())
    return shutil.which(name, path=path) or name


def substitute_path(argv: Sequence[str], folder: Path, copy: Path) -> list[str]:
    """Arguments in which a folder's path is replaced, but only where it stands as a whole path."""
    border = re.compile(rf"(?<![\w./-]){re.escape(str(folder))}(?=$|[/\s:;,'\")\]}}])")
    return [border.sub(lambda _: str(copy), argument) for argument in argv]
