"""How a sync is called in the language of the line that lacks it.

Before: a finding whose fix adds syncs. After: the call in the words of that language, or nothing where the name of the
system call says it already (C with descriptors), or where nobody knows the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath

from powercut.findings.finding import Finding, Location
from powercut.findings.sources import sources
from powercut.quick_dataclass import dataclass

_FILE, _DATA, _FOLDER = "file", "data", "directory"  # what AddedSync says
_ORDER = "order"  # no sync helps
_DESCRIPTOR = re.compile(r"\bos\.(p?writev?|f?truncate|posix_fallocate|sendfile|copy_file_range)\(")
_STDIO = ("fflush", "fwrite", "fputs", "fputc", "putc", "puts", "fclose", "fprintf", "vfprintf", "_IO_")
_RUST = ("std::rt::", "std::sys::", "std::fs::", "std::thread::", "<std::", "<alloc::", "core::ops::", "alloc::")
_STREAMS = ("std::basic_filebuf", "std::basic_ofstream", "std::basic_fstream", "std::ostream", "std::basic_ostream")
_JAVA_ABOVE = (
    "sun.nio.cs.StreamEncoder.",
    "java.io.PrintStream.",
    *(f"java.io.{name}OutputStream." for name in ("Buffered", "Data", "Filter", "Object")),
)


@dataclass(frozen=True, slots=True)
class _Language:
    title: str
    suffixes: tuple[str, ...]
    calls: Callable[[str, Location, Finding], str]


def how_to(finding: Finding) -> str:
    """What to call, like "in Go: f.Sync()"; empty if there is nothing to say."""
    if finding.fix is None:
        return ""
    place = next((place for place in finding.locations if place.role in ("lost", "missing")), None)
    language = _language(place) if place is not None else None
    if place is None or language is None:
        return ""
    wanted = dict.fromkeys(sync.what for sync in finding.fix.syncs) or {_ORDER: None}
    if _FILE in wanted:
        wanted.pop(_DATA, None)
    calls = [call for what in wanted if (call := language.calls(what, place, finding))]
    return f"in {language.title}: {'; and '.join(calls)}" if calls else ""


def _language(place: Location) -> _Language | None:
    """By the file's name, or else by the program in its first line or the command line, or else by what it calls."""
    suffix = PurePath(place.file or "").suffix
    if suffix == ".go" and _calls_any(place, _STDIO):
        return _LANGUAGE_NAMED["C"]  # through cgo
    known = next((language for language in _LANGUAGES if suffix in language.suffixes), None)
    first = "".join(sources().lines(place.file)[:1])
    programs = first.removeprefix("#!").split()[:3] if first.startswith("#!") else place.process.split()[:1]
    for program in programs if known is None else ():  # "/usr/bin/env -S perl"
        name = PurePath(program).name
        known = known or next((language for names, language in _PROGRAMS if names.fullmatch(name)), None)
    return known or _language_of_frames(place)


def _language_of_frames(place: Location) -> _Language | None:
    """Of a compiled program without lines: its functions tell the language, as far as that must be known."""
    if place.file is not None:
        return None
    for beginnings, title in ((_RUST, "Rust"), (_STREAMS, "C++"), (_STDIO, "C")):
        if _calls_any(place, beginnings):
            return _LANGUAGE_NAMED[title]
    return None


def _calls_any(place: Location, beginnings: tuple[str, ...]) -> bool:
    return any(frame.function.startswith(beginnings) for frame in place.frames)


def _python(what: str, place: Location, finding: Finding) -> str:
    if what == _FOLDER:
        return "d = os.open(folder, os.O_RDONLY); os.fsync(d); os.close(d)"
    if what not in (_FILE, _DATA):
        return ""
    lines = sources().lines(place.file)
    text = lines[place.line - 1] if place.line and place.line <= len(lines) else ""
    return "os.fsync(fd)" if _DESCRIPTOR.search(text) else "f.flush(), then os.fsync(f.fileno())"


def _node(what: str, place: Location, finding: Finding) -> str:
    frames = [frame for there in finding.locations for frame in there.frames]
    promises = any(
        "node:internal/fs/promises" in (frame.file or "") for frame in frames
    )  # a write's may have left none
    if what == _FOLDER and promises:
        return "d = await fs.promises.open(folder, 'r'); await d.sync(); await d.close()"
    if what == _FOLDER and place.asked:
        return "fs.open(folder, 'r', (e, d) => fs.fsync(d, () => fs.close(d, done)))"
    if what == _FOLDER:
        return "d = fs.openSync(folder, 'r'); fs.fsyncSync(d); fs.closeSync(d)"
    name = "fsync" if what == _FILE else "fdatasync" if what == _DATA else ""
    if promises and name:
        return f"await handle.{name.replace('fsync', 'sync').replace('fdatasync', 'datasync')}()"
    return f"fs.{name}(fd, done)" if name and place.asked else f"fs.{name}Sync(fd)" if name else ""


