"""What a recovery and a check make of a crash image decides whether an inconsistency is a bug."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from powercut.image.state_image import StateImage
from powercut.oracle.verdict import Outcome, Verdict
from powercut.race.accesses import Accesses
from powercut.race.inconsistencies import Inconsistency, inconsistencies
from powercut.race.locks import held_locks
from powercut.race.recovery import Bytes, Recovery
from powercut.race.validation import Judged, Standing, Validator
from powercut.record.recorder import RecordOptions
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Channel, Effect, Kind, Order
from tests.unit.race_kit import RaceTrace

ONE, TWO = 11, 12
NOTHING = "true"
OVERWRITE = "printf 12345678 | dd of=pool bs=1 seek=128 conv=notrunc status=none"
HALF = "printf 1234 | dd of=pool bs=1 seek=128 conv=notrunc status=none"
NEW_FILE = "rm pool; head -c 4096 /dev/zero > pool"
BYTE = 'test "$(od -An -tu1 -j{} -N1 pool)" -ne 0'
EFFECT_IS_FATAL = f"! {BYTE.format(128)} || {{}}"


@pytest.fixture
def recovery(tmp_path: Path):
    def make(script: str, limit: float = 10.0) -> Recovery:
        folder, scratch = tmp_path / "data", tmp_path / "scratch"
        for path in (folder, scratch):
            path.mkdir(exist_ok=True)
        return Recovery(["sh", "-c", script], RecordOptions(folder, folder, scratch / "t"), scratch, limit)

    return make


def unflushed_pointer() -> tuple[Timeline, Inconsistency]:
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.store(TWO, 128, 9)
    race.effect(TWO, number)
    race.store(TWO, 192, 5)
    race.persist(ONE, 0)
    timeline = race.timeline()
    (found,) = inconsistencies(timeline, Accesses(timeline.trace))
    return timeline, found


def judged(recovery: Recovery, check=None) -> Judged:
    return Validator(recovery, check).judge(*unflushed_pointer())


def test_an_effect_that_is_overwritten_is_benign(recovery) -> None:
    assert judged(recovery(OVERWRITE)).standing is Standing.BENIGN


def test_an_effect_that_is_overwritten_in_part_is_not(recovery) -> None:
    assert judged(recovery(HALF)).standing is Standing.BUG


def test_a_file_that_is_made_anew_holds_nothing_of_the_effect(recovery) -> None:
    assert judged(recovery(NEW_FILE)).standing is Standing.BENIGN


def test_what_nobody_repairs_is_a_bug(recovery) -> None:
    assert judged(recovery(NOTHING)).standing is Standing.BUG


@pytest.mark.parametrize(
    ("script", "outcome"), [("exit 3", Outcome.FAIL), ("kill -SEGV $$", Outcome.CRASH), ("sleep 60", Outcome.HANG)]
)
def test_a_recovery_that_fails_because_of_the_loss_shows_a_bug(recovery, script: str, outcome: Outcome) -> None:
    found = judged(recovery(EFFECT_IS_FATAL.format(script), limit=1.0))
    assert (found.standing, found.verdict.outcome, found.plain) == (Standing.BUG, outcome, None)


def test_a_recovery_that_is_slow_once_does_not_hang(recovery, tmp_path: Path) -> None:
    """The machine may just have been busy."""
    slow = recovery(f"test -e {tmp_path}/again || {{ touch {tmp_path}/again; sleep 60; }}", limit=1.0)
    timeline, found = unflushed_pointer()
    said = Validator(replace(slow, patience=20.0), None).judge(timeline, found)
    assert said.verdict.outcome is Outcome.PASS


def test_a_recovery_that_fails_without_the_effect_as_well_shows_a_plain_crash_bug(recovery) -> None:
    found = judged(recovery("exit 3"))
    assert found.standing is Standing.UNCONFIRMED
    assert found.plain is not None
    assert found.plain.by_recovery


def test_the_image_without_the_effect_holds_all_else(recovery) -> None:
    """A line's earlier stores, which the effect cannot be without, may be what the recovery fails of."""
    race = RaceTrace()
    race.store(ONE, 136, 1)  # never flushed
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.store(TWO, 128, 9)
    race.effect(TWO, number)
    race.persist(ONE, 0)
    timeline = race.timeline()
    (found,) = inconsistencies(timeline, Accesses(timeline.trace))
    said = Validator(recovery(f"! {BYTE.format(136)}"), None).judge(timeline, found)
    assert (said.standing, said.plain is not None) == (Standing.UNCONFIRMED, True)


