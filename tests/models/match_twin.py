"""All images of a run at all moments, by enumeration, and images that are none of them: the twin of the matcher.

Images are as in `brute_force.py`: a set of (path, ("dir", mode) or ("file", mode, bytes)). Random runs never write the
byte that stands for garbage, so it is garbage wherever it shows, and any byte will do there.
"""

from __future__ import annotations

import random
from collections import defaultdict

from powercut.matching.observed import Node, ObservedImage, file_node, folder_node
from powercut.states.lattice import Lattice
from powercut.states.timeline import Timeline
from tests.models.test_models import engine_image

GARBAGE = 0xA5


class Everything:
    """Every image that a timeline can leave, with the moments at which it can."""

    def __init__(self, timeline: Timeline, first: int, most_pending: int) -> None:
        self.moments: dict[frozenset, set[int]] = defaultdict(set)
        self.is_whole = True
        last = None
        for moment in range(first, timeline.end + 1):
            pending = (timeline.issued(moment), tuple(timeline.pending(moment)))
            if len(pending[1]) > most_pending:
                self.is_whole = False
                return
            if pending != last:
                images = {engine_image(timeline, state) for state in Lattice(timeline, moment).states()}
                last = pending
            for image in images:
                self.moments[image].add(moment)

    def when(self, observed: frozenset) -> set[int]:
        """The moments at which an image can have come to be."""
        if not any(_has_garbage(image) for image in self.moments):
            return self.moments.get(observed, set())
        found: set[int] = set()
        for image, moments in self.moments.items():
            if fits(image, observed):
                found |= moments
        return found


def _has_garbage(image: frozenset) -> bool:
    return any(GARBAGE in node[2] for _, node in image if node[0] == "file")


def fits(image: frozenset, observed: frozenset) -> bool:
    """Whether an observed image is a computed one, with anything in place of garbage."""
    mine, theirs = dict(image), dict(observed)
    return mine.keys() == theirs.keys() and all(_node_fits(mine[path], theirs[path]) for path in mine)


def _node_fits(mine: tuple, theirs: tuple) -> bool:
    if mine[:2] != theirs[:2] or mine[0] == "dir":
        return mine == theirs
    if len(mine[2]) != len(theirs[2]):
        return False
    return mine[2] == theirs[2] or all(a in (b, GARBAGE) for a, b in zip(mine[2], theirs[2], strict=True))


def as_observed(image: frozenset) -> ObservedImage:
    """What the matcher is asked."""
    nodes: dict[bytes, Node] = {}
    for path, node in image:
        nodes[path.encode()] = folder_node(node[1], {}) if node[0] == "dir" else file_node(node[2], node[1], {})
    return ObservedImage(nodes)


class Images:
    """Random images of a run, possible and not."""

    def __init__(self, everything: Everything, seed: int) -> None:
        self._everything = everything
        self._images = sorted(everything.moments, key=sorted)
        self._random = random.Random(seed)

    def possible(self) -> frozenset:
        """One that can be; where it has garbage, anything."""
        image = self._random.choice(self._images)
        return frozenset((path, self._filled(node)) for path, node in image)

    def impossible(self) -> frozenset | None:
        """One that cannot be, but nearly can; None if none was found."""
        for _ in range(20):
            image = self._changed(dict(self.possible()))
            if not self._everything.when(image):
                return image
        return None

    def _filled(self, node: tuple) -> tuple:
        if node[0] == "dir" or GARBAGE not in node[2]:
            return node
        return (*node[:2], bytes(self._random.choice(b"\0AB\xa5") if b == GARBAGE else b for b in node[2]))

    def _changed(self, image: dict[str, tuple]) -> frozenset:
        rnd, other = self._random, dict(self.possible())
        files = [path for path in image if image[path][0] == "file"]
        how = rnd.choice(["mix", "mix", "mix", "byte", "size", "gone", "mode", "swap", "new"])
        if how == "mix":  # some paths as in another state
            for path in {*image, *other}:
                if rnd.random() < 0.5 and path.rpartition("/")[0] in ("", *image):
                    image.pop(path, None)
                    image.update({path: other[path]} if path in other else {})
        elif how == "new" or not files:
            image[rnd.choice("abcd")] = ("file", 0o644, rnd.choice([b"", b"A"]))
        else:
            path = rnd.choice(files)
            self._change_file(image, path, how, rnd.choice(files))
        return frozenset((path, node) for path, node in image.items() if _has_parents(image, path))

    def _change_file(self, image: dict[str, tuple], path: str, how: str, other: str) -> None:
        rnd = self._random
        kind, mode, data = image[path]
        if how == "byte" and data:
            at = rnd.randrange(len(data))
            data = data[:at] + rnd.choice([b"\0", b"A", b"B"]) + data[at + 1 :]
        elif how == "size":
            data = data[: rnd.choice([0, 2, 4096, 4097])].ljust(rnd.choice([0, 3, 4100]), b"\0")
        elif how == "mode":
            mode = rnd.choice([0o600, 0o640, 0o644])
        elif how == "swap":
            image[other], data, mode = image[path], image[other][2], image[other][1]
        image[path] = (kind, mode, data)
        if how == "gone":
            del image[path]


def _has_parents(image: dict[str, tuple], path: str) -> bool:
    above = path.rpartition("/")[0]
    return not above or (image.get(above, ("",))[0] == "dir" and _has_parents(image, above))
