"""All kinds of findings of an assertion run, as the checker lists them."""

from __future__ import annotations

import subprocess
from functools import cache

import msgspec

from powercut.assertions.build import checker


class Kind(msgspec.Struct, frozen=True):
    """One row of native/runtime/engine/kinds.h."""

    kind: str
    why: str
    severity: str
    sentence: str
    advice: str


@cache
def kinds() -> tuple[Kind, ...]:
    """All of them, in their order."""
    listed = subprocess.run([str(checker()), "--kinds"], check=True, stdout=subprocess.PIPE).stdout
    return tuple(msgspec.json.decode(listed, type=list[Kind]))