def test_a_recovery_that_fails_because_of_an_earlier_effect_of_the_same_race_shows_a_bug(recovery) -> None:
    """The image without the second effect has the first one: only the one in which nothing is lost tells them apart."""
    race = RaceTrace()
    race.store(ONE, 0, 7)
    for offset in (128, 192):
        number = race.candidate(TWO, 0)
        race.store(TWO, offset, 9)
        race.effect(TWO, number)
        race.persist(TWO, offset)
    race.persist(ONE, 0)
    timeline = race.timeline()
    *_, second = inconsistencies(timeline, Accesses(timeline.trace))
    refuses = recovery(f"! {BYTE.format(128)} || {BYTE.format(0)}")
    found = Validator(refuses, None).judge(timeline, second)
    assert (found.standing, found.scene, found.plain is not None) == (Standing.BUG, 1, True)


def test_a_check_that_refuses_what_lacks_nothing_shows_a_plain_crash_bug(recovery) -> None:
    def check(timeline: Timeline, state: State) -> Verdict:
        later = StateImage(timeline, state).read(1, 192, 8) != bytes(8)
        return Verdict(Outcome.FAIL, 1) if later else Verdict(Outcome.PASS)

    found = judged(recovery(NOTHING), check)
    assert found.standing is Standing.UNCONFIRMED
    assert found.plain is not None
    assert not found.plain.by_recovery


def test_a_check_that_refuses_the_image_without_an_effect_that_is_repaired_shows_a_plain_crash_bug(recovery) -> None:
    found = judged(recovery(OVERWRITE), lambda *_: Verdict(Outcome.FAIL, 1))
    assert (found.standing, found.plain is not None) == (Standing.BENIGN, True)
    assert judged(recovery(OVERWRITE), needs_pointer(128)).plain is None


def needs_pointer(offset: int):
    """A check that refuses what another word holds without the pointer."""

    def check(timeline: Timeline, state: State) -> Verdict:
        image = StateImage(timeline, state)
        pointer, other = (image.read(1, at, 8) != bytes(8) for at in (0, offset))
        return Verdict(Outcome.FAIL, 1) if other and not pointer else Verdict(Outcome.PASS)

    return check


def test_a_check_that_refuses_the_effect_without_what_it_needs_shows_a_bug(recovery) -> None:
    found = judged(recovery(NOTHING), needs_pointer(128))
    assert (found.standing, found.scene) == (Standing.BUG, 0)


def test_a_check_is_asked_about_the_last_moment_too(recovery) -> None:
    found = judged(recovery(NOTHING), needs_pointer(192))
    assert (found.standing, found.scene) == (Standing.BUG, 1)


def test_a_check_that_refuses_in_other_words_without_the_effect_shows_a_bug(recovery) -> None:
    def check(timeline: Timeline, state: State) -> Verdict:
        said = needs_pointer(128)(timeline, state)
        return Verdict(Outcome.FAIL, 1, "astray" if not said.passed else "the lock is taken")

    assert judged(recovery(NOTHING), check).standing is Standing.BUG


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL, Outcome.ERROR])
def test_a_check_that_sees_no_difference_confirms_nothing(recovery, outcome: Outcome) -> None:
    assert judged(recovery(NOTHING), lambda *_: Verdict(outcome)).standing is Standing.UNCONFIRMED


