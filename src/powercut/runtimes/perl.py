"""Perl: an agent in the place of a debugger, which is asked before each statement."""

from __future__ import annotations

import re
from collections.abc import Mapping

from powercut.runtimes.runtime import AGENTS, ToldFrame, joined, table_frames

_LIBRARY = re.compile(r"(/usr|/usr/local)/(lib|share)/([^/]+/)?perl|/etc/perl/|.*/(site|vendor)_perl/|.*/lib/perl5/")


class Perl:
    """Perl 5; tested with version 5.36."""

    language = "perl"
    title = "Perl"
    programs: re.Pattern[str] | None = re.compile(r"perl[\d.]*")

    def variables(self, known: Mapping[str, str]) -> dict[str, str]:
        """The agent, as the debugger; nothing where the variable cannot hold its path."""
        folder = str(AGENTS / "perl")
        options = f"-I{folder} -d:PowercutAgent"
        return {} if re.search(r"\s", folder) else {"PERL5OPT": joined(known.get("PERL5OPT"), options)}

    def frames(self, text: str) -> list[ToldFrame]:
        """Rows of function, file and line."""
        return table_frames(text)

    def is_own(self, function: str, file: str | None) -> bool:
        """Of a file that is not where libraries are."""
        return file is not None and not file.startswith("(eval") and _LIBRARY.match(file) is None

    def is_standard(self, function: str, file: str | None) -> bool:
        """What comes with Perl, and modules of the system: they lie together."""
        return file is not None and _LIBRARY.match(file) is not None
