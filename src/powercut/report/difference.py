"""How a failing image differs from the folder that the program would have left without the crash."""

from __future__ import annotations

from powercut.findings.finding import Finding
from powercut.findings.saved_timeline import timeline_of
from powercut.image.state_image import StateImage, files_of
from powercut.printable import counted, one_line
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.trace.reader import Trace

_SHOWN = 48  # bytes of content shown


def image_difference(trace: Trace, finding: Finding) -> str:
    """Every file of the image that is not as it stood, unlost, at the moment of the crash."""
    timeline = timeline_of(trace, finding.state)
    state = finding.state.state()
    crashed = StateImage(timeline, state)
    whole = StateImage(timeline, State(state.point, Base.ISSUED, frozenset()))
    names = {**files_of(whole), **files_of(crashed)}
    lines = ["  the folder after the crash, compared with the moment before it:"]
    for path in sorted(names):
        before, after = _content(whole, files_of(whole).get(path)), _content(crashed, files_of(crashed).get(path))
        if before != after:
            lines.append(f"    {one_line(path.decode('utf-8', 'replace'))}: {_show(after)} (before: {_show(before)})")
    if len(lines) == 1:
        lines.append("    no difference: nothing was lost")
    return "\n".join(lines)


def _content(image: StateImage, obj: int | None) -> bytes | None:
    if obj is None:
        return None
    kind = image.kind(obj)
    if kind is ObjectKind.FILE:
        return image.read(obj, 0, image.size(obj))
    return b"folder" if kind is ObjectKind.FOLDER else image.target(obj)


def _show(content: bytes | None) -> str:
    if content is None:
        return "missing"
    if not content:
        return "empty"
    shown = repr(content[:_SHOWN])[1:]
    return f"{counted(len(content), 'byte')} {shown}{'...' if len(content) > _SHOWN else ''}"
