"""A second, independent statement of the rules of mapped memory, for brute_force.py: slow, naive, from the rules alone.

Memory is said by three answers: the row's `memory` is persistent or not, and if it is, its cache survives or not.
"""

from __future__ import annotations

OPERATIONS = ("mapped", "store", "flush", "fence")


def lines(u) -> set[int]:
    """The cache lines an update of data touches."""
    return {byte // 64 for byte in range(u.at, u.at + len(u.data))}


def share_a_line(a, b) -> bool:
    """Persistent memory: only a common cache line orders two pieces of data."""
    return bool(lines(a) & lines(b))


def promised(promises, i: int, what: str, obj) -> set[int]:
    """What one store, flush or fence promises directly by a crash inside operation `until`."""
    ops, us, until, sure = promises.ops, promises.us, promises.until, set()
    if what == "store" and i <= until and obj in promises.persistent:
        # The page fault comes before the store itself.
        past = [u for u in us if u.op < i]
        sure |= {u.n for u in past if u.obj == obj and u.kind in ("size", "cut", "zero")}
        promises.sure |= promises.closed(sure)
        sure |= promises.names(past, obj)
    if i >= until:
        return sure
    if what == "store" and obj in promises.persistent:
        mine = [u.n for u in us if u.op == i]
        if ops[i][5] == "nt":
            if fenced(ops, i, ops[i][4], until):
                sure |= set(mine)
        elif promises.row.memory.cache_survives:
            sure |= set(mine)
    if what == "flush" and obj in promises.persistent:
        line = ops[i][2] // 64
        in_line = {u.n for u in us if u.op < i and u.obj == obj and u.kind in ("data", "fill") and line in lines(u)}
        if ops[i][4] == "clflush" or fenced(ops, i, ops[i][3], until):
            sure |= in_line
    return sure


def fenced(ops, after: int, thread: int, until: int) -> bool:
    """Whether the thread made a fence after an operation, finished before the crash."""
    return any(op[0] == "fence" and op[1] == thread for op in ops[after + 1 : until])
