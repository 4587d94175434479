"""Evidence: what the trace of a run shows about a finding, ready for a page.

Before: the folder of a saved run, which may lack its trace or hold one that does not fit. After: for each finding the
updates around the crash with their fate, the crashed folder against what was there at that moment, and the persistence
graph; or a word that says why there is none. Everything is bounded, so that a page stays one that a browser opens.
"""

from __future__ import annotations

import base64
from dataclasses import field
from pathlib import Path

from powercut.errors import PowercutError
from powercut.findings.finding import Finding, SavedState
from powercut.findings.places import Places
from powercut.quick_dataclass import dataclass
from powercut.report.graph import draw_graph
from powercut.report.html.crash_story import Moment, story, updates_to_tell
from powercut.report.html.images import FolderDifference, compare_folders
from powercut.runs.replay import rebuild_state, rebuild_timeline
from powercut.states.behaviors.around import behavior_around
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline

MOST_FINDINGS = 60  # with evidence; the others have their text


@dataclass(frozen=True, slots=True)
class Evidence:
    """What there is to see of one finding."""

    story: list[Moment]
    folder: FolderDifference
    picture: str  # a data address of an SVG


@dataclass(slots=True)
class EvidenceRoom:
    """Makes evidence from one run's folder; `missing` says why some has none."""

    folder: Path
    missing: list[str] = field(default_factory=list)
    _made: int = 0
    _timelines: dict[tuple[str, int, str, str], Timeline] = field(default_factory=dict)
    _places: dict[str, Places] = field(default_factory=dict)  # by trace: symbols are read once

    def evidence(self, finding: Finding) -> Evidence | None:
        """The evidence of a finding; None, and a word, where it cannot be had."""
        if self._made >= MOST_FINDINGS:
            self._miss(
                f"Only the first {MOST_FINDINGS} findings are shown with their crash images. powercut show shows all."
            )
            return None
        try:
            timeline = self._timeline(finding.state)
            state = rebuild_state(self.folder, timeline, finding)
        except PowercutError as error:
            self._miss(f"The crash images are missing: {error}")
            return None
        self._made += 1
        places = self._places.setdefault(finding.state.trace, Places(timeline.trace))
        around = behavior_around(timeline, state)
        told = updates_to_tell(timeline, state, around)
        picture = draw_graph(timeline, sorted({*around, *told}), finding.id, state, places).encode()
        whole = State(state.point, Base.ISSUED, frozenset())
        return Evidence(
            story(timeline, places, state, told),
            compare_folders(timeline, whole, state),
            f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}",
        )

    def _timeline(self, saved: SavedState) -> Timeline:
        """The timeline of a model, made once: that of a long trace takes a while."""
        key = (saved.model, saved.piece, saved.memory, saved.trace)
        if key not in self._timelines:
            self._timelines[key] = rebuild_timeline(self.folder, saved)
        return self._timelines[key]

    def _miss(self, why: str) -> None:
        if why not in self.missing:
            self.missing.append(why)
