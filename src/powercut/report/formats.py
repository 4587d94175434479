"""The forms in which a saved run can be written, by name. Each is a function of the run and of where it stands.

The table is read for `--help`, so the modules behind it are loaded when a report is made.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from powercut.errors import UsageError, suggestion
from powercut.quick_dataclass import dataclass

if TYPE_CHECKING:
    from powercut.runs.store import SavedRun


@dataclass(frozen=True, slots=True)
class Setting:
    """What a report needs to know beside the run.

    Attributes:
        root: paths below it are written relative to it: where the sources are checked out.
        folder: that of the run.
    """

    root: Path
    folder: Path


@dataclass(frozen=True, slots=True)
class Format:
    """One form; its module in this package has a function `render` of the run and its setting."""

    name: str
    what: str
    module: str

    def render(self, run: SavedRun, setting: Setting) -> bytes:
        """A run in this form, with the sources that it has kept."""
        from powercut.findings.sources import Sources, reading

        function: Callable[[SavedRun, Setting], bytes] = import_module(f"powercut.report.{self.module}").render
        with reading(Sources(setting.folder)):
            return function(run, setting)


FORMATS = (
    Format("json", "a JSON report", "json_report"),
    Format("sarif", "SARIF 2.1.0, for code scanning", "sarif"),
    Format("junit", "JUnit XML, for test reports", "junit"),
    Format("markdown", "a Markdown summary", "markdown"),
    Format("html", "an HTML page", "html"),
    Format("github", "annotations of GitHub Actions", "github"),
)


def format_named(name: str) -> Format:
    """The form of a name."""
    found = {form.name: form for form in FORMATS}
    if name not in found:
        raise UsageError("unknown-format", f"there is no report format {name!r}.", suggestion(name, found))
    return found[name]
