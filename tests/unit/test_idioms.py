"""A fix in the words of the language: what to call for the file and for its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.findings.finding import AddedSync, Finding, FindingKind, Fix, Location, SavedState, StackFrame
from powercut.findings.idioms import how_to

STATE = SavedState("xfs", 0, 0, "issued", ())


def finding_at(
    file: str | None, *what: str, inside: tuple[StackFrame, ...] = (), asked: str = "", process: str = ""
) -> Finding:
    frames = (*inside, StackFrame("save", file, 3))
    lost = Location(file, 3, "save", "lost", "the write", frames, asked=asked, process=process)
    survived = Location(file, 4, "save", "survived", "the rename", frames)
    syncs = tuple(AddedSync(one, 1, 2) for one in what)
    kind, fix = FindingKind.UNPERSISTED, Fix("call fsync", True, "model", syncs)
    return Finding(kind, "words", [lost, survived], fix, [], [], STATE, "fail", 1, "")


PROMISES = (StackFrame("write", "node:internal/fs/promises", 741),)
STREAM = (StackFrame("java.io.FileOutputStream.writeBytes", "java/io/FileOutputStream.java", 0),)
WRITER = (*STREAM, StackFrame("sun.nio.cs.StreamEncoder.implFlush"), StackFrame("java.io.OutputStreamWriter.flush"))
BOTH = (StackFrame("java.io.RandomAccessFile.writeBytes"),)
MOVE = (StackFrame("sun.nio.fs.UnixCopyFile.move"), StackFrame("java.nio.file.Files.move"))
FILEBUF = (StackFrame("std::basic_filebuf<char, std::char_traits<char> >::sync()"),)


@pytest.mark.parametrize(
    ("finding", "told"),
    [
        (finding_at("/a.py", "data"), "in Python: f.flush(), then os.fsync(f.fileno())"),
        (finding_at("/a.py", "directory"), "in Python: d = os.open(folder, os.O_RDONLY); os.fsync(d); os.close(d)"),
        (finding_at("/a.js", "file"), "in Node: fs.fsyncSync(fd)"),
        (finding_at("/a.js", "data", asked="save, a.js:3"), "in Node: fs.fdatasync(fd, done)"),
        (finding_at("/a.mjs", "data", inside=PROMISES, asked="x"), "in Node: await handle.datasync()"),
        (finding_at("/a.ts", "file", "data", inside=PROMISES, asked="x"), "in Node: await handle.sync()"),
        (finding_at("a/A.java", "file"), "in Java: channel.force(true) of a FileChannel"),
        (finding_at("a/A.java", "data", inside=STREAM), "in Java: file.flush(), then file.getFD().sync()"),
        (
            finding_at("a/A.java", inside=MOVE),
            "in Java: Files.move(new, old, StandardCopyOption.ATOMIC_MOVE) does not remove the old file first",
        ),
        (finding_at("a/A.java", inside=STREAM), ""),
        (finding_at("a/A.java", "file", inside=BOTH), "in Java: file.getFD().sync()"),
        (
            finding_at("a/A.java", "file", inside=WRITER),
            "in Java: flush(), then getFD().sync() of the FileOutputStream below (writers and other streams have none)",
        ),
        (finding_at("/a.go", "data"), "in Go: f.Sync()"),
        (finding_at("/a.rs", "file", "directory"), "in Rust: file.sync_all()?; and File::open(folder)?.sync_all()?"),
        (finding_at("/a.c", "data", inside=(StackFrame("fflush"),)), "in C: fflush(f), then fdatasync(fileno(f))"),
        (finding_at("/a.c", "data", inside=(StackFrame("write"),)), ""),
        (finding_at("/a.c", "lines"), ""),
        (
            finding_at("/a.cc", "file", inside=FILEBUF),
            "in C++: stream.flush(), then open the file again and fsync that descriptor (a stream has none)",
        ),
        (finding_at("/a.rb", "data"), "in Ruby: f.flush, then f.fdatasync"),
        (finding_at("/a.pl", "file"), "in Perl: $f->flush, then $f->sync (use IO::Handle)"),
        (finding_at(None, "file", process="php8.2 a.php"), "in PHP: fsync($f)"),
        (finding_at(None, "data", "directory", process="/bin/mv a b"), "in a shell: sync -d FILE; and sync FOLDER"),
        (finding_at(None, "file", process="/opt/server"), ""),
        (finding_at("/a.zig", "file"), ""),
        (finding_at(None, "file"), ""),
        (finding_at("/a.py"), ""),
        (
            finding_at(None, "file", inside=(StackFrame("std::fs::write::inner"),), process="/a"),
            "in Rust: file.sync_all()?",
        ),
        (finding_at(None, "data", inside=(StackFrame("fflush"),)), "in C: fflush(f), then fdatasync(fileno(f))"),
        (finding_at("/a.go", "data", inside=(StackFrame("fflush"),)), "in C: fflush(f), then fdatasync(fileno(f))"),
    ],
)
def test_a_fix_says_what_to_call(finding: Finding, told: str) -> None:
    assert how_to(finding) == told


def test_what_is_written_through_a_descriptor_of_python_needs_no_flush(tmp_path: Path) -> None:
    for text, told in (
        ("os.write(fd, data)", "os.fsync(fd)"),
        ("file.write(x)", "f.flush(), then os.fsync(f.fileno())"),
    ):
        source = tmp_path / f"{len(text)}.py"
        source.write_text(f"import os\ndef save(fd, file, x):\n    {text}\n")
        assert how_to(finding_at(str(source), "data")) == f"in Python: {told}"
