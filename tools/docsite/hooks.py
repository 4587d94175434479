"""What mkdocs calls while it builds the site.

- `<!-- reference: NAME -->` in a page becomes a reference that is made from the code: it is never committed.
- Pages of the project that do not lie in docs/ (README, ARCHITECTURE ...) become pages of the site; other files of the
  repository that a page links to are copied beside it. A link that leads nowhere is a warning, and ends a strict build.
- The page of the survey leads to the reports of its runs, if there are any.
"""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from docsite import (  # noqa: E402
    c_api,
    commands,
    json_report,
    kernel_runs,
    ledger,
    messages,
    python_api,
    settings,
    survey_reports,
)

REFERENCES = {
    "c-api": c_api.reference,
    "commands": commands.reference,
    "json": json_report.reference,
    "ledger": ledger.reference,
    "kernel-runs": kernel_runs.reference,
    "messages": messages.reference,
    "python": python_api.reference,
    "settings": settings.reference,
}
PROJECT = {
    f"project/{target}": ROOT / source
    for target, source in (
        ("readme.md", "README.md"),
        ("architecture.md", "ARCHITECTURE.md"),
        ("contributing.md", "CONTRIBUTING.md"),
        ("changelog.md", "CHANGELOG.md"),
        ("benchmarks.md", "bench/README.md"),
        ("corpus.md", "corpus/README.md"),
    )
}
_MARK = re.compile(r"^<!-- reference: ([a-z-]+) -->$", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
log = logging.getLogger("mkdocs.hooks")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the project, and the files that pages link to."""
    for uri, source in PROJECT.items():
        files.append(File.generated(config, uri, content=source.read_text()))
    for uri, source in survey_reports.reports().items():
        files.append(File.generated(config, uri, abs_src_path=str(source)))
    for page in list(files.documentation_pages()):
        for target, _ in _LINK.findall(page.content_string):
            source = _meant(page.src_uri, target)
            uri = _uri(source)
            if source.is_file() and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Fill in references, and point links where their targets are on the site."""
    here = page.file.src_uri
    text = _LINK.sub(lambda found: _on_site(here, found[1]) + (found[2] or ""), markdown)
    text = _MARK.sub(lambda mark: REFERENCES[mark[1]](), text)
    return survey_reports.with_links(text) if here == survey_reports.PAGE else text


def _meant(uri: str, target: str) -> Path:
    """The file of the repository that a link on a page means."""
    return (PROJECT.get(uri, ROOT / "docs" / uri).parent / target).resolve()


def _uri(source: Path) -> str:
    """Where a file of the repository is on the site."""
    known = {path: uri for uri, path in PROJECT.items()}
    if source in known:
        return known[source]
    within = source.relative_to(ROOT)
    return str(within.relative_to("docs")) if within.parts[:1] == ("docs",) else f"files/{within}"


def _on_site(here: str, target: str) -> str:
    source = _meant(here, target)
    if not source.is_file():
        log.warning("%s links to %s, which is no file", here, target)
        return target
    return posixpath.relpath(_uri(source), posixpath.dirname(here) or ".")
