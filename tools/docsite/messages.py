"""Every message with a code that the sources of powercut can print, found by reading them.

Before: sources. After: for each code where it is made, and the words around what is filled in. A message is made by an
error class or a function whose first parameter is called `slug`, printed as it is, or sent by a worker.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = sorted((Path(__file__).resolve().parents[2] / "src" / "powercut").rglob("*.py"))
SLUG = re.compile(r"[a-z]+(-[a-z]+)+")
PRINTED = re.compile(r"\[([a-z]+(?:-[a-z]+)*)\]\"")  # a message that is printed without an exception
SENT = re.compile(r"Message\.FAILED, \(\"([a-z-]+)\"")  # a message that a worker sends to the engine
FILLED_IN = "…"


@dataclass
class Message:
    """One code: the sources that make it, and the texts, with `…` for what is filled in."""

    files: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)


def messages() -> dict[str, Message]:
    """All messages by their codes."""
    sources = {path: path.read_text() for path in SOURCES}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    everything = list(trees.values())
    makers = _error_classes(everything) | _helpers(everything) | {"cls"}  # `cls(...)`: a constructor of an error class
    found: defaultdict[str, Message] = defaultdict(Message)
    for path, tree in trees.items():
        for slug, text in _made(tree, makers):
            found[slug].files.add(path.name)
            if text and text not in found[slug].texts:
                found[slug].texts.append(text)
        for slug in PRINTED.findall(sources[path]) + SENT.findall(sources[path]):
            found[slug].files.add(path.name)
    return dict(sorted(found.items()))


def reference() -> str:
    """The table of the site."""
    rows = ["| code | as it is printed |", "|---|---|"]
    for slug, message in messages().items():
        said = "<br>".join(text.replace("|", "\\|").replace("<", "&lt;") for text in message.texts)
        rows.append(f"| `{slug}` | {said} |")
    return "\n".join(rows)


def _error_classes(trees: list[ast.Module]) -> set[str]:
    """PowercutError and everything below it, by name."""
    names, before = {"PowercutError"}, 0
    while len(names) > before:
        before = len(names)
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and names & {getattr(base, "id", "") for base in node.bases}:
                    names.add(node.name)
    return names


def _helpers(trees: list[ast.Module]) -> set[str]:
    """Functions that are given a code: their first parameter is called `slug`."""
    functions = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {function.name for function in functions if [a.arg for a in function.args.args[:1]] == ["slug"]}


def _made(tree: ast.Module, makers: set[str]) -> Iterator[tuple[str, str]]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in makers and call.args:
            first = call.args[0]
            if isinstance(first, ast.Constant) and SLUG.fullmatch(str(first.value)):
                yield str(first.value), " ".join(filter(None, map(_words, call.args[1:3])))


def _words(node: ast.expr) -> str:
    """The text of a literal; nothing if all of it is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else FILLED_IN for part in node.values]
        return "".join(parts) if set(parts) != {FILLED_IN} else ""
    return ""
