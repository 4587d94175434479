"""The runtimes that powercut follows, and what they are asked together.

Before: an environment, or an entry of a trace's table of told stacks. After: what is put into the one; the frames of
the other, with their language.
"""

from __future__ import annotations

from collections.abc import Mapping

from powercut.native_programs import java_agent
from powercut.runtimes.java import Java
from powercut.runtimes.node import Node
from powercut.runtimes.perl import Perl
from powercut.runtimes.python import Python
from powercut.runtimes.ruby import Ruby
from powercut.runtimes.runtime import AGENTS, Runtime, ToldFrame

RUNTIMES: tuple[Runtime, ...] = (Node(), Python(), Java(), Ruby(), Perl())
_BY_LANGUAGE = {runtime.language: runtime for runtime in RUNTIMES}


def runtime_of(language: str) -> Runtime | None:
    """The runtime that tells stacks of a language."""
    return _BY_LANGUAGE.get(language)


def variables(known: Mapping[str, str]) -> dict[str, str]:
    """What is put into an environment, for all runtimes."""
    added: dict[str, str] = {}
    for runtime in RUNTIMES:
        added |= runtime.variables({**known, **added})
    return added


def names_agent(text: str) -> bool:
    """Whether a message of a program may be about an agent: whoever cannot load one names its file.

    Other agents in a JVM do not, which want of it what only one can have.
    """
    java = java_agent()
    return str(AGENTS) in text or (java is not None and str(java) in text) or "JVMTI capabilit" in text


def told_frames(entry: bytes) -> tuple[str, list[ToldFrame]]:
    """The language of a told stack, and its frames; none if nobody knows the language."""
    name, _, text = entry.partition(b"\0")
    language = name.decode("ascii", "replace")
    runtime = runtime_of(language)
    return language, runtime.frames(text.decode("utf-8", "surrogateescape")) if runtime else []