def _ruby(what: str, place: Location, finding: Finding) -> str:
    calls = {_FOLDER: "File.open(folder) { |d| d.fsync }", _FILE: "f.fsync", _DATA: "f.flush, then f.fdatasync"}
    return calls.get(what, "")


def _perl(what: str, place: Location, finding: Finding) -> str:
    if what == _FOLDER:
        return "use IO::Handle; sysopen my $d, $folder, 0; $d->sync"
    return "$f->flush, then $f->sync (use IO::Handle)" if what in (_FILE, _DATA) else ""


def _php(what: str, place: Location, finding: Finding) -> str:
    calls = {_FOLDER: "$d = fopen($folder, 'r'); fsync($d); fclose($d)", _FILE: "fsync($f)", _DATA: "fdatasync($f)"}
    return calls.get(what, "")


def _shell(what: str, place: Location, finding: Finding) -> str:
    return {_FOLDER: "sync FOLDER", _FILE: "sync FILE", _DATA: "sync -d FILE"}.get(what, "")


def _java(what: str, place: Location, finding: Finding) -> str:
    if what == _ORDER and all(_calls_any(there, ("java.nio.file.Files.move",)) for there in finding.locations):
        return "Files.move(new, old, StandardCopyOption.ATOMIC_MOVE) does not remove the old file first"
    if what == _FOLDER:
        return "try (var d = FileChannel.open(folder)) { d.force(true); }"
    if what in (_FILE, _DATA) and _calls_any(place, ("java.io.RandomAccessFile.",)):
        return "file.getFD().sync()"
    if what in (_FILE, _DATA) and _calls_any(place, ("java.io.FileOutputStream.",)):
        if _calls_any(place, _JAVA_ABOVE):
            return "flush(), then getFD().sync() of the FileOutputStream below (writers and other streams have none)"
        return "file.flush(), then file.getFD().sync()"
    return {_FILE: "channel.force(true) of a FileChannel", _DATA: "channel.force(false) of a FileChannel"}.get(what, "")


def _go(what: str, place: Location, finding: Finding) -> str:
    calls = {_FOLDER: "d, err := os.Open(folder); d.Sync(); d.Close()", _FILE: "f.Sync()", _DATA: "f.Sync()"}
    return calls.get(what, "")


def _rust(what: str, place: Location, finding: Finding) -> str:
    calls = {_FOLDER: "File::open(folder)?.sync_all()?", _FILE: "file.sync_all()?", _DATA: "file.sync_data()?"}
    return calls.get(what, "")


def _c(what: str, place: Location, finding: Finding) -> str:
    if what == _FOLDER:
        return "int d = open(folder, O_RDONLY | O_DIRECTORY); fsync(d); close(d)"
    stdio = _calls_any(place, _STDIO) and what in (_FILE, _DATA)
    return f"fflush(f), then {'fsync' if what == _FILE else 'fdatasync'}(fileno(f))" if stdio else ""


def _cpp(what: str, place: Location, finding: Finding) -> str:
    if what in (_FILE, _DATA) and _calls_any(place, _STREAMS):
        return "stream.flush(), then open the file again and fsync that descriptor (a stream has none)"
    return _c(what, place, finding)


_LANGUAGES = (
    _Language("Python", (".py", ".pyw"), _python),
    _Language("Node", (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx"), _node),
    _Language("Java", (".java",), _java),
    _Language("Go", (".go",), _go),
    _Language("Rust", (".rs",), _rust),
    _Language("Ruby", (".rb", ".ru", ".rake"), _ruby),
    _Language("Perl", (".pl", ".pm", ".t"), _perl),
    _Language("PHP", (".php",), _php),
    _Language("a shell", (".sh", ".bash"), _shell),
    _Language("C", (".c", ".h"), _c),
    _Language("C++", (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".C"), _cpp),
)
_LANGUAGE_NAMED = {language.title: language for language in _LANGUAGES}
_PROGRAMS = tuple(
    (re.compile(names), _LANGUAGE_NAMED[title])
    for names, title in (
        (r"node(js)?", "Node"),
        (r"python[\d.]*", "Python"),
        (r"java", "Java"),
        (r"ruby[\d.]*", "Ruby"),
        (r"perl[\d.]*", "Perl"),
        (r"php[\d.]*", "PHP"),
        (r"(ba|da|z|k|a)?sh|busybox|mv|cp|ln|rm|mkdir|touch|tee|dd|cat|install|rsync|sed|truncate|tar|gzip", "a shell"),
    )
)
"""Of whose lines nothing is known: the program that made the call."""
