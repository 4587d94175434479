"""A node's process judges as workers here do, says what differs on its machine, and ends with its link."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from powercut.errors import EnvironmentFailure
from powercut.search.events import Event
from powercut.search.jobs import Job
from powercut.search.judging import Judging
from powercut.search.messages import FailureMessage, Message, frames, pack_jobs
from powercut.search.node_link import NodeLink
from powercut.search.ray_executor import require_ray
from powercut.settings import Settings
from powercut.states.strategies import queue
from powercut.testing.session import Session
from powercut.trace.reader import Trace

MANY = "for i in 1 2 3; do printf $i > data/f.tmp; mv data/f.tmp data/f; echo saved $i; done"
ODD = "caf\udce9"  # no UTF-8
CHECK = '[ "$(cat f)" != "" ] || [ ! -s "$POWERCUT_ACKED" ] || { cat "$POWERCUT_ACKED"; exit 3; }'


def prepare(here: Path) -> tuple[Judging, Trace, list[Job]]:
    """A recorded program with a check, and jobs for all its states."""
    (here / "data").mkdir()
    (here / "check").write_text(CHECK)
    settings = Settings(dir="data", check=f"sh check {ODD}", workers=1, fs="ext4-ordered,posix", lint=False)
    session = Session(settings, here, ignore)
    trace = session.record(["sh", "-c", MANY], here / "trace")
    judging = session.judging(session.timelines(trace))
    states = [(number, s) for number, timeline in enumerate(judging.timelines) for _, s in queue(timeline, 0)]
    return judging, trace, [Job(n, number, state) for n, (number, state) in enumerate(states[::7])]


def ignore(event: Event) -> None:
    """Nobody listens."""


def setup_of(judging: Judging, **changes: object) -> bytes:
    """What a node would be told."""
    return msgspec.structs.replace(judging.node_setup(), name="here", **changes).message()


def start(judging: Judging, trace: Trace, **changes: object) -> NodeLink:
    return NodeLink(np.frombuffer(trace.content, np.uint8), setup_of(judging, **changes))


def receive(link: NodeLink, kind: Message, seconds: float = 30.0) -> object:
    """The next message of a kind; others are left out."""
    received, deadline = bytearray(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        content = link.receive(1.0)
        assert content is not None, "the process ended"
        received += content
        for found, said in frames(received):
            if found is kind:
                return said
    raise AssertionError("it said nothing")


def test_a_node_gives_the_same_verdicts_as_workers_here(tmp_path: Path) -> None:
    judging, trace, jobs = prepare(tmp_path)
    executor, _ = judging.executor(anywhere=False)
    executor.submit(jobs)
    here = {}
    while len(here) < len(jobs):
        here.update((result.id, result.verdict) for result in executor.results(1.0))
    executor.close()
    link = start(judging, trace)
    assert receive(link, Message.READY) == 4  # jobs that keep one worker busy at first
    link.send(pack_jobs(jobs[:5]))
    link.send(pack_jobs(jobs[5:]))
    there = {}
    received = bytearray()
    while len(there) < len(jobs):
        content = link.receive(30.0)
        assert content
        received += content
        for kind, said in frames(received):
            for packed in said if kind is Message.RESULTS else ():
                result = packed.result()
                assert result.id not in there
                there[result.id] = result.verdict
    link.stop()
    assert link.receive(1.0) is None
    told = [{n: (v.outcome, v.code, v.output) for n, v in verdicts.items()} for verdicts in (here, there)]
    assert told[0] == told[1]
    assert len({outcome for outcome, _, _ in told[0].values()}) == 2


def test_a_node_on_which_the_check_is_another_one_says_so(tmp_path: Path) -> None:
    judging, trace, _ = prepare(tmp_path)
    link = start(judging, trace, check=b"another")
    failure = receive(link, Message.FAILED)
    assert isinstance(failure, FailureMessage)
    slug, message, _ = failure.words()
    assert (slug, "the check on node here differs from the one" in message) == ("node-differs", True)
    link.stop()
    link = start(judging, trace, folder=str(tmp_path / "not there"), views=True)
    failure = receive(link, Message.FAILED)
    assert isinstance(failure, FailureMessage)
    slug, message, _ = failure.words()
    assert (slug, "cannot show images" in message) == ("node-differs", True)
    link.stop()


def test_a_node_ends_with_its_link_and_leaves_nothing(tmp_path: Path) -> None:
    judging, trace, jobs = prepare(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    link = start(judging, trace, scratch=str(scratch))
    receive(link, Message.READY)
    assert len(list(scratch.iterdir())) == 1
    link.send(pack_jobs(jobs))
    pid = link._process.pid
    link._socket.close()  # as when the process that holds it is killed
    link._process.wait(20)
    assert list(scratch.iterdir()) == [] and not Path(f"/proc/{pid}").exists()


def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(EnvironmentFailure) as failure:
        require_ray()
    assert failure.value.slug == "no-ray" and "pip install 'powercut[ray]'" in str(failure.value)
