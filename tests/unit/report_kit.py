"""Saved runs for tests of reports: one as it comes, and one in which every text is what an attacker would write."""

from __future__ import annotations

import os
from pathlib import Path

from powercut.findings.finding import Finding, FindingKind, Fix, Location, SavedState, StackFrame
from powercut.lint.misuse import make_misuse
from powercut.lint.patterns import RENAME_UNSYNCED
from powercut.report.formats import Setting
from powercut.runs.store import SavedRun, save_run

ROOT = Path(__file__).resolve().parents[2]
SOURCE = str(ROOT / "corpus" / "demo" / "settings.py")
SAVED_AT = 1_700_000_000.0
STATE = SavedState("ext4-ordered", 4096, 9, "issued", (1,))
HOSTILE = os.fsdecode(
    b"</script><img src=x onerror=alert(1)>\"'`|\n::error::x\r\x1b[2J\x00\xff\xe2\x98\x83 ]]>&amp; @you #1 %"
)


def sample_run() -> SavedRun:
    """Two findings, one of them known, and a misuse, in a file that exists."""
    lost = place(8, "lost", "the write of 30 bytes to settings.json.new")
    renamed = place(10, "survived", "the rename of settings.json.new to settings.json")
    first = finding("4b9265cf", FindingKind.UNPERSISTED, [lost, renamed], "call fdatasync(settings.json.new)")
    second = finding("506f920b", FindingKind.DURABILITY, [place(10, "lost", "the rename")], "call fsync")
    second.known = "the user can save again"
    misuse = make_misuse(RENAME_UNSYNCED, [place(10, "renamed", ""), place(8, "written", "")], 1, 0, ["settings.json"])
    misuse.id = "c68fe6b9"
    return SavedRun(
        version="1.2.3",
        command=["python3", "settings.py"],
        folder="/data",
        findings=[first, second],
        misuses=[misuse],
        states={"tested": 8, "equal": 2, "total": 10, "exhausted": True},
        model="ext4-ordered",
        seconds=1.5,
        notes=["fifos are not copied: data/pipe"],
    )


def hostile_run(text: str = HOSTILE) -> SavedRun:
    """The same with a text from outside wherever one can be."""
    run = sample_run()
    where = Location(f"/{text}", 3, text, "lost", text, (StackFrame(text, f"/{text}", 3), StackFrame(text)))
    for one in (*run.findings, *run.misuses):
        one.message, one.locations = text, [where]
    for one in run.findings:
        one.output, one.replay, one.fix, one.lost, one.recovery = text, text, Fix(text, True), [text], (text,)
        one.known = text if one.known else None
    run.misuses[0].files, run.misuses[0].advice = [text], text
    run.command, run.folder, run.notes, run.model = [text], text, [text], text
    return run


def setting_of(run: SavedRun, folder: Path) -> Setting:
    """Where a run stands, saved at a fixed moment."""
    save_run(folder, run)
    os.utime(folder / "run.json", (SAVED_AT, SAVED_AT))
    return Setting(ROOT, folder)


def place(line: int, role: str, what: str) -> Location:
    """A line of the demo, with a stack as the tracer gives one."""
    library = StackFrame("__libc_write", "sysdeps/write.c", 26)
    frames = (library, StackFrame("save", SOURCE, line), StackFrame("<module>", SOURCE, 14))
    return Location(SOURCE, line, "save", role, what, frames)


def finding(name: str, kind: FindingKind, locations: list[Location], fix: str) -> Finding:
    """A finding of the check's word alone."""
    words = f"If a power cut loses {locations[0].what}, the check fails."
    made = Finding(kind, words, locations, Fix(fix, True), [locations[0].what], [], STATE, "fail", 1, "not readable\n")
    made.models, made.id, made.replay = ["ext4-ordered"], name, f"powercut replay 0001/{name}"
    return made
