"""A second, independent statement of the rules of mapped memory, for brute_force.py: slow, naive, from the rules alone.

Memory is said by three answers: the row's `memory` is persistent or not, and if it is, its cache survives or not.
"""

from __future__ import annotations

OPERATIONS = ("mapped", "store", "flush", "fence", "msync")


def lines(u) -> set[int]:
    """The cache lines an update of data touches."""
    return {byte // 64 for byte in range(u.at, u.at + len(u.data))}


def share_a_line(a, b) -> bool:
    """Persistent memory: only a common cache line orders two pieces of data."""
    return bool(lines(a) & lines(b))


def guaranteed(ops, us, syncs, row, until: int, persistent: set[int], named) -> set[int]:
    """What stores, flushes, fences and msyncs before the crash inside operation `until` promise directly."""
    sure: set[int] = set()
    for i, what, obj in syncs:
        if what == "store" and i <= until and obj in persistent:
            # The page fault comes before the store itself.
            past = [u for u in us if u.op < i]
            sure |= {u.n for u in past if u.obj == obj and u.kind in ("size", "cut", "zero")}
            sure |= named(past, obj, set())
        if i >= until:
            continue
        if what == "msync":
            first, last = ops[i][2] // 4096, (ops[i][2] + ops[i][3] - 1) // 4096
            past = [u for u in us if u.op < i and u.obj == obj]
            sure |= {u.n for u in past if u.kind in ("size", "cut", "zero")}
            sure |= {u.n for u in past if u.kind == "data" and touches_pages(u, first, last)}
            if row.datasync_persists_names:
                sure |= named([u for u in us if u.op < i], obj, set())
        if what == "store" and obj in persistent:
            mine = [u.n for u in us if u.op == i]
            if ops[i][5] == "nt":
                if fenced(ops, i, ops[i][4], until):
                    sure |= set(mine)
            elif row.memory.cache_survives:
                sure |= set(mine)
        if what == "flush" and obj in persistent:
            line = ops[i][2] // 64
            in_line = {u.n for u in us if u.op < i and u.obj == obj and u.kind == "data" and line in lines(u)}
            if ops[i][4] == "clflush" or fenced(ops, i, ops[i][3], until):
                sure |= in_line
    return sure


def touches_pages(u, first: int, last: int) -> bool:
    return u.at // 4096 <= last and (u.at + len(u.data) - 1) // 4096 >= first


def fenced(ops, after: int, thread: int, until: int) -> bool:
    """Whether the thread made a fence after an operation, finished before the crash."""
    return any(op[0] == "fence" and op[1] == thread for op in ops[after + 1 : until])
