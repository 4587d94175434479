"""What holds for the behaviors of any program, against twins that follow the definitions word by word."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.behaviors import explore, runs
from powercut.states.behaviors.explore import Detail, closed_sets, detail_of
from powercut.states.behaviors.find import Representatives, representatives_of
from powercut.states.behaviors.functions import function_runs, segments
from powercut.states.behaviors.graph import Behavior, Graph, graph_of, nodes_of
from powercut.states.behaviors.groups import group
from powercut.states.behaviors.instances import epochs, instance_runs
from powercut.states.behaviors.layouts import Layout
from powercut.states.behaviors.operations import operations_of
from powercut.states.behaviors.order import order_of
from powercut.states.behaviors.parts import parts_of
from powercut.states.behaviors.shapes import shapes_of
from powercut.states.behaviors.tour import BehaviorTour
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind
from powercut.trace.writer import TraceWriter
from tests.models.stacked_runs import StackedWriter, random_timeline

seeds = st.integers(0, 2**32)


# States


@given(seeds, st.booleans())
@settings(max_examples=80)
def test_every_state_is_possible_and_comes_once(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory)
    states = list(BehaviorTour(representatives_of(timeline)).states())
    assert all(timeline.is_possible(state) for state in states)
    assert len({timeline.identity(state) for state in states}) == len(states)


@given(seeds, st.booleans())
@settings(max_examples=100)
def test_a_behavior_that_is_explored_in_full_shows_each_closed_set_of_its_updates_once(seed: int, memory: bool) -> None:
    """And everything that was issued before it survived."""
    timeline = random_timeline(seed, memory, length=8)
    found = representatives_of(timeline)
    for some in found.groups:
        units = some.representative.updates(found.operations)
        updates = [update for unit in units for update in unit]
        if len(updates) > 9 or detail_of(timeline, units) is not Detail.UPDATES:
            continue
        states = list(explore.explore(timeline, units, Detail.UPDATES))
        shown = [frozenset(u for u in updates if timeline.survives(state, u)) for state in states]
        assert len(set(shown)) == len(shown)
        assert set(shown) == closed_by_definition(timeline, updates)
        for state in states:
            assert all(timeline.survives(state, update) for update in range(updates[0]))


def closed_by_definition(timeline: Timeline, updates: list[int]) -> set[frozenset[int]]:
    """Sets that hold, with each update, those that it needs (by way of any) and those durable when it was issued."""
    before = {u: {v for v in updates if v != u and comes_before(timeline, v, u)} for u in updates}
    sets = (set(some) for size in range(len(updates) + 1) for some in combinations(updates, size))
    return {frozenset(some) for some in sets if all(before[u] <= some for u in some)}


def comes_before(timeline: Timeline, one: int, other: int) -> bool:
    if timeline.updates.guaranteed[one] <= 2 * timeline.updates.event[other]:
        return True
    waiting, seen = [other], {other}
    while waiting:
        for need in timeline.needs(waiting.pop()):
            if need not in seen:
                seen.add(need)
                waiting.append(need)
    return one in seen


@given(seeds, st.booleans())
def test_order_is_that_of_the_definition(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory)
    rng = random.Random(seed)
    updates = sorted(rng.sample(range(len(timeline.updates)), min(len(timeline.updates), 8)))
    masks = order_of(timeline, updates)
    for j, other in enumerate(updates):
        for i, one in enumerate(updates):
            assert bool(masks[j] >> i & 1) == (i != j and comes_before(timeline, one, other))


@given(st.integers(0, 7), seeds)
def test_closed_sets_are_those_of_brute_force(count: int, seed: int) -> None:
    rng = random.Random(seed)
    before = [0] * count
    for i in range(count):
        for j in range(i):
            if rng.random() < 0.3:
                before[i] |= before[j] | 1 << j
    found = list(closed_sets(before))
    masks = range(1 << count)
    expected = [m for m in masks if all(before[i] & ~m == 0 for i in range(count) if m >> i & 1)]
    assert sorted(found) == expected


@given(seeds, st.booleans())
@settings(max_examples=100)
def test_the_telling_states_tear_every_pair_apart_that_can_be(seed: int, memory: bool) -> None:
    """If one update can be lost while a later one survives, a state with one lost shows it."""
    timeline = random_timeline(seed, memory, length=8)
    found = representatives_of(timeline)
    for some in found.groups:
        units = some.representative.updates(found.operations)
        updates = [update for unit in units for update in unit]
        if len(updates) > explore.MOST_SINGLE or detail_of(timeline, units) is not Detail.UPDATES:
            continue
        telling = [*explore.with_one_lost(timeline, units), *explore.with_few_kept(timeline, units)]
        every = list(explore.explore(timeline, units, Detail.UPDATES))
        assert {timeline.identity(state) for state in telling} <= {timeline.identity(state) for state in every}
        torn = [
            {(a, b) for a, b in combinations(updates, 2) if timeline.survives(s, b) and not timeline.survives(s, a)}
            for s in (*telling, *every)
        ]
        assert set().union(*torn[: len(telling)]) == set().union(*torn[len(telling) :])


@given(seeds, st.booleans())
@settings(max_examples=60)
def test_behaviors_that_are_not_new_show_no_pair_of_places_that_those_before_do_not(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory)
    found = representatives_of(timeline)
    shown = [_pairs_of_places(found, some.representative) for some in found.groups]
    new = {pair: update for pairs in shown[: len(found.new)] for pair, update in pairs}
    assert {pair for pairs in shown[len(found.new) :] for pair, _ in pairs} <= set(new)
    known: set[tuple[object, object]] = set()
    for pairs, losses in zip(shown, found.new, strict=False):
        assert losses == sorted({update for pair, update in pairs if pair not in known})
        known |= {pair for pair, _ in pairs}


def _pairs_of_places(found: Representatives, behavior: Behavior) -> set[tuple[tuple[object, object], int]]:
    """((a, b), u): u, made with stack a, may be lost though what was made later with stack b, or the end, is there."""
    depth = np.zeros(len(behavior.operations), np.int32)
    places = found.operations.places(np.array(behavior.operations, np.int32), depth)
    named = replace(behavior, places=tuple(places.tolist()))
    nodes, graph = nodes_of(found.operations, found.parts, named), graph_of(found.operations, found.parts, named)
    pairs = [*combinations(range(len(nodes)), 2), *((a, a) for a in range(len(nodes)))]
    torn = [(a, b) for a, b in pairs if nodes[a][0] >= 0 and not graph.before[b] >> a & 1]
    return {((nodes[a][2], nodes[b][2]), nodes[a][0]) for a, b in torn}


def test_large_behaviors_fall_back_in_order_and_say_so() -> None:
    """Writes to different files: 2**n closed sets."""
    found = {}
    for calls, pieces in ((8, 1), (8, 3), (12, 1)):
        writer = StackedWriter(0, 1)
        writer.event(Kind.SNAP_DIR, inode=100, path=b"", extra=0o40755, pid=0)
        for number in range(calls):
            writer.event(Kind.SNAP_FILE, inode=number + 1, path=b"%d" % number, length=1 << 20, extra=0o100644)
        for number in range(calls):
            TraceWriter.event(writer, Kind.WRITE, inode=number + 1, data=bytes(4096 * pieces), stack=1)
        timeline = Timeline(writer.trace(), FILE_SYSTEMS["posix"])
        tour = BehaviorTour(representatives_of(timeline))
        every = list(tour.states())
        assert all(timeline.is_possible(state) for state in every)
        calls_of = [range(n * pieces, (n + 1) * pieces) for n in range(calls)]
        states = list(explore.explore(timeline, calls_of, detail_of(timeline, calls_of)))
        for state in states:
            assert all(len({timeline.survives(state, update) for update in call}) == 1 for call in calls_of)
        shown = {timeline.identity(state) for state in states}
        assert shown <= {timeline.identity(state) for state in every}
        counts = tour.counts()
        assert counts["states"] == len(every)
        found[calls, pieces] = (counts["with_whole_operations"], counts["a_few_operations_at_a_time"], len(shown))
    assert found == {(8, 1): (0, 0, 256), (8, 3): (1, 0, 256), (12, 1): (0, 1, 256 + 256 - 16)}
    cuts = tour.cuts()
    assert any("8 operations at a time" in cut for cut in cuts), cuts


# Behaviors


@given(seeds, st.booleans())
@settings(max_examples=80)
def test_every_update_belongs_to_a_behavior(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory)
    operations = operations_of(timeline)
    owned = [u for o in range(len(operations)) for u in range(operations.first[o], operations.end[o])]
    assert sorted(owned) == list(range(len(timeline.updates)))
    first, *rest = function_runs(operations) if len(operations) else [None]
    if first is not None:
        covered = {int(o) for a, b in zip(first.first, first.end, strict=True) for o in first.order[a:b]}
        assert covered == set(range(len(operations)))
    stored = instance_runs(operations)
    stores = set(np.flatnonzero(operations.stores).tolist())
    assert (set() if stored is None else set(stored.order.tolist())) == stores
    assert all((level.end - level.first <= runs.MOST).all() for level in rest)


@given(seeds, st.booleans())
@settings(max_examples=100)
def test_every_behavior_is_in_a_group_whose_representative_represents_it(seed: int, memory: bool) -> None:
    timeline = random_timeline(seed, memory, length=16)
    found = representatives_of(timeline)
    members = {(member.operations, member.places) for some in found.groups for member in some.members}
    assert len(members) == found.shapes
    for some in found.groups:
        mine = graph_of(found.operations, found.parts, some.representative)
        for member in some.members:
            assert mine.represents(graph_of(found.operations, found.parts, member))
    for one, other in combinations(found.groups, 2):  # no representative is needed twice
        graphs = [graph_of(found.operations, found.parts, some.representative) for some in (one, other)]
        whole = [
            detail_of(timeline, some.representative.updates(found.operations)) is Detail.UPDATES
            for some in (one, other)
        ]
        larger, smaller = sorted(graphs, key=lambda graph: -len(graph.names))
        if all(whole) and len(larger.names) > len(smaller.names):
            assert not larger.represents(smaller)


@given(seeds, st.booleans())
@settings(max_examples=50)
def test_the_same_run_gives_the_same_groups(seed: int, memory: bool) -> None:
    one, other = (summary(representatives_of(random_timeline(seed, memory))) for _ in range(2))
    assert one == other


def summary(found: Representatives) -> list[list[Behavior]]:
    return [some.members for some in found.groups]


# Algorithm 1, clusters, epochs


@given(seeds)
@settings(max_examples=200)
def test_segments_are_those_of_algorithm_1(seed: int) -> None:
    operations = operations_of(random_timeline(seed, False, length=25))
    starts, _ = segments(operations)
    mine = np.split(operations.by_thread, np.flatnonzero(starts)[1:])
    paths = {o: operations.tree.nodes[operations.stack[o]].tolist() for o in range(len(operations))}
    expected = []
    for thread in np.unique(operations.thread):
        expected.extend(algorithm_1([int(o) for o in operations.by_thread if operations.thread[o] == thread], paths))
    assert [part.tolist() for part in mine] == expected


def algorithm_1(trace: list[int], paths: dict[int, list[int]]) -> list[list[int]]:
    """Line by line; an operation that is left over at the end is a behavior of its own."""
    found: list[list[int]] = []
    ub: list[int] = []
    prev_lcp: list[int] = []
    for op, after in pairwise(trace):
        lcp = common_function(paths[op], paths[after])
        if not ub:  # op is not in any update behavior
            ub = [op, after]
        elif prev_lcp == lcp:
            ub.append(after)
        elif lcp[: len(prev_lcp)] == prev_lcp:  # prev_f is parent of f
            ub.remove(op)
            found.append(ub)
            ub = [op, after]
        else:
            found.append(ub)
            ub = []
        prev_lcp = lcp
    left = [] if ub else trace[-1:]
    return [*found, *([ub] if ub else []), *([left] if left else [])]


def common_function(one: list[int], other: list[int]) -> list[int]:
    """The way to the deepest function of both stacks; their innermost frames are places in functions, not functions."""
    ways = [[node for node in path if node >= 0] for path in (one, other)]
    ways = [way[: max(1, len(way) - 1)] for way in ways]
    length = 0
    while length < min(map(len, ways)) and ways[0][length] == ways[1][length]:
        length += 1
    return ways[0][:length]


@given(st.lists(st.integers(0, 60), max_size=20), st.integers(1, 12))
def test_clusters_are_those_of_dbscan(times: list[int], reach: int) -> None:
    times = sorted(times)
    starts = runs.in_time(np.array(times, np.int64), np.zeros(len(times), np.int64), reach)
    label = np.cumsum(starts).tolist()
    for i, j in product(range(len(times)), repeat=2):
        assert (label[i] == label[j]) == (j in reached(times, i, reach))


def reached(times: list[int], start: int, reach: int) -> set[int]:
    """The cluster of a point, as DBSCAN grows it: every point is a core point."""
    cluster, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for other, time in enumerate(times):
            if other not in cluster and abs(time - times[here]) <= reach:
                cluster.add(other)
                waiting.append(other)
    return cluster


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(1, 6)), max_size=25),
)
@settings(max_examples=200)
def test_epochs_are_those_of_the_criteria(stores: list[tuple[int, int, int, int]]) -> None:
    """Stores as (instance, field, time to the next, how long until durable)."""
    times = np.cumsum([2 + 2 * gap for _, _, gap, _ in stores]).astype(np.int64) if stores else np.empty(0, np.int64)
    durable = np.array([t + 2 * wait + 1 for t, (_, _, _, wait) in zip(times.tolist(), stores, strict=True)], np.int64)
    instance = np.array([i for i, _, _, _ in stores], np.int64)
    field = np.array([f for _, f, _, _ in stores], np.int64)
    found = epochs(Layout(np.zeros_like(instance), instance, field), times, durable) if stores else np.empty(0)
    assert found.tolist() == epochs_by_definition(instance.tolist(), field.tolist(), times.tolist(), durable.tolist())


def epochs_by_definition(instance: list[int], field: list[int], times: list[int], durable: list[int]) -> list[bool]:
    starts = []
    epoch: dict[int, set[int]] = {}  # fields of the current epoch
    for i, mine in enumerate(instance):
        before = [j for j in range(i) if instance[j] == mine]
        since = range(before[-1] + 1, i) if before else range(0)
        others = {instance[j] for j in since}
        first = all(durable[j] <= times[i] for j in before) and field[i] in epoch.get(mine, set())
        second = any(all(durable[j] <= times[i] for j in range(i) if instance[j] == other) for other in others)
        starts.append(not before or first or second)
        if starts[-1]:
            epoch[mine] = set()
        epoch[mine].add(field[i])
    return starts


@given(st.lists(st.integers(0, 4), min_size=runs.MOST + 1, max_size=200))
def test_long_runs_are_cut_into_parts_that_cover_them(sites: list[int]) -> None:
    site = np.array(sites, np.int64)
    order = np.arange(len(site), dtype=np.int32)
    whole = runs.Runs("", order, order.astype(np.uint64), site, np.array([0]), np.array([len(site)]))
    parts = runs.cut(whole)
    assert (parts.end - parts.first <= runs.MOST).all()
    assert parts.cut == 1
    covered = {p for first, end in zip(parts.first, parts.end, strict=True) for p in range(first, end)}
    assert covered == set(range(len(site)))


# The represents-relation


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Nodes are locations that may come several times; edges are closed."""
    places = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=5))
    names = tuple((place, places[:i].count(place)) for i, place in enumerate(places))
    before = [0] * len(names)
    for i in range(len(names)):
        for j in range(i):
            if draw(st.booleans()):
                before[i] |= before[j] | 1 << j
    return Graph(names, tuple(before))


