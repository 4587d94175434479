"""Digests: equal images have equal digests, different images different ones, whatever the order of asking."""

from __future__ import annotations

import random

from powercut.image.digest import Digester
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.strategies import count_states, queue
from powercut.states.timeline import Timeline
from tests.models.random_runs import RunMaker, to_trace
from tests.models.test_models import engine_image


def test_digests_tell_images_apart_exactly() -> None:
    equal = different = 0
    for seed in range(150):
        row = list(FILE_SYSTEMS.values())[seed % len(FILE_SYSTEMS)]
        timeline = Timeline(to_trace(RunMaker(seed).make(9)), row)
        if len(timeline.pending(timeline.end)) > 12:
            continue
        states = [state for _, state in zip(range(60), (s for _, s in queue(timeline, seed)), strict=False)]
        random.Random(seed).shuffle(states)
        digester = Digester(timeline)
        by_digest: dict[int, object] = {}
        by_image: dict[object, int] = {}
        for state in states:
            digest, image = digester.digest(state), engine_image(timeline, state)
            assert by_digest.setdefault(digest, image) == image
            if image in by_image:
                equal += by_image[image] == digest
                different += by_image[image] != digest
            by_image[image] = digest
    # The same files under a folder that is another object may have another digest: then both are judged.
    assert equal > 20 * different


def test_a_fresh_digester_agrees_with_one_that_followed() -> None:
    for seed in range(60):
        timeline = Timeline(to_trace(RunMaker(seed).make(9)), FILE_SYSTEMS["posix"])
        following = Digester(timeline)
        for _, (_, state) in zip(range(30), queue(timeline, seed), strict=False):
            assert following.digest(state) == Digester(timeline).digest(state)


def test_identity_is_the_same_for_one_set_and_differs_for_others() -> None:
    for seed in range(200):
        row = list(FILE_SYSTEMS.values())[seed % len(FILE_SYSTEMS)]
        timeline = Timeline(to_trace([*RunMaker(seed).make(9), ("print", b"x")]), row)
        known: dict[tuple[int, int], frozenset[int]] = {}
        for _, (_, state) in zip(range(150), queue(timeline, seed), strict=False):
            kept = frozenset(timeline.kept(state))
            assert known.setdefault(timeline.identity(state), kept) == kept


def test_all_states_are_covered_and_counted_once() -> None:
    """What the queue yields is exactly what the lattices of all points hold."""
    for seed in range(120):
        row = list(FILE_SYSTEMS.values())[seed % len(FILE_SYSTEMS)]
        timeline = Timeline(to_trace([*RunMaker(seed).make(8), ("print", b"x")]), row)
        total = count_states(timeline)
        if total is not None and total < 2000:
            assert len({timeline.identity(state) for _, state in queue(timeline, seed)}) == total
