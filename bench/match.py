"""How long the matcher takes for a thousand images of a trace of a thousand events, on every row.

The trace is that of a small storage engine: logs that are appended to and synced now and then, a database that is
overwritten block by block, files that are replaced by rename, logs that are cut. Half of the images are crash states of
the row, in which garbage is as the model shows it; the other half mix two of them or have wrong bytes, so that most are
impossible. An image that is a state must be found so, and each answer must be decided.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence

from kit import Broken, Row, at_most
from run import table

from powercut.image.state_image import StateImage
from powercut.matching.matcher import Matcher
from powercut.matching.observed import Node, ObservedImage, file_node, folder_node
from powercut.model.filesystem import FILE_SYSTEMS, FileSystem
from powercut.states.objects import ObjectKind
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter

EVENTS = 1000
IMAGES = 1000
MOST_SECONDS = 10.0
BLOCK = 4096
DATABASE, BLOCKS = 2, 64
LOGS, FIRST_LOG = 4, 10


def measure(events: int = EVENTS, images: int = IMAGES) -> list[Row]:
    """One row of the table for each file system."""
    trace = make_trace(events)
    return [_measure(trace, row, images) for row in FILE_SYSTEMS.values()]


def _measure(trace: Trace, row: FileSystem, count: int) -> Row:
    timeline, rnd = Timeline(trace, row), random.Random(1)
    images = [_image(timeline, rnd, wrong=bool(number % 2)) for number in range(count)]
    start = time.process_time()  # of this process alone: other work on the machine does not count
    matcher = Matcher(timeline)
    answers = [matcher.match(image) for image in images]
    seconds = time.process_time() - start
    if not all(answer.possible for answer in answers[::2]) or not all(answer.decided for answer in answers):
        raise Broken(f"the matcher is wrong or undecided on {row.name}")
    possible = sum(answer.possible for answer in answers)
    return at_most(
        f"{count} images ({possible} possible), {len(trace.events)} events, {row.name}", seconds, "s", MOST_SECONDS
    )


def make_trace(events: int, seed: int = 0) -> Trace:
    """The trace of a small storage engine."""
    return _Engine(random.Random(seed)).run(events)


class _Engine:
    def __init__(self, rnd: random.Random) -> None:
        self._random = rnd
        self._writer = TraceWriter()
        self._ends: dict[int, int] = {}  # log -> its size
        self._next = 100
        self._writer.event(Kind.SNAP_DIR, inode=1, path=b"", extra=0o40755, pid=0)
        self._writer.event(Kind.SNAP_FILE, inode=DATABASE, path=b"db", extra=0o100644, length=BLOCKS * BLOCK, pid=0)
        self._writer.event(Kind.SNAP_DATA, inode=DATABASE, data=rnd.randbytes(BLOCKS * BLOCK), pid=0)

    def run(self, events: int) -> Trace:
        written = 0
        while written < events:
            step = self._random.choice(
                [self._append] * 6 + [self._overwrite] * 3 + [self._replace, self._cut, self._say]
            )
            written = step()
        return self._writer.trace()

    def _append(self) -> int:
        log = FIRST_LOG + self._random.randrange(LOGS)
        if log not in self._ends:
            self._writer.event(Kind.CREATE, inode=log, path=b"log%d" % log, extra=0o100644)
            self._ends[log] = 0
        data = self._random.randbytes(self._random.randrange(20, 300))
        event = self._writer.event(Kind.WRITE, inode=log, offset=self._ends[log], data=data)
        self._ends[log] += len(data)
        return self._writer.event(Kind.FDATASYNC, inode=log) if self._random.random() < 0.1 else event

    def _overwrite(self) -> int:
        at = self._random.randrange(BLOCKS) * BLOCK
        event = self._writer.event(Kind.WRITE, inode=DATABASE, offset=at, data=self._random.randbytes(BLOCK))
        return self._writer.event(Kind.FSYNC, inode=DATABASE) if self._random.random() < 0.1 else event

    def _replace(self) -> int:
        self._next += 1
        name = b"small%d" % self._random.randrange(8)
        self._writer.event(Kind.CREATE, inode=self._next, path=b"tmp", extra=0o100600)
        self._writer.event(Kind.WRITE, inode=self._next, offset=0, data=self._random.randbytes(100))
        if self._random.random() < 0.3:
            self._writer.event(Kind.FSYNC, inode=self._next)
        return self._writer.event(Kind.RENAME, inode=self._next, path=b"tmp", path2=name)

    def _cut(self) -> int:
        log = FIRST_LOG + self._random.randrange(LOGS)
        if log not in self._ends:
            return 0
        self._ends[log] = 0
        return self._writer.event(Kind.TRUNCATE, inode=log, length=0)

    def _say(self) -> int:
        return self._writer.event(Kind.OUTPUT, data=b"done\n", extra=1)


def _image(timeline: Timeline, rnd: random.Random, *, wrong: bool) -> ObservedImage:
    """The image of a random state, or one that is nearly that."""
    nodes = _nodes(timeline, _state(timeline, rnd))
    if wrong:
        other = _nodes(timeline, _state(timeline, rnd))
        for path in [path for path in nodes if path in other and rnd.random() < 0.3]:
            nodes[path] = other[path]
        path = rnd.choice(sorted(nodes))
        data = nodes[path].content.read(0, nodes[path].content.size)
        if data and rnd.random() < 0.5:
            nodes[path] = file_node(data[:-1] + bytes([data[-1] ^ 1]), nodes[path].mode)
    return ObservedImage(nodes)


def _state(timeline: Timeline, rnd: random.Random) -> State:
    point = rnd.randrange(timeline.end)
    pending = timeline.pending(point)
    if not pending:
        return timeline.without([], point)
    some = rnd.sample(pending, rnd.randrange(min(8, len(pending))))
    return timeline.without(some, point) if rnd.random() < 0.5 else timeline.with_only(some, point)


def _nodes(timeline: Timeline, state: State) -> dict[bytes, Node]:
    image, nodes = StateImage(timeline, state), dict[bytes, Node]()
    for name, obj in image.entries(0).items():
        if image.kind(obj) is ObjectKind.FOLDER:
            nodes[name] = folder_node(image.mode(obj))
        else:
            nodes[name] = file_node(image.read(obj, 0, image.size(obj)), image.mode(obj))
    return nodes


def main(arguments: Sequence[str]) -> int:
    """Print the figures: `python bench/match.py [EVENTS [IMAGES]]`."""
    print(table(measure(*map(int, arguments))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