def test_an_output_needs_a_check(recovery) -> None:
    race = RaceTrace()
    race.store(ONE, 0, 7)
    number = race.candidate(TWO, 0)
    race.effect(TWO, number, Effect.OUTPUT)
    race.call(Kind.OUTPUT, data=b"7\n", extra=Channel.STDOUT, pid=1, tid=TWO)
    timeline = race.timeline()
    (found,) = inconsistencies(timeline, Accesses(timeline.trace))
    assert Validator(recovery(NOTHING), None).judge(timeline, found).standing is Standing.UNCONFIRMED

    def check(timeline: Timeline, state: State) -> Verdict:
        there = StateImage(timeline, state).read(1, 0, 8) != bytes(8)
        return Verdict(Outcome.FAIL, 1) if timeline.acked(state.point) and not there else Verdict(Outcome.PASS)

    assert Validator(recovery(NOTHING), check).judge(timeline, found).standing is Standing.BUG


def test_equal_images_are_judged_once(recovery) -> None:
    validator = Validator(recovery(NOTHING), None)
    results = [validator.judge(*unflushed_pointer()) for _ in range(3)]
    assert len(set(results)) == 1
    assert (validator.images, validator.equal) == (1, 2)


def locked_word(value: int = 1, *, freed: bool = True) -> Timeline:
    race = RaceTrace()
    race.store(ONE, 64, value, line=5, size=4, how="locked")
    race.order(ONE, 64)
    race.store(ONE, 64, 0, line=6, size=4)
    if freed:
        race.order(ONE, 64, Order.UNLOCK)
    return race.timeline()


@pytest.mark.parametrize(
    ("script", "standing"),
    [
        (NOTHING, Standing.BUG),
        ("printf '\\0\\0\\0\\0' | dd of=pool bs=1 seek=64 conv=notrunc status=none", Standing.BENIGN),
        ("printf '\\2\\0\\0\\0' | dd of=pool bs=1 seek=64 conv=notrunc status=none", Standing.BUG),
        (NEW_FILE, Standing.BENIGN),
        ('test "$(od -An -tu1 -j64 -N1 pool)" -eq 0 || sleep 60', Standing.BUG),
    ],
    ids=["left", "freed", "other value", "made anew", "hang"],
)
def test_a_lock_must_be_freed(recovery, script: str, standing: Standing) -> None:
    timeline = locked_word()
    (lock,) = held_locks(timeline, Accesses(timeline.trace))
    assert lock.free == bytes(4)
    assert Validator(recovery(script, limit=1.5), None).judge_lock(timeline, lock).standing is standing


def test_a_lock_word_that_does_not_change_is_none() -> None:
    timeline = locked_word(0)
    assert not list(held_locks(timeline, Accesses(timeline.trace)))


def test_a_flag_that_is_never_freed_is_no_lock() -> None:
    timeline = locked_word(freed=False)
    assert not list(held_locks(timeline, Accesses(timeline.trace)))


def test_a_lock_word_that_the_program_declares_is_free_when_it_says_so() -> None:
    race = RaceTrace(bytes(64) + b"\1\0\0\0")
    race.declare(64, 4, initial=9)
    race.store(ONE, 64, 1, line=5, size=4, how="locked")
    race.order(ONE, 64)
    timeline = race.timeline()
    (lock,) = held_locks(timeline, Accesses(timeline.trace))
    assert lock.free == (9).to_bytes(4, "little")


def test_the_recovery_runs_on_the_image_and_not_on_the_folder(recovery, tmp_path: Path) -> None:
    timeline, found = unflushed_pointer()
    recovered = recovery("cp pool copy; rm pool").on(timeline, found.state)
    assert recovered.holds(Bytes(b"copy", 128, 8)) == (9).to_bytes(8, "little")
    assert recovered.holds(Bytes(b"pool", 128, 8)) == b""
    assert not any((tmp_path / "data").iterdir())
    assert not any((tmp_path / "scratch").iterdir())
