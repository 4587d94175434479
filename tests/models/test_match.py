"""The matcher agrees with enumeration: on which images are possible, and on the moments at which they are."""

from __future__ import annotations

from itertools import count

import pytest

from powercut.matching.matcher import Matcher, RowMatch
from powercut.model.filesystem import FILE_SYSTEMS, FileSystem
from powercut.states.timeline import Timeline
from tests.models.match_twin import Everything, Images, as_observed, fits
from tests.models.random_runs import RunMaker, to_trace
from tests.models.test_models import engine_image

PAIRS = 10_000  # half of them impossible
SHARDS = 4
ROWS = list(FILE_SYSTEMS.values())
MOST_PENDING = 9


def moments_of(answer: RowMatch) -> set[int]:
    return {moment for span in answer.spans for moment in range(span.first, span.last + 1)}


def compare(seed: int, row: FileSystem, kinds: list[str] | None = None) -> tuple[int, int]:
    """Ask for possible and impossible images of one run; how many of each."""
    timeline = Timeline(to_trace(RunMaker(seed, kinds).make(2 + seed % 9)), row)
    matcher = Matcher(timeline)
    everything = Everything(timeline, matcher.first, MOST_PENDING)
    if not everything.is_whole:
        return 0, 0
    images = Images(everything, seed)
    possible = [images.possible() for _ in range(4)]
    impossible = [image for image in (images.impossible() for _ in range(4)) if image is not None]
    for image in (*possible, *impossible):
        answer = matcher.match(as_observed(image))
        assert answer.decided, (seed, row.name)
        assert answer.possible == bool(everything.when(image)), (seed, row.name, image)
        assert moments_of(answer) == everything.when(image), (seed, row.name, image)
        for span in answer.spans:
            assert timeline.is_possible(span.state)
            assert fits(engine_image(timeline, span.state), image)
    return len(possible), len(impossible)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_matcher_equals_enumeration(shard: int) -> None:
    possible = impossible = 0
    for seed in count(shard, SHARDS):
        found = compare(seed, ROWS[seed // SHARDS % len(ROWS)])
        possible, impossible = possible + found[0], impossible + found[1]
        if min(possible, impossible) >= PAIRS // SHARDS // 2:
            break
