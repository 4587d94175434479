"""The row `posix` is the weakest: every state of every other row is possible on it. Its garbage may be anything."""

from __future__ import annotations

from powercut.matching.matcher import Matcher
from powercut.model.filesystem import FILE_SYSTEMS, FileSystem
from powercut.states.lattice import Lattice
from powercut.states.timeline import Timeline
from tests.models.match_twin import as_observed
from tests.models.random_runs import MEMORY_KINDS, RunMaker, to_trace
from tests.models.test_models import MOST_PENDING, engine_image

WEAKEST = FILE_SYSTEMS["posix"]


def foreign_images(kinds: list[str] | None, seeds: range, weakest: FileSystem) -> tuple[int, list[tuple[int, str]]]:
    """How many images of other rows were asked for, and in which runs of which rows one was impossible."""
    count, wrong = 0, []
    for seed in seeds:
        trace = to_trace(RunMaker(seed, kinds).make(2 + seed % 7))
        asked = Matcher(Timeline(trace, weakest))
        for row in FILE_SYSTEMS.values():
            timeline = Timeline(trace, row)
            lattice = Lattice(timeline, timeline.end)
            if row is weakest or len(lattice.pending) > MOST_PENDING:
                continue
            for image in {engine_image(timeline, state) for state in lattice.states()}:
                count += 1
                if not asked.match(as_observed(image), timeline.end, timeline.end, all_moments=False).possible:
                    wrong.append((seed, row.name))
    return count, wrong


def test_every_state_of_every_row_is_possible_on_posix() -> None:
    count, wrong = foreign_images(None, range(300), WEAKEST)
    assert not wrong
    assert count > 5_000


def test_so_it_is_with_mapped_files() -> None:
    count, wrong = foreign_images(MEMORY_KINDS, range(200), WEAKEST)
    assert not wrong
    assert count > 2_000


def test_no_other_row_is_the_weakest() -> None:
    for row in FILE_SYSTEMS.values():
        if row is not WEAKEST:
            assert any(foreign_images(None, range(start, start + 20), row)[1] for start in range(0, 200, 20)), row.name
