"""Running jobs on a Ray cluster: one link to a process on each node, which judges with all its cores.

Before: a Ray cluster that exists, with powercut and the check on every node. After: exactly one result for every job,
also if nodes die: what a dead node was doing goes to the others, and an answer counts only from the node that has the
job. The trace travels to each node once, through Ray's object store; states travel as differences.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import field
from importlib.util import find_spec
from typing import Any

import msgspec
import numpy as np

from powercut.errors import EnvironmentFailure
from powercut.quick_dataclass import dataclass
from powercut.search.jobs import Job, Result
from powercut.search.messages import Message, MessageError, frames, pack_jobs
from powercut.search.node import Setup
from powercut.search.node_link import NodeLink

AUTO = "auto"
_RECEIVE_SECONDS = 1.0  # how long a node waits for results until it says that there are none
_START_SECONDS = 120.0
_KNOCK_SECONDS = 10.0
_BATCH = 64  # jobs at a time, so that a fast node does not take all


@dataclass(slots=True, eq=False)
class _Node:
    """What the engine knows of a node.

    Attributes:
        running: jobs it was given and has not answered, in order.
        wanted: how many it should have at hand; 0 until it is ready.
        answer: what its link will return next.
    """

    name: str
    link: Any
    answer: Any
    running: dict[int, Job] = field(default_factory=dict)
    wanted: int = 0
    received: bytearray = field(default_factory=bytearray)


class RayExecutor:
    """Runs jobs on all nodes of a cluster."""

    def __init__(self, trace: bytes | mmap.mmap, setup: Setup, address: str | None) -> None:
        self._ray = import_ray()
        self._queue: deque[Job] = deque()
        self._done: list[Result] = []
        self._nodes: list[_Node] = []
        self._lost: list[str] = []
        self._closed = False
        self._connected = connect(self._ray, address)
        try:
            self._start(trace, setup)
        except BaseException:
            self.close()
            raise

    # What the engine sees

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue jobs in order."""
        self._queue.extend(jobs)
        self._dispatch()

    def results(self, timeout: float | None) -> list[Result]:
        """Results that came in; waits for the first while jobs are running, at most for the time given."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._done and self._outstanding():
            left = _RECEIVE_SECONDS if deadline is None else deadline - time.monotonic()
            if left < 0:
                break
            self._listen(min(left, _RECEIVE_SECONDS))
            self._dispatch()
        done, self._done = self._done, []
        return done

    def capacity(self) -> int:
        """How many more jobs keep all nodes busy until they are asked for again."""
        return max(0, sum(node.wanted for node in self._nodes) - self._outstanding())

    def notes(self) -> list[str]:
        """What happened to nodes."""
        return [f"node {name} was lost; other nodes took over its work" for name in self._lost]

    def close(self) -> None:
        """End the process on every node; the cluster stays."""
        if self._closed:
            return
        self._closed = True
        stopped = [node.link.stop.remote() for node in self._nodes]
        with contextlib.suppress(Exception):  # whatever Ray says about nodes that are gone
            self._ray.wait(stopped, num_returns=len(stopped), timeout=_RECEIVE_SECONDS * 10)
        for node in self._nodes:
            with contextlib.suppress(Exception):
                self._ray.kill(node.link)
        if self._connected:
            self._ray.shutdown()

    # Nodes

    def _start(self, trace: bytes | mmap.mmap, setup: Setup) -> None:
        content = self._ray.put(np.frombuffer(trace, np.uint8))
        actor = self._ray.remote(NodeLink)
        for node in cluster_nodes(self._ray):
            workers = setup.workers or int(node["Resources"]["CPU"])
            name = f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"
            told = msgspec.structs.replace(setup, name=name, workers=workers)
            link = actor.options(**self._place(node["NodeID"])).remote(content, told.message())
            self._nodes.append(_Node(name, link, link.receive.remote(_RECEIVE_SECONDS)))
        deadline = time.monotonic() + _START_SECONDS
        while not all(node.wanted for node in self._nodes):
            if time.monotonic() > deadline:
                waiting = ", ".join(node.name for node in self._nodes if not node.wanted)
                raise EnvironmentFailure("node-slow", f"nodes did not start in {_START_SECONDS:.0f} s: {waiting}.")
            self._listen(_RECEIVE_SECONDS)

    def _place(self, node: str) -> dict[str, Any]:
        """On that node and no other; a dead one is not started elsewhere, since its jobs are."""
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        return {"scheduling_strategy": strategy, "max_restarts": 0, "max_concurrency": 4, "num_cpus": 0.01}

    def _outstanding(self) -> int:
        return len(self._queue) + sum(len(node.running) for node in self._nodes)

    def _dispatch(self) -> None:
        """Give each node that has room a batch of neighbours."""
        given = True
        while self._queue and given:
            given = False
            for node in self._nodes:
                count = min(node.wanted - len(node.running), _BATCH, len(self._queue))
                if count > 0:
                    jobs = [self._queue.popleft() for _ in range(count)]
                    node.running.update((job.id, job) for job in jobs)
                    node.link.send.remote(pack_jobs(jobs))
                    given = True

    def _listen(self, seconds: float) -> None:
        by_answer = {node.answer: node for node in self._nodes}
        ready, _ = self._ray.wait(list(by_answer), num_returns=1, timeout=seconds)
        for answer in ready:
            node = by_answer[answer]
            try:
                content = self._ray.get(answer)
            except self._ray.exceptions.RayError:
                content = None
            if content is None:
                self._lose(node)
                continue
            node.answer = node.link.receive.remote(_RECEIVE_SECONDS)
            node.received += content
            for kind, said in frames(node.received):
                self._handle(node, kind, said)

    def _handle(self, node: _Node, kind: Message, content: Any) -> None:
        if kind is Message.READY:
            node.wanted = max(1, content)
        elif kind is Message.FAILED:
            raise EnvironmentFailure(*content.words())
        elif kind is Message.RESULTS:
            for packed in content:
                result = packed.result()
                if node.running.pop(result.id, None) is not None:
                    self._done.append(result)
        else:
            raise MessageError.because(f"{kind.name} from node {node.name}")

    def _lose(self, node: _Node) -> None:
        """What a dead node was doing goes back to the front of the queue."""
        self._nodes.remove(node)
        self._lost.append(node.name)
        self._queue.extendleft(reversed(node.running.values()))
        if not self._nodes:
            raise EnvironmentFailure(
                "no-nodes", f"the last node of the Ray cluster was lost: {node.name}.", "Continue with powercut resume."
            )
        self._dispatch()


def require_ray() -> None:
    """Refuse to start what Ray would be needed for, if it is not there."""
    if find_spec("ray") is None:
        raise EnvironmentFailure(
            "no-ray", "--executor ray needs Ray, which is not installed.", "Run pip install 'powercut[ray]'."
        )


def import_ray() -> Any:
    """The module, which takes its time."""
    require_ray()
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # keeps a warning away
    import ray
    import ray.util.scheduling_strategies

    return ray


def connect(ray: Any, address: str | None) -> bool:
    """Connect to a cluster that exists; whether this was new."""
    if ray.is_initialized():
        return False
    where = address or os.environ.get("RAY_ADDRESS") or AUTO
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _knock(where)
        ray.init(address=where, log_to_driver=False, logging_level="ERROR")
        signal.signal(signal.SIGTERM, handler)  # Ray puts in its own
    except Exception as error:  # Ray has many for this
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise EnvironmentFailure(
            "no-ray-cluster",
            f"cannot reach a Ray cluster at {where}: {reason}",
            "Start one with ray start --head, or give its address with --ray-address.",
        ) from error
    return True


def _knock(address: str) -> None:
    """See that somebody is there: Ray itself would wait for them for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in address:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()


def cluster_nodes(ray: Any) -> list[dict[str, Any]]:
    """The nodes that are alive and have cores for checks."""
    found = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    if not found:
        raise EnvironmentFailure("no-nodes", "the Ray cluster has no node with a core for checks.")
    return found
