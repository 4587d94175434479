"""What was found, beside what was expected.

A finding is known again by its kind, its culprits and their places in words: on another machine, with another build of
the system's libraries, it has the same identity, although ids, addresses and lines differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from powercut.findings.identity import PROVISIONAL
from survey.program import Expected

HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{6,}\b")
SIZE = re.compile(r"\b\d[\d,]* bytes\b|\bbytes [\d,]+ to [\d,]+")
NUMBER = re.compile(r"\d+")
OFFSET = re.compile(r"\+0x[0-9a-f]+|\[\d+:\d+\]| at offset [\d,]+")


def identity(finding: dict[str, Any], random: Iterable[str] = ()) -> str:
    """A finding of a JSON report in words that are the same in every run."""
    parts = [f"{place['role']} {where(place, random)}" for place in finding["locations"]]
    return f"{finding['kind']}: " + "; ".join(parts)


def is_cut_short(finding: dict[str, Any]) -> bool:
    """Whether time ran out before the cause of a finding was known: what it says differs from run to run."""
    return str(finding["id"]).startswith(PROVISIONAL)


def where(place: dict[str, Any], random: Iterable[str]) -> str:
    """What was done and in which function; of libraries without source only their name."""
    file = plain(Path(place["file"] or "?").name, random)
    function = OFFSET.sub("", place["function"] or "?")
    return f"{plain(place['what'] or place['role'], random)} ({file}, {plain(function, random)})"


def plain(text: str, random: Iterable[str]) -> str:
    """Without what differs from run to run: sizes, numbers, hashes and the names that a program draws by lot."""
    for pattern in random:
        text = re.sub(pattern, "*", text)
    text = SIZE.sub("bytes", OFFSET.sub("", text))
    return NUMBER.sub("#", HASH.sub("#", text))


def difference(found: Iterable[str], expected: Sequence[Expected]) -> list[str]:
    """Lines like those of a diff: - is expected and was not found, + was found and nobody has judged it."""
    seen = set(found)
    known = {one.what for one in expected}
    missing = [f"- {one.what}  [{one.verdict}]" for one in expected if one.always and one.what not in seen]
    return missing + [f"+ {what}  [not judged]" for what in sorted(seen - known)]
