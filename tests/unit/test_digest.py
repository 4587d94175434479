"""Digests: equal images have equal digests, different images different ones, whatever the order of asking."""

from __future__ import annotations

import random

from powercut.image.digest import Digester
from powercut.image.state_image import StateImage
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.state_counts import StateCounts
from powercut.states.strategies import queue
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter
from tests.models.random_runs import RunMaker, to_trace

Content = frozenset[tuple[object, ...]]


def content_of(image: StateImage) -> Content:
    """All that an image holds: paths, kinds, modes, bytes, and which names are one file."""
    found: list[tuple[object, ...]] = [("/", image.mode(0))]
    names: dict[int, list[str]] = {}

    def walk(folder: int, prefix: str) -> None:
        for name, obj in image.entries(folder).items():
            path = prefix + name.decode()
            if image.kind(obj) is ObjectKind.FOLDER:
                found.append((path, image.mode(obj)))
                walk(obj, path + "/")
            else:
                names.setdefault(obj, []).append(path)
                found.append((path, image.mode(obj), image.read(obj, 0, 1 << 20)))

    walk(0, "")
    return frozenset([*found, *(("links", *sorted(paths)) for paths in names.values() if len(paths) > 1)])


def some_states(timeline: Timeline, seed: int, count: int = 60) -> list[State]:
    """The first states of the queue, shuffled."""
    states = [state for _, (_, state) in zip(range(count), queue(timeline, seed), strict=False)]
    random.Random(seed).shuffle(states)
    return states


def snapshot_of(image: StateImage, rng: random.Random, touched: bool) -> Trace:
    """Another trace: a program that starts where this image is, and changes what is there for the same, if at all."""
    writer = TraceWriter()
    inodes: dict[int, int] = {}
    files: list[tuple[int, bytes]] = []
    writer.event(Kind.SNAP_DIR, inode=7, path=b"", extra=0o40000 | image.mode(0), pid=0)

    def walk(folder: int, prefix: bytes) -> None:
        for name, obj in rng.sample(sorted(image.entries(folder).items()), len(image.entries(folder))):
            path, known = prefix + name, obj in inodes
            inode = inodes.setdefault(obj, rng.randrange(1000, 1 << 40))
            if image.kind(obj) is ObjectKind.FOLDER:
                writer.event(Kind.SNAP_DIR, inode=inode, path=path, extra=0o40000 | image.mode(obj), pid=0)
                walk(obj, path + b"/")
                continue
            content = image.read(obj, 0, 1 << 20)
            writer.event(
                Kind.SNAP_FILE, inode=inode, path=path, length=len(content), extra=0o100000 | image.mode(obj), pid=0
            )
            if content and not known:
                writer.event(Kind.SNAP_DATA, inode=inode, data=content, pid=0)
                files.append((inode, content))

    walk(0, b"")
    if touched:
        for inode, content in files:
            writer.event(Kind.WRITE, inode=inode, data=content[:5])
    writer.event(Kind.OUTPUT, data=b"done", extra=1)
    return writer.trace()


def test_digests_tell_images_apart_exactly() -> None:
    equal = 0
    for seed in range(150):
        row = list(FILE_SYSTEMS.values())[seed % len(FILE_SYSTEMS)]
        timeline = Timeline(to_trace(RunMaker(seed).make(9)), row)
        digester = Digester(timeline)
        by_digest: dict[int, Content] = {}
        by_image: dict[Content, int] = {}
        for state in some_states(timeline, seed):
            digest, image = digester.digest(state), content_of(StateImage(timeline, state))
            equal += image in by_image
            assert by_digest.setdefault(digest, image) == image
            assert by_image.setdefault(image, digest) == digest
    assert equal > 100


def test_whole_digests_are_those_of_the_content_whatever_trace_made_it() -> None:
    """Programs that do different things, under different models, from different beginnings, meet in the same images."""
    by_digest: dict[int, Content] = {}
    by_image: dict[Content, int] = {}
    met = 0
    for seed in range(150):
        rng = random.Random(seed)
        timeline = Timeline(to_trace(RunMaker(seed).make(7)), list(FILE_SYSTEMS.values())[seed % len(FILE_SYSTEMS)])
        digester = Digester(timeline, whole=True)
        for number, state in enumerate(some_states(timeline, seed, 20)):
            digest, image = digester.digest(state), StateImage(timeline, state)
            content = content_of(image)
            met += content in by_image
            assert by_digest.setdefault(digest, content) == content
            assert by_image.setdefault(content, digest) == digest
            if number % 4 == 0:
                other = Timeline(snapshot_of(image, rng, touched=number % 8 == 0), FILE_SYSTEMS["ext4-ordered"])
                assert Digester(other, whole=True).digest(State(other.end, Base.ISSUED, frozenset())) == digest
    assert met > 100


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


def test_what_is_judged_for_a_state_keeps_the_same_and_owes_most() -> None:
    """States that are one by their identity are told the same words: those at the crash point that covers them."""
    owing_less = 0
    for seed in range(120):
        row = list(FILE_SYSTEMS.values())[seed % len(FILE_SYSTEMS)]
        timeline = Timeline(to_trace([*RunMaker(seed).make(8), ("print", b"x")]), row)
        for _, (_, state) in zip(range(150), queue(timeline, seed), strict=False):
            judged, point = timeline.with_latest_output(state), timeline.points[timeline.identity(state)[0]]
            assert timeline.identity(judged) == timeline.identity(state)
            assert timeline.kept(judged) == timeline.kept(state)
            assert timeline.acked(judged.point) == timeline.acked(point)
            owing_less += timeline.acked(state.point) != timeline.acked(point)
    assert owing_less > 0


def test_all_states_are_covered_and_counted_once() -> None:
    """What the queue yields is exactly what the lattices of all points hold."""
    for seed in range(120):
        row = list(FILE_SYSTEMS.values())[seed % len(FILE_SYSTEMS)]
        timeline = Timeline(to_trace([*RunMaker(seed).make(8), ("print", b"x")]), row)
        total = StateCounts(timeline).total()
        if isinstance(total, int) and total < 2000:
            assert len({timeline.identity(state) for _, state in queue(timeline, seed)}) == total
