"""Random workloads: valid calls one after the other, from a seed."""

from __future__ import annotations

import random

from tests.kernel.calls import BLOCK, InvalidCall, Story
from tests.kernel.rig import Plan

_PATHS = ("a", "b", "c", "d", "s/a", "s/c", "s/e", "z", "t", "t/c", "s/u")
_KINDS = {
    "create": 8, "mkdir": 2, "rmdir": 1, "unlink": 4, "symlink": 1, "link": 3, "rename": 8, "exchange": 1, "tmpfile": 2,
    "linktmp": 3, "write": 22, "truncate": 6, "falloc": 5, "chmod": 2, "setxattr": 2, "delxattr": 1, "store": 2,
    "msync": 2, "fsync": 8, "fdatasync": 4, "fsyncdir": 4, "syncfs": 1,
    "~writeback": 8, "~commit": 5, "~fsync": 2,
}  # fmt: skip
_SIZES = (1, 4, 9, 100, 4090, 4096, 4100, 5000, 8192, 9000, 12288)
_OFFSETS = (0, 0, 0, 1, 2, 4, 4090, 4096, 5000, 8192)
_CUTS = (0, 0, 2, 100, 4096, 5000, 6000, 8192, 9000, 20000)


class Maker:
    """Makes one workload."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._story = Story()
        self._lines: list[str] = []
        self._focus = self._random.sample(_PATHS, 4)  # few files, so that calls meet

    def make(self) -> Plan:
        rnd = self._random
        length = rnd.randint(2, 8)
        while len(self._lines) < length or not self._story.events:
            line = self._pick()
            try:
                self._story.tell(len(self._lines), line)
            except InvalidCall:
                continue
            self._lines.append(line)
        return Plan(tuple(self._lines), rnd.random() < 0.5, rnd.random() < 0.3, rnd.randrange(1 << 30))

    def _path(self) -> str:
        return self._random.choice(self._focus if self._random.random() < 0.8 else _PATHS)

    def _there(self) -> str:
        paths = [p for p in self._story.paths() if p in self._focus or self._random.random() < 0.2]
        return self._random.choice([*paths, *self._story.unnamed] or ["a"])

    def _pick(self) -> str:
        rnd = self._random
        kind = rnd.choices(list(_KINDS), list(_KINDS.values()))[0]
        at, size = rnd.choice(_OFFSETS), rnd.choice(_SIZES)
        if kind in ("create", "mkdir"):
            return f"{kind} {self._path()}"
        if kind == "symlink":
            return f"symlink {rnd.choice('ab')} {self._path()}"
        if kind in ("link", "rename"):
            return f"{kind} {self._there()} {self._path()}"
        if kind == "exchange":
            return f"exchange {self._there()} {self._there()}"
        if kind == "tmpfile":
            return f"tmpfile T{len(self._lines)}"
        if kind == "linktmp":
            return f"linktmp {rnd.choice([*self._story.unnamed] or ['none'])} {self._path()}"
        if kind == "write":
            how = rnd.choice(["", "", "", "", "", " append", " append", " sync", " dsync", " direct"])
            if how == " direct":
                at, size = rnd.choice((0, BLOCK)), rnd.choice((BLOCK, 2 * BLOCK))
            return f"write {self._there()} {at} {size}{how}"
        if kind == "truncate":
            return f"truncate {self._there()} {rnd.choice(_CUTS)}"
        if kind == "falloc":
            how = rnd.choice(["", " keep", " punch", " punch", " zero", " zerokeep"])
            return f"falloc {self._there()} {at} {size}{how}"
        if kind == "chmod":
            return f"chmod {self._there()} {rnd.choice(['600', '640'])}"
        if kind == "setxattr":
            return f"setxattr {self._there()} {rnd.choice('xy')} {rnd.choice(['1', '2', 'v' * 300])}"
        if kind == "delxattr":
            return f"delxattr {self._there()} {rnd.choice('xy')}"
        if kind == "store":
            return f"store {self._there()} {rnd.choice((0, 8, 4096, 4992, 8192))} 8"
        if kind == "msync":
            return f"msync {self._there()} {rnd.choice((0, 4096))} {rnd.choice((1, 4096, 8192))}"
        if kind == "fsyncdir":
            return f"fsync {rnd.choice(['.', '.', 's', 't'])}"
        if kind in ("syncfs", "~commit", "~fsync"):
            return kind
        if kind == "~writeback":
            first = rnd.choice((0, 0, 0, 4096, 8192))
            return f"~writeback {self._there()} {first} {rnd.choice((0, 4096))}{rnd.choice(['', ' wait', ' wait'])}"
        return f"{kind} {self._there()}"


def random_plan(seed: int) -> Plan:
    """The workload of a seed."""
    return Maker(seed).make()
