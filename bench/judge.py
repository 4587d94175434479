"""Judges single states of a recorded run, each image once: for benchmarks about which states come when.

There is no search and no diagnosis: a state goes in, whether the check accepts it comes out.
"""

from __future__ import annotations

from collections.abc import Sequence

from hunt import Known

from powercut.image.digest import Digester
from powercut.search.events import Event
from powercut.search.jobs import Job
from powercut.search.judging import Judging
from powercut.search.verdict_cache import Key
from powercut.settings import Settings
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.states.timelines import Rows
from powercut.testing.session import Session
from powercut.trace.reader import Trace

Place = tuple[int, State]  # a state of the timeline of that number


class Judge:
    """What the check says of the states of one trace.

    Attributes:
        searched: the timelines that a search would search, by number.
        seconds: that judging an image took, the making of the image and all.
    """

    def __init__(self, known: Known, trace: Trace, workers: int = 2) -> None:
        settings = Settings(dir=str(known.data), check=known.check, workers=workers, **known.settings)
        session = Session(settings, known.data.parent, _ignore)
        self.timelines = session.timelines(trace)
        judging = Judging(settings, known.data.parent, None, self.timelines, session.namespaces())
        self.executor, self.output_key = judging.executor(anywhere=False)
        self._digesters = [Digester(timeline) for timeline in self.timelines]
        self.searched = {number: self.timelines[number] for number in Rows(self.timelines, self.key).leaders}
        self._accepted: dict[Key, bool] = {}
        self.seconds: dict[Key, float] = {}

    def close(self) -> None:
        """End the workers."""
        self.executor.close()

    def key(self, number: int, state: State) -> Key:
        """What stands for an image and what the program had said."""
        return self._digesters[number].digest(state), self.output_key(self.timelines[number], state.point, frozenset())

    def accepts(self, places: Sequence[Place]) -> list[bool]:
        """Whether the check accepts some states; those whose image was judged before are not judged again."""
        keys = [self.key(*place) for place in places]
        new = {key: place for key, place in zip(keys, places, strict=True) if key not in self._accepted}
        jobs = dict(enumerate(new))
        self.executor.submit([Job(job, *new[key]) for job, key in jobs.items()])
        while jobs:
            for result in self.executor.results(None):
                key = jobs.pop(result.id)
                self._accepted[key], self.seconds[key] = result.verdict.passed, result.seconds
        return [self._accepted[key] for key in keys]

    def first(self) -> Timeline:
        """The first timeline that is searched."""
        return next(iter(self.searched.values()))


def _ignore(event: Event) -> None:
    """Nobody listens."""
