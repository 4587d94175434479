"""What a log tells after cuts, on logs made by hand: each word has the versions that a plain account gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from powercut.guard.history import History
from powercut.guard.log import MAGIC, RECORD, SEGMENT_HEAD, VERSION, GuardLog, RecordFlag, RecordKind
from powercut.guard.present import read_present
from powercut.guard.writing import sealed

WORD, WORDS, SALT = 8, 6, 0xABCD
PLAIN, RESTORE = RecordFlag(0), RecordFlag.RESTORE


@dataclass(frozen=True)
class Made:
    """A record: of changes, one byte for each word."""

    kind: RecordKind
    word: int = 0
    values: bytes = b""
    flags: RecordFlag = PLAIN
    transaction: int = 0

    def to_bytes(self, sequence: int) -> bytes:
        data = b"".join(bytes([value]) * WORD for value in self.values)
        if self.kind == RecordKind.POOL:
            data = b"/nowhere"
        head = np.zeros((), RECORD)
        head["sequence"], head["kind"], head["size"] = sequence, self.kind, len(data)
        head["offset"] = self.word * WORD
        head["transaction"], head["flags_pool"] = self.transaction, 1 << 4 | self.flags
        return sealed(head, data, SALT)


def write_log(folder: Path, made: list[Made]) -> None:
    head = np.zeros((), SEGMENT_HEAD)
    head["magic"], head["version"], head["number"], head["salt"] = MAGIC, VERSION, 1, SALT
    content = b"".join(record.to_bytes(number) for number, record in enumerate(made))
    (folder / "1.segment").write_bytes(head.tobytes() + content)
    (folder / "pool-1.base").write_bytes(bytes(WORD * WORDS))


def history_of(folder: Path) -> History:
    log = GuardLog(folder)
    return History(log, log.pools[1])


@dataclass
class Account:
    """The versions of each word, oldest first: record and value."""

    versions: list[list[tuple[int, int]]] = field(default_factory=lambda: [[(-1, 0)] for _ in range(WORDS)])
    known: list[bool] = field(default_factory=lambda: [False] * WORDS)

    def write(self, record: int, word: int, value: int) -> None:
        if self.versions[word][-1][1] != value or not self.known[word]:
            self.versions[word].append((record, value))
        self.known[word] = True

    def tell(self, record: int, word: int, value: int, doubtful: set[int], undone: set[int]) -> None:
        """The word holds a value: that of a version that may be the last one that came true, or a new one."""
        versions = self.versions[word]
        first = max(at for at, (made, _) in enumerate(versions) if made not in doubtful)
        same = [at for at in range(first, len(versions)) if versions[at][1] == value]
        true = [at for at in same if versions[at][0] not in undone] or same[:1]
        if true:
            del versions[true[-1] + 1 :]
        else:
            versions.append((record, value))


STARTED = Made(RecordKind.START)
values = st.binary(min_size=1, max_size=WORDS).map(lambda data: bytes(value % 3 for value in data))
UNDONE, COMMITTED = 7, 8  # transactions
UPDATE = RecordKind.UPDATE
OWN = [(UPDATE, PLAIN), (UPDATE, PLAIN), (UPDATE, RecordFlag.FENCED)]
TOLD = [(UPDATE, RESTORE), (RecordKind.FOUND, PLAIN)]
changes = st.builds(
    lambda kind, word, data, number: Made(kind[0], word, data[: WORDS - word], kind[1], number),
    st.sampled_from(OWN + TOLD),
    st.integers(0, WORDS - 1),
    values,
    st.sampled_from([0, UNDONE, COMMITTED]),
)
logs = st.lists(changes | changes | st.just(STARTED), max_size=14)


def account_of(made: list[Made]) -> Account:
    """Record by record, the rule of settling.py."""
    account = Account()
    own = [n for n, record in enumerate(made) if (record.kind, record.flags) in OWN]
    for number, record in enumerate(made):
        if number not in own and tells_of_nothing(account, made, own, record):
            continue
        doubtful, undone = in_doubt(made, own, number)
        for word, value in enumerate(record.values, record.word):
            if number in own:
                account.write(number, word, value)
            else:
                account.tell(number, word, value, doubtful, undone)
                account.known[word] = account.versions[word][-1][0] in own
    return account


def tells_of_nothing(account: Account, made: list[Made], own: list[int], record: Made) -> bool:
    """Whether a transaction was rolled back that had logged nothing, so that all is as it was."""
    logged = {0, *(made[n].transaction for n in own)}
    as_it_was = all(account.versions[word][-1][1] == value for word, value in enumerate(record.values, record.word))
    return record.transaction not in logged and as_it_was


def in_doubt(made: list[Made], own: list[int], number: int) -> tuple[set[int], set[int]]:
    """Which records before one may not have come true, and which of them were rolled back, if that is what it tells."""
    before = range(last_run(made, own, number), number)
    undone = {n for n in before if made[n].transaction == UNDONE}
    if made[number].flags == RESTORE:
        return undone | {n for n in before if (made[n].kind, made[n].flags) in TOLD}, undone
    fenced = max((n for n in before if made[n].flags == RecordFlag.FENCED), default=before.start)
    return undone | set(range(fenced, number)), set()


def last_run(made: list[Made], own: list[int], number: int) -> int:
    """Where the run began that was cut; of a rollback, the last one before in which anything was written."""
    start = max(n for n in range(number + 1) if made[n] == STARTED)
    written = [n for n in own if n < start]
    if made[number].flags == RESTORE and written:
        return max(n for n in range(written[-1]) if made[n] == STARTED)
    return start


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(logs)
@example([Made(UPDATE, 1, b"\0\1\1\0", PLAIN, UNDONE), Made(UPDATE, 2, b"\1\1\0", RESTORE, COMMITTED)])
def test_each_word_has_the_versions_that_a_plain_account_gives(tmp_path: Path, middle: list[Made]) -> None:
    committed = Made(RecordKind.COMMIT, transaction=COMMITTED)
    alone = [one for record in middle for one in (record, Made(RecordKind.FREE))]  # no two tell as one
    made = [STARTED, Made(RecordKind.POOL), committed, *alone]
    write_log(tmp_path, made)
    history, account = history_of(tmp_path), account_of(made)
    for word in range(WORDS):
        start = word * WORD
        pieces = history.pieces.table[history.pieces.touching(start, start + WORD)]
        assert [-1, *pieces["record"].tolist()] == [record for record, _ in account.versions[word]]
        assert history.content(start, start + WORD) == bytes([account.versions[word][-1][1]]) * WORD
    assert read_present(tmp_path).pools[1].now(0, WORD * WORDS) == history.content(0, WORD * WORDS)


def test_what_a_file_held_before_never_counts(tmp_path: Path) -> None:
    """A segment in a file that was used before, and records inside the data of one that is torn."""
    inner = Made(RecordKind.UPDATE, 0, b"\1").to_bytes(9)
    write_log(tmp_path, [STARTED, Made(RecordKind.POOL)])
    path = tmp_path / "1.segment"
    content = path.read_bytes()
    other_salt = np.frombuffer(content[:64], SEGMENT_HEAD).copy()
    other_salt["salt"] = SALT + 1
    path.write_bytes(other_salt.tobytes() + content[64:] + inner)
    assert len(GuardLog(tmp_path)) == 0
    path.write_bytes(content + inner)
    assert len(GuardLog(tmp_path)) == 3


def test_records_of_a_pool_whose_own_record_was_lost_are_not_laid_over_the_next_base(tmp_path: Path) -> None:
    lost = Made(RecordKind.UPDATE, 1, b"\2")
    write_log(tmp_path, [STARTED, lost, Made(RecordKind.POOL), Made(RecordKind.UPDATE, 0, b"\1")])
    assert history_of(tmp_path).content(0, 2 * WORD) == b"\1" * WORD + bytes(WORD)
    assert read_present(tmp_path).pools[1].now(0, 2 * WORD) == b"\1" * WORD + bytes(WORD)
