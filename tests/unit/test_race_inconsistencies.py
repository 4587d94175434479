"""An inconsistency is one exactly if the model has a crash state with the effect and without what it depends on."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.image.state_image import StateImage
from powercut.race.accesses import Accesses
from powercut.race.inconsistencies import Inconsistency, inconsistencies
from powercut.report.listing import list_trace
from powercut.states.timeline import Timeline
from powercut.trace.layout import Channel, Effect, Flush, Kind
from tests.unit.race_kit import RaceTrace

ONE, TWO = 11, 12


def found_in(race: RaceTrace, memory: str = "px86") -> tuple[Timeline, list[Inconsistency]]:
    timeline = race.timeline(memory)
    return timeline, list(inconsistencies(timeline, Accesses(timeline.trace)))


def unflushed_pointer(*, flushed: bool = False, fenced: bool = False, effect_at: int = 128) -> RaceTrace:
    race = RaceTrace()
    race.store(ONE, 0, 7, line=1)
    if flushed:
        race.flush(ONE, 0)
    if fenced:
        race.fence(ONE)
    number = race.candidate(TWO, 0, line=2)
    race.store(TWO, effect_at, 7, line=3)
    race.effect(TWO, number)
    return race


def test_a_store_of_what_another_thread_has_not_made_durable() -> None:
    timeline, (found,) = found_in(unflushed_pointer())
    assert found.between_threads
    assert timeline.is_possible(found.state)
    assert all(timeline.survives(found.state, update) for update in found.made)
    assert not any(timeline.survives(found.state, update) for update in found.lost)


def test_a_flush_without_a_fence_guarantees_nothing() -> None:
    assert found_in(unflushed_pointer(flushed=True))[1]


def test_what_is_flushed_and_fenced_is_no_inconsistency() -> None:
    assert not found_in(unflushed_pointer(flushed=True, fenced=True))[1]


def test_the_fence_of_another_thread_does_not_count() -> None:
    race = RaceTrace()
    race.store(ONE, 0, 7)
    race.flush(ONE, 0)
    race.fence(TWO)
    number = race.candidate(TWO, 0)
    race.store(TWO, 128, 7)
    race.effect(TWO, number)
    assert found_in(race)[1]


def test_an_effect_in_the_same_line_cannot_survive_alone() -> None:
    assert not found_in(unflushed_pointer(effect_at=8))[1]


def test_where_the_cache_survives_there_is_none() -> None:
    assert not found_in(unflushed_pointer(), "eadr")[1]


def test_what_a_thread_reads_back_itself_is_told_apart() -> None:
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(ONE, 0)
    race.store(ONE, 128, 7)
    race.effect(ONE, number)
    ((found,),) = found_in(race)[1:]
    assert not found.between_threads


def test_a_guarantee_between_load_and_effect_is_in_time() -> None:
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.persist(ONE, 0)
    race.store(TWO, 128, 7)
    race.effect(TWO, number)
    assert not found_in(race)[1]


def test_the_last_moment_is_just_before_the_guarantee_and_holds_all_the_rest() -> None:
    race = unflushed_pointer()
    race.store(TWO, 192, 9)
    race.persist(ONE, 0)
    race.store(TWO, 256, 9)
    timeline, (found,) = found_in(race)
    assert timeline.is_possible(found.closing)
    image = StateImage(timeline, found.closing)
    words = [int.from_bytes(image.read(1, offset, 8), "little") for offset in (0, 128, 192, 256)]
    assert words == [0, 7, 9, 0]


def test_an_effect_of_several_words_is_whole() -> None:
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.store(TWO, 128, 7)
    race.rest(TWO, 136, 8)
    race.effect(TWO, number)
    _, (found,) = found_in(race)
    assert len(found.effect) == len(found.made) == 2


def test_what_is_said_to_the_outside_is_an_effect() -> None:
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.effect(TWO, number, Effect.OUTPUT)
    race.call(Kind.OUTPUT, data=b"7\n", extra=Channel.STDOUT, pid=1, tid=TWO)
    timeline, (found,) = found_in(race)
    assert found.made == ()
    assert timeline.acked(found.state.point) == b"7\n"


def test_records_that_do_not_fit_together_are_left_out() -> None:
    race = RaceTrace()
    race.effect(TWO, 99)
    number = race.candidate(TWO, 0)  # of bytes that nobody stored
    race.store(TWO, 128, 7)
    race.effect(TWO, number)
    race.store(ONE, 0, 7)
    race.effect(TWO, number)  # not after a store of its thread
    assert not found_in(race)[1]


# The brute-force twin: what a crash just after the effect can leave, from the rules of px86 alone.


@dataclass(frozen=True)
class Op:
    what: str
    thread: int
    word: int = 0


LINES = 3
operations = st.one_of(
    st.builds(
        Op, st.sampled_from(["store", "nontemporal"]), st.sampled_from([ONE, TWO]), st.integers(0, 2 * LINES - 1)
    ),
    st.builds(Op, st.sampled_from(["clwb", "clflush"]), st.sampled_from([ONE, TWO]), st.integers(0, 2 * LINES - 1)),
    st.builds(Op, st.just("fence"), st.sampled_from([ONE, TWO])),
)


def line_of(word: int) -> int:
    return word // 2


def offset_of(word: int) -> int:
    return line_of(word) * 64 + word % 2 * 8


def is_sure(ops: list[Op], store: int) -> bool:
    """Whether a store is guaranteed after all operations: it, or a later one of its line, was written back in time."""
    later = [at for at in range(store, len(ops)) if ops[at].what in ("store", "nontemporal")]
    same = [at for at in later if line_of(ops[at].word) == line_of(ops[store].word)]
    return any(_directly(ops, at) for at in same)


def _directly(ops: list[Op], store: int) -> bool:
    if ops[store].what == "nontemporal" and _fenced(ops, store, ops[store].thread):
        return True
    flushes = [at for at in range(store, len(ops)) if ops[at].what in ("clwb", "clflush")]
    mine = [at for at in flushes if line_of(ops[at].word) == line_of(ops[store].word)]
    return any(ops[at].what == "clflush" or _fenced(ops, at, ops[at].thread) for at in mine)


def _fenced(ops: list[Op], after: int, thread: int) -> bool:
    return any(op.what == "fence" and op.thread == thread for op in ops[after + 1 :])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(operations, max_size=10),
    st.integers(0, 2 * LINES - 1),
    st.lists(operations, max_size=6),
    st.integers(0, 7),
)
def test_the_timeline_and_the_twin_agree(before: list[Op], read: int, between: list[Op], effect: int) -> None:
    race = RaceTrace()
    for op in before:
        perform(race, op)
    number = race.candidate(TWO, offset_of(read))
    for op in between:
        perform(race, op)
    race.store(TWO, offset_of(effect), 99)
    race.effect(TWO, number)
    stores = [at for at, op in enumerate(before) if op.what in ("store", "nontemporal") and op.word == read]
    expected = bool(stores) and line_of(effect) != line_of(read) and not is_sure([*before, *between], stores[-1])
    timeline, found = found_in(race)
    assert bool(found) == expected
    for one in found:
        assert timeline.is_possible(one.state)
        assert timeline.is_possible(one.closing)


def perform(race: RaceTrace, op: Op) -> None:
    if op.what == "fence":
        race.fence(op.thread)
    elif op.what in ("clwb", "clflush"):
        race.flush(op.thread, offset_of(op.word), Flush[op.what.upper()])
    else:
        race.store(op.thread, offset_of(op.word), 5, how="" if op.what == "store" else op.what)


def test_a_listing_tells_what_was_read_too_early_and_what_came_of_it() -> None:
    race = unflushed_pointer()
    race.order(TWO, 64)
    lines = list(list_trace(race.trace()))
    assert any("candidate" in line and "8 bytes at 0" in line and "candidate 1" in line for line in lines)
    assert any("effect" in line and "candidate 1 by its value" in line for line in lines)
    assert any("order" in line and "lock" in line for line in lines)