@given(graphs(), graphs())
@settings(max_examples=200)
def test_represents_is_definition_3_5(one: Graph, other: Graph) -> None:
    """Nodes are equivalent if they have the same location and are as often reached; the rest is the paper's."""
    n1, n2 = set(one.names), set(other.names)
    e1, e2 = edge_names(one), edge_names(other)
    image = {a for a in n1 if a in n2}
    subset = all(b in n1 for b in n2)
    assert one.represents(other) == (subset and {(a, b) for a, b in e1 if a in image and b in image} <= e2)
    if subset:
        assert len(image) == len(n2)  # what the paper derives from definition 3.3


def edge_names(graph: Graph) -> set[tuple[object, object]]:
    pairs = product(range(len(graph.names)), repeat=2)
    return {(graph.names[i], graph.names[j]) for i, j in pairs if graph.before[j] >> i & 1}


@given(graphs(), graphs(), graphs())
@settings(max_examples=200)
def test_represents_is_reflexive_and_transitive(a: Graph, b: Graph, c: Graph) -> None:
    assert a.represents(a)
    if a.represents(b) and b.represents(c):
        assert a.represents(c)


@given(graphs(), graphs())
@settings(max_examples=200)
def test_a_representative_shows_every_order_that_it_represents(one: Graph, other: Graph) -> None:
    """Each closed set of the represented is a closed set of the representative, seen by its nodes alone."""
    if one.represents(other):
        place = {name: i for i, name in enumerate(one.names)}
        shown = {frozenset(n for n in other.names if s >> place[n] & 1) for s in closed_sets(one.before)}
        for closed in closed_sets(other.before):
            assert frozenset(n for i, n in enumerate(other.names) if closed >> i & 1) in shown


