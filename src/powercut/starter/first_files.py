"""The first `powercut.toml` and the first check of a program, written from a survey, for people to go on with.

The check accepts the folder as the program leaves it, and what was never promised; so `powercut test` works at once.
Names and lines come from the program: they are written as literals, and nothing else of them gets into the files.
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
"""Judges a crashed folder: exit status 0 if all is well; anything else is a finding.

powercut runs this on every state that a power cut could leave, with the crashed folder as current folder. It is yours:
open the data as your program does after a reboot, then ask for what was promised. Say in one line what is wrong.
"""

{imports}
from pathlib import Path

folder = Path(os.environ["POWERCUT_DIR"])
acked = Path(os.environ["POWERCUT_ACKED"]).read_text(errors="replace")  # what the program had printed by then

# 1. Is the data whole? What was never promised may be missing, or be as it was before.
'''
_OPENED = {
    "json": """\
path = folder / {name}
if path.exists():
    try:
        json.loads(path.read_text())
    except ValueError as error:
        sys.exit(f"{{path.name}} is not whole: {{error}}")
""",
    "sqlite": """\
path = folder / {name}
if path.exists():
    try:
        told = sqlite3.connect(path).execute("pragma integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        told = str(error)
    if told != "ok":
        sys.exit(f"{{path.name}} is damaged: {{told}}")
""",
    "bytes": """\
path = folder / {name}  # {size} bytes after the run: what must they be?
""",
}
_PROMISED = """
# 2. Is everything there that was promised? This is the last line that the program printed.
if {said} in acked:  # with its end: half a line was not yet said
    for name in ({names},):  # better: ask for what they must hold
        if not (folder / name).exists():
            sys.exit(f"{{name}} was promised, and it is gone")
"""
_NOTHING_SAID = """
# 2. Is everything there that was promised? The program printed nothing, so nothing was promised. Let it print a line
#    when something is safe, and ask for that here:
# if "saved" in acked.splitlines() and not (folder / "settings.json").exists():
#     sys.exit("told the user, then lost it")
"""


def check_text(found: Survey) -> str:
    """The check, as a Python script."""
    files = found.files[:_MOST]
    modules = {"json": "json", "sqlite": "sqlite3"}
    imports = sorted({"os", "sys", *(modules[file.form] for file in files if file.form in modules)})
    parts = [_HEAD.format(imports="\n".join(f"import {module}" for module in imports))]
    parts += [_OPENED[file.form].format(name=_literal(file.path), size=file.size) for file in files]
    if found.said and files:
        parts.append(
            _PROMISED.format(said=_literal(found.said + "\n"), names=", ".join(_literal(f.path) for f in files))
        )
    else:
        parts.append(_NOTHING_SAID)
    return "".join(parts)


def settings_text(found: Survey, command: Sequence[str], folder: str) -> str:
    """powercut.toml, with what was seen."""
    lines = ["# Settings of powercut; every option of `powercut test` can stand here (docs/settings.md).", "#"]
    lines += [f"# {line}" for line in _seen(found, command)]
    lines += [
        "#",
        f"# Next: powercut test -- {one_line(shlex.join(command))}",
        "",
        f"dir = {json.dumps(folder)} # the folder that is tested",
        f'check = "python3 {CHECK}" # judges a crashed folder: complete it',
        '# fs = "all" # every file system; default: "linux", those that people run',
        '# budget = "5m" # how long to search; default: "60s"',
        "# timeout = 10.0 # seconds after which a check has hung",
        "# seed = 0 # of the random part of the search",
    ]
    if found.maps:
        lines.append('# tracer = "memory" # chosen by itself: the program maps files for writing')
    return "\n".join(lines) + "\n"


def _seen(found: Survey, command: Sequence[str]) -> Iterable[str]:
    yield f"Seen when {one_line(shlex.join(command))} ran:"
    yield from (f"  {_described(file)}" for file in found.files[:_MOST])
    if found.files[_MOST:]:
        yield f"  and {len(found.files) - _MOST} more files"
    yield f"  {found.syncs} syncs" if found.syncs else "  no sync at all: nothing that it writes is sure to survive"
    if found.said:
        yield f"  the last line printed, which is a promise: {one_line(found.said)}"


def _described(file: Changed) -> str:
    forms = {"json": "JSON", "sqlite": "a SQLite database", "bytes": "bytes"}
    return f"{one_line(file.path)}: {forms[file.form]}, {file.size} long"


def _literal(text: str) -> str:
    """A Python literal of printable ASCII."""
    return ascii(text)
