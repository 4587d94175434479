"""The reference of the C API, from the comments and declarations of `powercut.h`."""

from __future__ import annotations

import re
from pathlib import Path

HEADER = Path(__file__).resolve().parents[2] / "native" / "runtime" / "include" / "powercut.h"
_COMMENT = re.compile(r"/\*(.*?)\*/\n", re.DOTALL)
_MACRO = re.compile(r"^#define (pc_\w*[a-z])\(([^)]*)\)", re.MULTILINE)
_FUNCTION = re.compile(r"^\w+ pc_\w*[a-z]\([^;]*\);.*$", re.MULTILINE)
_TYPE = re.compile(r"^(?:struct|enum) pc_\w+ \{.*?\};$", re.MULTILINE | re.DOTALL)


def reference() -> str:
    """Types, then calls in the groups of the header; those that need no POWERCUT stand before the others."""
    text = HEADER.read_text()
    always, _, rest = text.partition("#ifdef POWERCUT\n")
    calls = rest.partition("#else /* not POWERCUT")[0]
    parts = [_prose(_COMMENT.search(text)[1]), "## Types", *(_code(found) for found in _paragraphs(always))]  # type: ignore[index]
    parts += ["## Functions", "```c\n" + "\n".join(_FUNCTION.findall(calls)) + "\n```", "## Calls"]
    return "\n\n".join([*parts, *_groups(always), *_groups(calls)])


def _paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if _TYPE.search(part)]


def _code(paragraph: str) -> str:
    comment = _COMMENT.match(paragraph)
    declared = "\n".join(_TYPE.findall(paragraph))
    return (f"{_prose(comment[1])}\n\n" if comment else "") + f"```c\n{declared}\n```"


def _groups(text: str) -> list[str]:
    """Macros that are meant for programs, under the comment that stands above them."""
    found = []
    for paragraph in text.split("\n\n"):
        macros = _MACRO.findall(paragraph)
        comment = _COMMENT.match(paragraph)
        if macros and comment:
            calls = "\n".join(f"{name}({arguments});" for name, arguments in macros)
            found.append(f"{_prose(comment[1])}\n\n```c\n{calls}\n```")
    return found


def _prose(comment: str) -> str:
    """A comment without its frame; what is indented in it is code."""
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.strip().splitlines()]
    return "\n".join(lines).strip()
