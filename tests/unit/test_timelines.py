"""The rows of one trace beside each other: what they have in common is found, and is really the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, groupby, islice
from pathlib import Path

import pytest

from powercut.findings.finding import Finding
from powercut.image.digest import Digester
from powercut.image.folder import ImageFolder
from powercut.image.state_image import StateImage, StateImages
from powercut.model.filesystem import FILE_SYSTEMS, GROUPS, file_systems
from powercut.states.rules import ExtraSync
from powercut.states.strategies import FIRST_TURN, joint_queue, queue
from powercut.states.strategy_order import STRATEGY_NAMES
from powercut.states.timeline import Timeline
from powercut.states.timelines import Rows, are_same, counterpart, make_timelines
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter
from tests.models.random_runs import KINDS, RunMaker, to_trace
from tests.unit.explore_ops import explore, files
from tests.unit.test_digest import Content, content_of, some_states

LINUX = GROUPS["linux"]
ENDING = [name for name in STRATEGY_NAMES if name != "samples"]


def timelines_of(ops: list[tuple], *names: str) -> list[Timeline]:
    trace = to_trace(ops)
    return [Timeline(trace, FILE_SYSTEMS[name]) for name in names or FILE_SYSTEMS]


def random_timelines(seeds: int, *names: str) -> Iterator[tuple[int, list[Timeline]]]:
    for seed in range(seeds):
        yield seed, timelines_of([*RunMaker(seed).make(9), ("print", b"x")], *names)


def rows_of(timelines: list[Timeline]) -> Rows:
    digesters = [Digester(timeline) for timeline in timelines]
    return Rows(
        timelines, lambda number, state: (digesters[number].digest(state), timelines[number].acked(state.point))
    )


def test_the_group_linux_is_what_people_run_and_the_default() -> None:
    assert [row.name for row in file_systems("linux")] == ["ext4-ordered", "xfs", "btrfs"]
    assert [row.name for row in file_systems("all")] == list(FILE_SYSTEMS)
    assert [row.name for row in file_systems("posix,linux,xfs")] == ["posix", "ext4-ordered", "xfs", "btrfs"]


def test_digests_of_one_trace_compare_across_rows() -> None:
    """Not only those of whole images: on every row the same names and files change, so the same is left out."""
    met = 0
    for seed, timelines in random_timelines(80):
        by_digest: dict[int, Content] = {}
        by_image: dict[Content, tuple[int, str]] = {}
        for timeline in timelines:
            digester = Digester(timeline)
            for state in some_states(timeline, seed, 25):
                digest, image = digester.digest(state), content_of(StateImage(timeline, state))
                assert by_digest.setdefault(digest, image) == image
                known, row = by_image.setdefault(image, (digest, timeline.row.name))
                assert known == digest
                met += row != timeline.row.name
    assert met > 1000


def test_rows_that_are_the_same_have_the_same_states_and_images() -> None:
    same = 0
    for seed, timelines in random_timelines(120):
        for one, other in combinations(timelines, 2):
            if are_same(one, other):
                same += 1
                states = list(islice(queue(one, seed, ENDING), 60))
                assert states == list(islice(queue(other, seed, ENDING), 60))
                for _, state in states[:20]:
                    assert content_of(StateImage(one, state)) == content_of(StateImage(other, state))
    assert same > 100


def test_rows_differ_where_one_forgives_more() -> None:
    kept = [("create", "a"), ("write", "a", 0, b"old", ""), ("sync",)]
    replaced = [*kept, ("create", "b"), ("write", "b", 0, b"new", ""), ("rename", "b", "a")]
    assert are_same(*timelines_of(kept, "ext4-ordered", "xfs"))
    assert not are_same(*timelines_of(replaced, "ext4-nodelalloc", "xfs"))
    assert not are_same(*timelines_of(kept, "ext4-ordered", "ext4-writeback"))  # zeros, and what lay there before
    assert rows_of(timelines_of(kept, *LINUX)).leaders == [0, 2]
    assert rows_of(timelines_of(replaced, *LINUX)).leaders == [0, 2]
    assert rows_of(timelines_of([*replaced, ("truncate", "a", 1)], *LINUX)).leaders == [0, 1, 2]


def test_a_state_elsewhere_is_possible_there_and_holds_the_same() -> None:
    found = 0
    for seed, timelines in random_timelines(60):
        rows = rows_of(timelines)
        for number, timeline in enumerate(timelines):
            for state in some_states(timeline, seed, 12):
                image = content_of(StateImage(timeline, state))
                for other, there in rows.elsewhere(number, state):
                    found += 1
                    assert other != number and there.point == state.point
                    assert timelines[other].is_possible(there)
                    assert content_of(StateImage(timelines[other], there)) == image
    assert found > 1000


def test_a_mount_option_that_changes_nothing_leaves_the_same() -> None:
    for seed, timelines in random_timelines(60, "ext4-ordered", "ext4-noauto_da_alloc"):
        rows = rows_of(timelines)
        for state in some_states(timelines[0], seed, 30):
            assert [other for other, _ in rows.elsewhere(0, state)] == [1]


def test_what_a_row_guarantees_has_no_counterpart_there() -> None:
    ops = [("create", "a"), ("write", "a", 0, b"x", ""), ("fdatasync", "a"), ("print", b"x")]
    ext4, btrfs = timelines_of(ops, "posix", "btrfs")
    nothing = ext4.without([0], ext4.end)  # the name: fdatasync does not persist it there
    assert "a" not in files(ext4, nothing)
    assert counterpart(ext4, nothing, btrfs) is None


def overwriting() -> Trace:
    """A program that finds two files and changes them in place."""
    writer = TraceWriter()
    writer.event(Kind.SNAP_DIR, inode=9, path=b"", extra=0o40755, pid=0)
    for inode, name in ((1, b"f"), (2, b"g")):
        writer.event(Kind.SNAP_FILE, inode=inode, path=name, length=12288, extra=0o100644, pid=0)
        writer.event(Kind.SNAP_DATA, inode=inode, data=b"o" * 12288, pid=0)
    for inode, offset in ((1, 4096), (2, 0), (1, 4000), (2, 8192)):
        writer.event(Kind.WRITE, inode=inode, offset=offset, data=b"n" * 200)
    writer.event(Kind.SETATTR, inode=1, extra=0o100600)
    writer.event(Kind.TRUNCATE, inode=2, length=5)
    return writer.trace()


def test_a_folder_on_disk_goes_on_from_row_to_row(tmp_path: Path) -> None:
    """It is not built anew, and holds just the image of the state."""
    kinds = [kind for kind in KINDS if kind != "chmod"]  # all can be read
    traces = [overwriting(), *(to_trace(RunMaker(seed, kinds).make(9)) for seed in range(20))]
    for seed, trace in enumerate(traces):
        timelines = [Timeline(trace, row) for row in FILE_SYSTEMS.values()]
        work = tmp_path / str(seed)
        folder = ImageFolder(work / "root", work / "store", StateImages(timelines[0]))
        places = [(n, s) for n, timeline in enumerate(timelines) for s in some_states(timeline, seed)[:8]]
        random.Random(seed).shuffle(places)
        for position, (number, state) in enumerate(places):
            folder.turn_to(StateImages(timelines[number]))
            if position % 3:  # now and then two turns without a move
                folder.move_to(state)
                found = [path for path in (work / "root").rglob("*") if path.is_file()]
                content = {str(path.relative_to(work / "root")): path.read_bytes() for path in found}
                assert content == files(timelines[number], state)
                if seed == 0:
                    assert (work / "root" / "f").stat().st_mode & 0o777 == StateImage(timelines[number], state).mode(1)
        folder.close()
        assert folder.rebuilds == 1


def test_all_rows_have_their_turn_of_a_strategy_before_the_next_one_begins() -> None:
    ops = [("create", name) for name in "abc"] + [("write", name, 0, bytes(9000), "") for name in "abc" * 4]
    timelines = timelines_of(ops, *LINUX)
    states = list(joint_queue(dict(enumerate(timelines)), 0, ENDING))
    turns = [key for key, _ in groupby(states, lambda item: (item[1], item[0]))]
    first = [turn for position, turn in enumerate(turns) if turn not in turns[:position]]
    assert first == [(name, number) for name in ENDING for number in range(3) if (name, number) in turns]
    for number, timeline in enumerate(timelines):
        assert [(name, state) for row, name, state in states if row == number] == list(queue(timeline, 0, ENDING))
    assert len(states) > 3 * FIRST_TURN


def test_a_tired_row_leaves_the_queue_to_the_others() -> None:
    ops = [("create", "a"), *(("write", "a", 4096 * block, b"x" * 4096, "") for block in range(30))]
    timelines, tired = dict(enumerate(timelines_of(ops, "posix", "xfs"))), set[int]()
    rows = []
    for number, _, _ in islice(joint_queue(timelines, 0, ["samples"], tired), 5 * FIRST_TURN):
        rows.append(number)
        if len(rows) == 10:
            tired.add(0)
    assert rows == [0] * 10 + [1] * (5 * FIRST_TURN - 10)


REPLACE = [
    *(("create", "a"), ("write", "a", 0, b"old", ""), ("sync",), ("print", b"go\n")),
    *(("create", "b"), ("write", "b", 0, b"new", ""), ("rename", "b", "a")),
]


def kept_whole(content: dict[str, bytes], acked: bytes) -> bool:
    return not acked or content.get("a") in (b"old", b"new")


def summary(findings: list[Finding]) -> list[tuple[str, str, list[str]]]:
    return [(finding.id, finding.kind.value, finding.models) for finding in findings]


def test_a_replace_without_sync_is_found_on_the_rows_that_do_not_forgive_it() -> None:
    (finding,), counts = explore(REPLACE, kept_whole, *LINUX, "ext4-nodelalloc")
    assert finding.models == list(LINUX)
    assert finding.fix is not None and finding.fix.verified
    assert counts.exhausted and counts.total == counts.tested + counts.equal


def test_a_mistake_is_one_finding_with_one_id_on_whatever_rows_it_is_looked_for() -> None:
    first = [("create", "b"), ("write", "b", 0, b"new", ""), ("rename", "b", "a")]
    alone = [explore(first, lambda content, _: content.get("a") in (None, b"new"), name)[0] for name in LINUX]
    for rows in (LINUX, LINUX[::-1], tuple(FILE_SYSTEMS)):
        ((name, kind, models),) = summary(
            explore(first, lambda content, _: content.get("a") in (None, b"new"), *rows)[0]
        )
        assert {(name, kind)} == {(one.id, one.kind.value) for findings in alone for one in findings}
        assert models == [row for row in rows if row not in ("ext4-journal", "ext4-nodelalloc")]


def test_what_is_too_late_on_one_row_and_never_synced_on_another_is_one_mistake() -> None:
    """Any sync commits the journal of ext4, so there the names are synced in the end; on btrfs they never are."""
    ops = [
        *(("mkdir", "c"), ("mkdir", "d"), ("create", "c/x"), ("create", "d/y"), ("create", "n")),
        *(("write", "n", 0, b"0", ""), ("sync",), ("unlink", "c/x"), ("unlink", "d/y"), ("write", "n", 0, b"1", "")),
        *(("fdatasync", "n"), ("create", "other"), ("fsync", "other")),
    ]

    def check(content: dict[str, bytes], acked: bytes) -> bool:
        return content.get("n") != b"1" or not {"c/x", "d/y"} & content.keys()

    (ext4,), btrfs = (explore(ops, check, name)[0] for name in ("ext4-ordered", "btrfs"))
    assert (ext4.kind.value, {one.kind.value for one in btrfs}) == ("ordering", {"unpersisted"})
    both = {one.id: one for one in explore(ops, check, "ext4-ordered", "btrfs")[0]}
    assert both.keys() == {one.id for one in btrfs} and len(both) == 2  # on btrfs it takes a sync of each folder
    assert both[ext4.id].models == ["ext4-ordered", "btrfs"]
    assert all(one.fix is not None and one.fix.verified for one in both.values())


def test_a_fix_holds_on_every_row_that_shows_the_mistake() -> None:
    """On ext4 a sync of either folder makes both names durable, but a mistake takes its own; on btrfs it needs both."""
    ops = [("mkdir", "c"), ("mkdir", "d"), ("sync",), ("create", "c/x"), ("create", "d/y"), ("print", b"done\n")]

    def check(content: dict[str, bytes], acked: bytes) -> bool:
        return not acked or {"c/x", "d/y"} <= content.keys()

    (ext4,), _ = explore(ops, check, "ext4-ordered")
    assert ext4.fix is not None and ext4.fix.verified and ext4.fix.text.count("fsync") == 1
    for rows in (("ext4-ordered", "btrfs"), ("btrfs", "ext4-ordered")):
        both = {one.id: one for one in explore(ops, check, *rows)[0]}
        assert len(both) == 2 and both[ext4.id].models == list(rows)
        texts = " ".join(one.fix.text for one in both.values() if one.fix is not None and one.fix.verified)
        assert "fsync on the directory (c)" in texts and "fsync on the directory (d)" in texts


@pytest.mark.parametrize("states", [1, 4, 9])
def test_the_budget_ends_all_rows_at_once(states: int) -> None:
    _, counts = explore(REPLACE, lambda content, _: True, *LINUX, states=states)
    assert counts.tested == states and not counts.exhausted


def test_kin_stay_the_same_whatever_syncs_are_added() -> None:
    """A row whose syncs do more, or less, is no kin, even where the program makes none that shows it."""
    kin = 0
    for seed, timelines in random_timelines(150):
        rows, rng = rows_of(timelines), random.Random(seed)
        ends = [(rng.randrange(1, len(timelines[0].trace.events)), rng.random() < 0.5) for _ in range(3)]
        objects = sorted(set(timelines[0].updates.obj))
        syncs = [ExtraSync(event, rng.choice(objects), data_only) for event, data_only in ends if objects]
        for number, timeline in enumerate(timelines):
            if rows.kin(number) != number:
                kin += 1
                first = timelines[rows.kin(number)]
                fixed = [Timeline(one.trace, one.row, syncs) for one in (first, timeline)]
                assert are_same(*fixed)
    assert kin > 50
    twins = rows_of(timelines_of([("create", "a")], "ext4-ordered", "btrfs"))
    assert twins.twins(1) == [0, 1] and twins.kin(1) == 1


def test_rows_that_are_the_same_share_what_they_hold() -> None:
    trace = to_trace([("create", "a"), ("sync",)])
    ext4, xfs, btrfs = make_timelines(trace, file_systems("linux"))
    assert ext4.updates is xfs.updates
    assert [timeline.label for timeline in (ext4, xfs, btrfs)] == list(LINUX)
