"""Where removals are judged: by the user's check in the workers, or by the built-in oracle on the spot.

A check sees images, and an image says nothing of what was guaranteed. So all removals of one model share one timeline
in the workers, that of the run with no sync at all: it allows every state of every removal. Verdicts are shared by
image, too. The built-in oracle takes a sync for a promise, so each removal has its own: what is not synced is not
promised.
"""

from __future__ import annotations

from collections.abc import Sequence

from powercut.image.digest import Digester
from powercut.oracle.builtin import BuiltinOracle
from powercut.search.budget import Budget
from powercut.search.events import Event, Said, Subscriber
from powercut.search.exploration import Exploration
from powercut.search.image_keys import OutputKey
from powercut.search.inline_executor import InlineExecutor
from powercut.search.jobs import Executor
from powercut.states.timeline import Timeline
from powercut.syncs.removal import Removal
from powercut.syncs.removal_test import RemovalJudge
from powercut.syncs.sites import ProgramSyncs


def without_syncs(program: ProgramSyncs) -> list[Timeline]:
    """The timelines of the same run with none of its syncs."""
    events = [event for site in program.sites for event in site.events.tolist()]
    return [Timeline(timeline.trace, timeline.row, skip=events) for timeline in program.timelines]


class CheckJudges:
    """A judge for each model, shared by all removals."""

    def __init__(self, bare: Sequence[Timeline], executor: Executor, output_key: OutputKey, tell: Subscriber) -> None:
        def told(event: Event) -> None:
            if isinstance(event, Said):  # how far the trial is, it says itself
                tell(event)

        exploration = Exploration(bare, executor, output_key, Budget(), 0, told)
        self._judges = [RemovalJudge(exploration, number, Digester(timeline)) for number, timeline in enumerate(bare)]

    def __call__(self, number: int, removal: Removal) -> RemovalJudge:
        """The judge for a removal from the timeline of that number."""
        return self._judges[number]


class BuiltinJudges:
    """A judge of its own for each removal."""

    def __call__(self, number: int, removal: Removal) -> RemovalJudge:
        """The judge for a removal, which from then on knows what the oracle holds the program to."""
        oracle = BuiltinOracle(removal.timeline)
        removal.words = oracle.moments
        timelines = [removal.timeline]
        exploration = Exploration(
            timelines, InlineExecutor(timelines, oracle), oracle.output_key, Budget(), 0, lambda _: None
        )
        return RemovalJudge(exploration, 0, Digester(removal.timeline))
