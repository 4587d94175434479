"""What tells one check from another: a verdict of an earlier run counts only if the same check would be asked again.

Before: a check command as an argument list. After: a digest of its words, of the content of every file that they name,
of the shared libraries of a program among them, and of the files beside a script that it may import: those in its
folder and below that end as it does. Modules elsewhere, libraries that are opened later and most of the environment are
not seen; docs/large-runs.md says so.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

SOURCES = (".py", ".sh", ".bash", ".pl", ".rb", ".js", ".mjs", ".ts", ".lua", ".tcl", ".php", ".awk", ".R", ".jl")
MOST_FILES = 2000  # beside one script; with more, only the first ones by name are looked at
MOST_SEEN = 20_000  # entries of folders looked through for them
VARIABLES = ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "PERL5LIB", "RUBYLIB", "NODE_PATH")
_LIST_SECONDS = 10.0
_LIBRARY = re.compile(rb"(?:=> |^\s)(/.*) \(0x", re.MULTILINE)  # a line of ldd: NAME => PATH (ADDRESS)
_PARTS = re.compile(r"[\s=;,:'\"()|&<>]+")  # what stands between paths in an argument, as of sh -c or --config=FILE


def fingerprint(argv: Sequence[str], env: Mapping[str, str], facts: Mapping[str, object]) -> bytes:
    """The digest of a check; `facts` are the settings under which it is asked."""
    whole = hashlib.blake2b(digest_size=16)
    for word in argv:
        _add(whole, b"word", os.fsencode(word))
    for path in files_of(argv, env):
        _add(whole, b"file", os.fsencode(path), _content(path))
    for name in VARIABLES:
        _add(whole, b"variable", name.encode(), os.fsencode(env.get(name, "")))
    for fact, value in sorted(facts.items()):
        _add(whole, b"fact", fact.encode(), repr(value).encode("utf-8", "backslashreplace"))
    return whole.digest()


def files_of(argv: Sequence[str], env: Mapping[str, str]) -> list[Path]:
    """The files that make up a check, as far as its words tell."""
    found: dict[Path, None] = {}
    for word in argv:
        for part in dict.fromkeys([word, *_PARTS.split(word)]):
            if part.startswith("/") and _is_file(Path(part)):
                found |= dict.fromkeys([Path(part), *_beside(Path(part).resolve()), *_libraries(Path(part), env)])
    return list(found)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


def _beside(script: Path) -> list[Path]:
    """Files of the same kind in a script's folder and below: what it may import."""
    if script.suffix not in SOURCES or script.is_relative_to("/usr"):
        return []
    return sorted(_walk(script.parent, script.suffix))[:MOST_FILES]


def _libraries(program: Path, env: Mapping[str, str]) -> list[Path]:
    """The shared libraries that a program is started with, as the dynamic linker finds them."""
    try:
        with open(program, "rb") as file:
            if file.read(4) != b"\x7fELF":
                return []
        listed = subprocess.run(
            ["ldd", program], env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIST_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [Path(os.fsdecode(path)) for path in _LIBRARY.findall(listed.stdout)]


def _walk(top: Path, suffix: str) -> Iterator[Path]:
    seen = 0
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        seen += len(folders) + len(names)
        if seen > MOST_SEEN:
            return
        yield from (Path(folder, name) for name in names if name.endswith(suffix) and Path(folder, name).is_file())


def _content(path: Path) -> bytes:
    """A digest of a file; of one that cannot be read, what is known of it."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").digest()
    except OSError:
        try:
            status = path.stat()
        except OSError:
            return b"gone"
        return f"{status.st_size} {status.st_mtime_ns}".encode()


def _add(whole: hashlib.blake2b, *parts: bytes) -> None:
    for part in parts:
        whole.update(len(part).to_bytes(8, "little") + part)
