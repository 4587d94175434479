"""The matcher agrees with enumeration: on which images are possible, and on the moments at which they are."""

from __future__ import annotations

import random
from array import array
from itertools import accumulate, chain, count

import pytest

from powercut.matching.differences import differences
from powercut.matching.matcher import Matcher, RowMatch
from powercut.model.filesystem import FILE_SYSTEMS, FileSystem
from powercut.states.lattice import Lattice
from powercut.states.timeline import Timeline
from tests.models.match_twin import Everything, Images, as_observed, fits
from tests.models.random_runs import MEMORY_KINDS, RunMaker, to_trace
from tests.models.test_models import engine_image

PAIRS = 10_000  # half of them impossible
SHARDS = 4
ROWS = list(FILE_SYSTEMS.values())
MOST_PENDING = 9


def moments_of(answer: RowMatch) -> set[int]:
    return {moment for span in answer.spans for moment in range(span.first, span.last + 1)}


def compare(seed: int, row: FileSystem, *, kinds: list[str] | None = None, loose: bool = False) -> tuple[int, int]:
    """Ask for possible and impossible images of one run; how many of each.

    `loose`, the updates lack some of their needs, so that places have no chains of updates.
    """
    timeline = Timeline(to_trace(RunMaker(seed, kinds).make(2 + seed % 9)), row)
    if loose:
        loosen(timeline, seed)
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


def loosen(timeline: Timeline, seed: int) -> None:
    """Take half of the needs away, before anybody has asked for them."""
    rnd, updates = random.Random(seed), timeline.updates
    needs = [[need for need in updates.needs_of(update) if rnd.random() < 0.5] for update in range(len(updates))]
    updates.needs[:] = array("i", chain.from_iterable(needs))
    updates.first_need[:] = array("q", accumulate(map(len, needs), initial=0))


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_matcher_equals_enumeration(shard: int) -> None:
    possible = impossible = 0
    for seed in count(shard, SHARDS):
        found = compare(seed, ROWS[seed // SHARDS % len(ROWS)])
        possible, impossible = possible + found[0], impossible + found[1]
        if min(possible, impossible) >= PAIRS // SHARDS // 2:
            break


def test_needs_may_be_any_graph() -> None:
    counts = [compare(seed, ROWS[seed % len(ROWS)], loose=True) for seed in range(300)]
    assert min(map(sum, zip(*counts, strict=True))) > 300


def test_torn_sectors_are_matched() -> None:
    counts = [compare(seed, ROWS[seed % len(ROWS)].torn()) for seed in range(400)]
    assert min(map(sum, zip(*counts, strict=True))) > 700


def test_mapped_memory_is_matched() -> None:
    counts = [compare(seed, ROWS[seed % len(ROWS)], kinds=MEMORY_KINDS) for seed in range(400)]
    assert min(map(sum, zip(*counts, strict=True))) > 700


def test_a_window_leaves_the_moments_inside_it() -> None:
    for seed in range(300):
        timeline = Timeline(to_trace(RunMaker(seed).make(2 + seed % 9)), ROWS[seed % len(ROWS)])
        matcher = Matcher(timeline)
        everything = Everything(timeline, matcher.first, MOST_PENDING)
        if everything.is_whole:
            image = Images(everything, seed).possible()
            first, last = sorted(random.Random(seed).sample(range(timeline.end + 1), 2))
            inside = {moment for moment in everything.when(image) if first <= moment <= last}
            assert moments_of(matcher.match(as_observed(image), first, last)) == inside


def test_the_nearest_state_is_possible_and_differs_where_it_says() -> None:
    """`differences` finds some between an image and a state just if the state has another image."""
    nearer = asked = 0
    for seed in range(300):
        timeline = Timeline(to_trace(RunMaker(seed).make(2 + seed % 9)), ROWS[seed % len(ROWS)])
        matcher = Matcher(timeline)
        everything = Everything(timeline, matcher.first, 6)
        image = Images(everything, seed).impossible() if everything.is_whole else None
        if image is None:
            continue
        observed = as_observed(image)
        found = matcher.nearest(observed)
        assert found is not None
        assert timeline.is_possible(found.state)
        assert found.differences == tuple(differences(matcher.things, found.state, observed))
        states = list(Lattice(timeline, timeline.end).states())
        counts = [len(list(differences(matcher.things, state, observed))) for state in states]
        assert all(counts), "no state of an impossible image is without differences"
        assert [not count for count in counts] == [fits(engine_image(timeline, state), image) for state in states]
        nearer += min(counts) < len(found.differences)
        asked += 1
    assert asked > 120
    assert nearer <= asked // 50  # it is the nearest that was found, not always the nearest there is
