"""The JVM: an agent of JVMTI that stands in for native methods, and stacks as the JVM knows them.

A class says only the name of its source. Where the file is follows from its package and from where the class was
loaded: beside it, or where Maven and Gradle keep the sources of what they build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from urllib.parse import unquote

from powercut.native_programs import java_agent
from powercut.runtimes.runtime import ToldFrame, joined, table_frames

_STANDARD = re.compile(r"(java|javax|jdk|sun|com\.sun)\.")
_PACKAGE = re.compile(r"/\.(m2|gradle|ivy2)/|/\.cache/coursier/|/usr/share/(java|maven-repo)/|/(BOOT-INF|WEB-INF)/lib/")
_PACKAGED = "!/"  # in a frame's file: it lies in a jar, which is a library's
_LANGUAGES = ("java", "kotlin", "scala", "groovy")
_BUILT = (
    "target/classes",
    "target/test-classes",
    *(f"build/classes/{language}/{part}" for language in _LANGUAGES for part in ("main", "test")),
)
_SOURCES = (*(f"src/{part}/{language}" for language in _LANGUAGES for part in ("main", "test")), "src", "")


class Java:
    """HotSpot and other machines with JVMTI; tested with versions 17 and 25."""

    language = "java"
    title = "Java"
    programs: re.Pattern[str] | None = re.compile(r"java")

    def variables(self, known: Mapping[str, str]) -> dict[str, str]:
        """The agent, by its path; nothing where it was not built, or where the variable cannot hold its path."""
        agent = java_agent()
        if agent is None or re.search(r"[\s'\"]", str(agent)):
            return {}
        return {"JAVA_TOOL_OPTIONS": joined(known.get("JAVA_TOOL_OPTIONS"), f"-agentpath:{agent}")}

    def frames(self, text: str) -> list[ToldFrame]:
        """Rows of method, file below its package, line, and where the class was loaded from."""
        origins = [row.split("\t")[3:4] for row in text.splitlines()]
        return [
            replace(frame, file=_file(frame.file, *origin)) if frame.file and origin and origin[0] else frame
            for frame, origin in zip(table_frames(text), origins, strict=True)
        ]

    def is_own(self, function: str, file: str | None) -> bool:
        """Neither of the JDK nor of a jar where only libraries are."""
        return _STANDARD.match(function) is None and _PACKAGED not in (file or "")

    def is_standard(self, function: str, file: str | None) -> bool:
        """Of the JDK."""
        return _STANDARD.match(function) is not None


def _file(file: str, origin: str) -> str:
    path = unquote(origin.removeprefix("jar:").removeprefix("nested:").removeprefix("file:"))
    if _PACKAGE.search(path):
        return f"{path.partition('!')[0]}{_PACKAGED}{file}"
    return next((str(place) for place in _candidates(PurePath(path.partition("!")[0]), file) if place.is_file()), file)


def _candidates(origin: PurePath, file: str) -> Iterator[Path]:
    """Where a source may be: under the project that built the class, or beside it."""
    for folder in (origin, *origin.parents[:4]):
        built = next((part for part in _BUILT if str(folder).endswith(f"/{part}")), None)
        root = PurePath(str(folder).removesuffix(built)) if built else folder
        for sources in _SOURCES:
            yield Path(root, sources, file)
