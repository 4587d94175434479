"""The first `powercut.toml` and the first check of a program, written from a survey, for the user to complete.

The check accepts the folder as the program leaves it, so `powercut test` works at once. Where it is weaker than the
built-in check, which it replaces, it says so. Names and lines of the program are written as literals, and nothing else
of them gets into the files.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence

from powercut.printable import one_line
from powercut.starter.survey import Changed, Survey

CHECK = "powercut_check.py"
_MOST = 5  # files that the check opens

_HEAD = '''\
"""Checks a crashed folder: exit status 0 if everything is fine, anything else is a finding.

powercut runs this check on every state that a power cut could leave, with the crashed folder as current folder. It is
yours to change: open the data as your program does after a reboot, then test that nothing acknowledged is missing.
Print in one line what is wrong.
"""

{weaker}{imports}
from pathlib import Path

folder = Path(os.environ["POWERCUT_DIR"])
acked = Path(os.environ["POWERCUT_ACKED"]).read_text(errors="replace")  # what the program had printed before the crash

# 1. Is the data intact? A new file that was not acknowledged may be missing, any other file may be in its old version.
'''
_WEAKER = """\
# This check replaces powercut's built-in check, which knows the old and the new content of every file. Until you
# complete it, it is weaker. (To use the built-in check, delete `check = ...` in powercut.toml.) The built-in check also
# fails if
"""
_PATH = """
path = folder / {name}
"""
_REQUIRED = """\
if not path.exists():  # it existed before the run
    sys.exit(f"{{path.name}} is missing")
"""
_NOT_EMPTY = """\
if path.exists() and path.stat().st_size == 0:
    sys.exit(f"{{path.name}} is empty")
"""
_OPENED = {
    "json": """\
if path.exists():
    try:
        json.loads(path.read_text())
    except ValueError as error:
        sys.exit(f"{{path.name}} is not valid JSON: {{error}}")
""",
    "sqlite": """\
if path.exists():
    try:
        result = sqlite3.connect(path).execute("pragma integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        result = str(error)
    if result != "ok":
        sys.exit(f"{{path.name}} is damaged: {{result}}")
""",
    "bytes": """\
# TODO: test the content ({size} bytes after the run). A power cut must leave the old or the new content.
""",
}
_ACKNOWLEDGED = """
# 2. Is everything there that the program acknowledged? This is the last line that it printed.
if {said} in acked:  # with its newline: half a line does not count
    for name in ({names},):  # TODO: also test their content
        if not (folder / name).exists():
            sys.exit(f"{{name}} was acknowledged but is missing")
"""
_NOTHING_PRINTED = """
# 2. Is everything there that the program acknowledged? It printed nothing, so it acknowledged nothing. Let it print a
#    line when something is safe, and test that here:
# if "saved" in acked.splitlines() and not (folder / "settings.json").exists():
#     sys.exit("settings.json was acknowledged but is missing")
"""


def check_text(found: Survey) -> str:
    """The check, as a Python script: it says what the built-in check would find beyond it."""
    files = found.files[:_MOST]
    modules = {"json": "json", "sqlite": "sqlite3"}
    imports = sorted({"os", "sys", *(modules[file.form] for file in files if file.form in modules)})
    parts = [_HEAD.format(imports="\n".join(f"import {module}" for module in imports), weaker=_weaker(found))]
    parts += [part.format(name=_literal(file.path), size=file.size) for file in files for part in _judged(file)]
    if found.said and files:
        parts.append(
            _ACKNOWLEDGED.format(said=_literal(found.said + "\n"), names=", ".join(_literal(f.path) for f in files))
        )
    else:
        parts.append(_NOTHING_PRINTED)
    return "".join(parts)


def _judged(file: Changed) -> Iterable[str]:
    """The parts of the check that are about one file."""
    yield _PATH
    if file.before is not None:
        yield _REQUIRED
    if file.never_empty:
        yield _NOT_EMPTY
    yield _OPENED[file.form]


def _weaker(found: Survey) -> str:
    """What the built-in check would refuse and this one accepts, as comments; empty if there is nothing."""
    whole = [_literal(file.path) for file in found.files if file.whole]
    points = []
    if whole:
        more = [f"{len(whole) - _MOST} more"] if whole[_MOST:] else []
        points.append(f"one of these files is neither old nor new: {', '.join([*whole[:_MOST], *more])}")
    if found.files and found.syncs:
        points.append("a file is missing or old although it was synced")
    if points and found.files[_MOST:]:
        points.append(f"that happens to one of {len(found.files) - _MOST} more files, which this check does not test")
    return _WEAKER + "".join(f"#   - {point}\n" for point in points) + "\n" if points else ""


def settings_text(found: Survey, command: Sequence[str], folder: str) -> str:
    """powercut.toml, with what was seen."""
    lines = ["# Settings of powercut; every option of `powercut test` can be set here (docs/settings.md).", "#"]
    lines += [f"# {line}" for line in _seen(found, command)]
    lines += [
        "#",
        f"# Next: powercut test -- {one_line(shlex.join(command))}",
        "",
        f"dir = {json.dumps(folder)} # the data folder",
        f'check = "python3 {CHECK}" # replaces the built-in check: complete it',
        '# fs = "all" # every file system; default: "linux", the common ones',
        '# budget = "5m" # how long to search; default: "60s"',
        "# timeout = 10.0 # seconds after which a check counts as hung",
        "# seed = 0 # seed of the random part of the search",
    ]
    if found.maps:
        lines.append('# tracer = "memory" # chosen automatically, because the program maps files for writing')
    return "\n".join(lines) + "\n"


def _seen(found: Survey, command: Sequence[str]) -> Iterable[str]:
    yield f"A run of {one_line(shlex.join(command))} showed:"
    yield from (f"  {_described(file)}" for file in found.files[:_MOST])
    if found.files[_MOST:]:
        yield f"  and {len(found.files) - _MOST} more files"
    yield (
        f"  {found.syncs} sync{'s' * (found.syncs > 1)}"
        if found.syncs
        else "  no sync: nothing it writes is guaranteed to survive"
    )
    if found.said:
        yield f"  last line printed (counts as acknowledged): {one_line(found.said)}"


def _described(file: Changed) -> str:
    forms = {"json": "JSON", "sqlite": "a SQLite database", "bytes": "unknown format"}
    return f"{one_line(file.path)}: {forms[file.form]}, {file.size} bytes"


def _literal(text: str) -> str:
    """A Python literal of printable ASCII."""
    return ascii(text)
