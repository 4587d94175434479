"""Ruby: an agent that is required first, and stands in front of the methods that may change files."""

from __future__ import annotations

import re
from collections.abc import Mapping

from powercut.runtimes.runtime import AGENTS, ToldFrame, joined, table_frames

_STANDARD = re.compile(r"<internal:|.*/lib/ruby/(\d|(vendor_ruby|site_ruby/\d[^/]*)/(rubygems|bundler))")
_PACKAGE = re.compile(r".*/gems/[^/]+/|/usr/(share|lib)/ruby/|/var/lib/gems/|.*/vendor/bundle/")


class Ruby:
    """CRuby; tested with version 3.1."""

    language = "ruby"
    title = "Ruby"
    programs: re.Pattern[str] | None = re.compile(r"ruby[\d.]*")

    def variables(self, known: Mapping[str, str]) -> dict[str, str]:
        """The agent, required before anything else; nothing where the variable cannot hold its path."""
        agent = str(AGENTS / "ruby" / "powercut_agent.rb")
        return {} if re.search(r"\s", agent) else {"RUBYOPT": joined(known.get("RUBYOPT"), f"-r{agent}")}

    def frames(self, text: str) -> list[ToldFrame]:
        """Rows of function, file and line."""
        return table_frames(text)

    def is_own(self, function: str, file: str | None) -> bool:
        """Of a file, neither of Ruby's library nor of a gem."""
        return file is not None and _STANDARD.match(file) is None and _PACKAGE.match(file) is None

    def is_standard(self, function: str, file: str | None) -> bool:
        """Of the library that comes with Ruby."""
        return file is not None and _STANDARD.match(file) is not None and "/gems/" not in file
