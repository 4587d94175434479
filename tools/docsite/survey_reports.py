"""HTML reports of the survey's last runs, where `make survey` left some: the site has them, the repository does not."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = "survey.md"
RUNS = Path(__file__).resolve().parents[2] / "build" / "survey"
_SECTION = re.compile(r"^### ([\w.-]+)$", re.MULTILINE)


def reports() -> dict[str, Path]:
    """Where each lies on the site, and its file."""
    return {f"survey/{path.parent.name}.html": path for path in sorted(RUNS.glob("*/report.html"))}


def with_links(page: str) -> str:
    """The page, in which each program that has a report leads to it."""
    there = reports()

    def linked(heading: re.Match[str]) -> str:
        uri = f"survey/{heading[1]}.html"
        return f"{heading[0]}\n\n[The report of this run]({uri})" if uri in there else heading[0]

    return _SECTION.sub(linked, page)