@given(st.lists(graphs(), max_size=12), st.integers(0, 3))
@settings(max_examples=200)
def test_groups_are_those_of_section_3_4(some: list[Graph], too_large: int) -> None:
    """From the largest to the smallest, each joins all groups that represent it, or founds one."""
    behaviors = [(Behavior("", (number,), (number,)), graph) for number, graph in enumerate(some)]
    whole = {behavior: len(graph.names) < 5 - too_large for behavior, graph in behaviors}
    expected: list[list[int]] = []
    for behavior, graph in sorted(behaviors, key=lambda b: (-len(b[1].names), b[1].edges, b[0].operations)):
        (number,) = behavior.operations
        joined = [
            members
            for members in expected
            if some[members[0]].represents(graph) and (whole[behaviors[members[0]][0]] or not whole[behavior])
        ]
        for members in joined:
            members.append(number)
        if not joined:
            expected.append([number])
    found = group(behaviors, whole.__getitem__)
    assert [[member.operations[0] for member in one.members] for one in found] == expected


@given(seeds)
@settings(max_examples=60)
def test_runs_of_one_shape_have_the_same_graph(seed: int) -> None:
    operations = operations_of(random_timeline(seed, False, length=40, threads=1))
    parts = parts_of(operations)
    for level in function_runs(operations):
        known: dict[int, Graph] = {}
        shapes = shapes_of(operations, parts, level)
        for shape, first, end in zip(shapes.tolist(), level.first, level.end, strict=True):
            members, places = level.order[first:end].tolist(), level.place[first:end].tolist()
            graph = graph_of(operations, parts, Behavior("", tuple(members), tuple(places)))
            if shape:
                assert known.setdefault(shape, graph) == graph
