"""Messages between engine, workers and nodes: what is sent comes back, and what is no message is an error."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powercut.oracle.image_queries import TO_THE_END, Ask
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.jobs import Job, Result, Watched, Watching
from powercut.search.messages import (
    Message,
    MessageError,
    frame,
    frames,
    pack_jobs,
    pack_result,
    unpack_jobs,
    unpack_setup,
)
from powercut.search.node import Setup
from powercut.states.state import Base, State

ODD = "caf\udce9 \ud800 \0"  # neither is UTF-8
JOBS = [
    Job(-1, 0, State(7, Base.ISSUED, frozenset())),
    Job(3, 2, State(2**40, Base.GUARANTEED, frozenset({1, 5, 2**31})), 12, True, Watching.AGAIN),
]
WORDS = (int(Ask.WORDS), b"/\xff", 4096, 1 << 511 | 1)
ASKED = [((int(Ask.DATA), b"f", 0, TO_THE_END), b"\0" * 16), (WORDS, b"")]
RESULTS = [
    Result(1, Verdict(Outcome.PASS)),
    Result(2, Verdict(Outcome.CRASH, 11, ODD, 0.5, (ODD, "f at x.c:3")), Watched(ASKED, "", ODD, 0.25), 1.5),
    Result(3, Verdict(Outcome.ERROR, 0, "no"), Watched(None, "why", "", 0.0)),
    Result(4, Verdict(Outcome.PASS), None, 0.5, True, "so", "and so"),
]
SETUP = Setup(
    name="n", fs="posix", memory="auto", tear=False, argv=["sh", ODD], env={"A": ODD}, timeout=2.5, folder=f"/{ODD}",
    views=True, workers=2, scratch=None, need=1 << 40, check=b"\xff\0", facts={"images": 1, "folder": ODD},
)  # fmt: skip


def test_what_is_sent_comes_back_however_it_is_cut() -> None:
    sent = pack_jobs(JOBS) + frame(Message.RESULTS, list(map(pack_result, RESULTS))) + frame(Message.READY, 4)
    received, found = bytearray(), []
    for at in range(0, len(sent), 7):
        received += sent[at : at + 7]
        found += frames(received)
    assert not received
    assert list(unpack_jobs(found[:1])) == JOBS
    assert [packed.result() for packed in found[1][1]] == RESULTS
    assert found[2] == (Message.READY, 4)


def test_how_a_node_judges_comes_back() -> None:
    (message,) = frames(bytearray(SETUP.message()))
    assert unpack_setup(message, Setup) == SETUP


@given(st.binary(max_size=200), st.sampled_from(list(Message)))
def test_a_body_that_is_none_is_an_error(body: bytes, kind: Message) -> None:
    received = bytearray(len(body).to_bytes(4, "little") + bytes([kind]) + body)
    with suppress(MessageError):
        read(frames(received))


def test_a_message_with_a_wrong_byte_is_an_error_or_another_message() -> None:
    rng = random.Random(0)
    whole = pack_jobs(JOBS) + frame(Message.RESULTS, list(map(pack_result, RESULTS))) + SETUP.message()
    refused = 0
    for _ in range(3000):
        broken = bytearray(whole)
        broken[rng.randrange(len(broken))] = rng.randrange(256)
        try:
            read(frames(broken))
        except MessageError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize("head", [b"\xff\xff\xff\xff\1", b"\1\0\0\0\0", b"\1\0\0\0\x63"])
def test_a_head_that_is_none_is_refused_before_its_body_comes(head: bytes) -> None:
    with pytest.raises(MessageError, match="broken-message"):
        frames(bytearray(head))


def test_another_kind_than_is_expected_is_refused() -> None:
    with pytest.raises(MessageError, match="READY instead of jobs"):
        list(unpack_jobs([(Message.READY, 1)]))
    with pytest.raises(MessageError, match="READY instead of how to judge"):
        unpack_setup((Message.READY, 1), Setup)


def read(messages: list[tuple[Message, object]]) -> None:
    """Look at everything that messages say."""
    for kind, content in messages:
        if kind is Message.JOBS:
            list(unpack_jobs([(kind, content)]))
        elif kind is Message.RESULTS:
            assert isinstance(content, list)
            for packed in content:
                packed.result()
        elif kind is Message.SETUP:
            unpack_setup((kind, content), Setup)
        elif kind is Message.FAILED:
            content.words()  # type: ignore[attr-defined]
