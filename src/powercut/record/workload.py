"""Recording a program with the tracer that fits it, and warning about what the tracer missed.

Before: a workload and where it shall run. After: its trace, in a file; or the error that kept it from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from powercut.errors import EnvironmentFailure
from powercut.native_programs import memory_tool, why_no_memory_tool
from powercut.programs import find_program
from powercut.record.followed import not_followed
from powercut.record.late_output import kept_back
from powercut.record.recorder import Recording, RecordOptions, record_callable, record_command
from powercut.record.tracers import MapsFilesError, links_persistent_memory, mapped_files, require_memory_tool
from powercut.runtimes.known import names_agent
from powercut.trace.reader import Trace

Workload = Sequence[str] | Callable[[], object]


class Say(Protocol):
    """Tells the user something; warnings stay with the run."""

    def __call__(self, text: str, *, warning: bool = False) -> None:
        """Tell it."""


def record(workload: Workload, options: RecordOptions, tracer: str, persistent: bool, say: Say) -> Trace:
    """Record a workload; `tracer` is calls, memory or auto, `persistent` what mapped files are taken for."""
    try:
        if callable(workload):
            say(f"recording in a private copy of {options.folder}")
            recording = record_callable(workload, options)
        else:
            recording = _record_followed(workload, options, tracer, persistent, say)
    except KeyboardInterrupt:
        say("the program was still running. It must end by itself; let a server end after a few requests")
        raise
    count, _, first = recording.trace.meta.get("ignored", b"").decode("utf-8", "replace").partition(" ")
    if first:
        more = f" and {int(count) - 1} more" if int(count) > 1 else ""
        say(f"not tested, since tools make them anew or own them: {first}{more}. --no-ignore includes them")
    for note in recording.trace.notes():
        say(note, warning=True)
    for missing in not_followed(recording.trace) if "environment" in recording.trace.meta else ():
        say(missing, warning=True)
    if said := kept_back(recording.trace):
        say(said, warning=True)
    if recording.left_out:
        names = ", ".join(str(path.relative_to(options.folder)) for path in recording.left_out[:3])
        say(f"the program's copy lacks fifos, sockets and devices: {names}", warning=True)
    if recording.unexplained:
        names = ", ".join(recording.unexplained[:3]) + (" and more" if recording.unexplained[3:] else "")
        say(f"the recording of {names} is incomplete; do not trust crash states of these files", warning=True)
    return recording.trace


def _record_followed(
    command: Sequence[str], options: RecordOptions, tracer: str, persistent: bool, say: Say
) -> Recording:
    """Record with agents for runtimes; without them if the program fails because of one."""
    try:
        return _record_command(command, options, tracer, persistent, say)
    except EnvironmentFailure as failure:
        if failure.slug != "workload-failed" or not options.told() or not names_agent(str(failure)):
            raise
        recording = _record_command(command, replace(options, runtimes=False), tracer, persistent, say)
        say(
            "the program fails with powercut's agents in its environment, so it was recorded without them: findings "
            "name the script instead of lines",
            warning=True,
        )
        return recording


def _record_command(
    command: Sequence[str], options: RecordOptions, tracer: str, persistent: bool, say: Say
) -> Recording:
    """Record with the tracer that fits the program, and say which."""
    program, where = Path(options.cwd, find_program(command[0], options.cwd)), f"in a private copy of {options.folder}"
    library = links_persistent_memory(program) if tracer == "auto" else ""
    if tracer == "memory" or (library and memory_tool()):
        why = f"the program uses {library}" if library else "--tracer memory"
        say(f"recording {where}, with the memory tracer ({why})")
        return record_command(command, _with_memory(options, program, persistent))
    say(f"recording {where}")
    look_closer = tracer == "auto" and memory_tool() is not None
    try:
        recording = record_command(command, replace(options, stop_at_mapping=look_closer))
    except MapsFilesError as mapping:
        say(f"the program maps {mapping.names} for writing: restarting it with the memory tracer")
        return record_command(command, _with_memory(options, program, persistent))
    if tracer == "auto" and mapped_files(recording.trace) and not look_closer:
        say(f"the memory tracer is missing: {why_no_memory_tool()}. Run powercut doctor", warning=True)
    return recording


def _with_memory(options: RecordOptions, program: Path, persistent: bool) -> RecordOptions:
    return replace(options, memory_tool=require_memory_tool(program, replaceable=True), persistent_memory=persistent)
