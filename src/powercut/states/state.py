"""What a crash state is, as data: a crash point and which updates survived it.

Times count half steps of the trace: the effect of event *i* exists from time ``2 * i`` on, and what the same event
guarantees (a sync, the second half of an O_SYNC write) holds from ``2 * i + 1`` on. A crash point is a time: everything
up to and including it has happened.

A state never lists all its updates. It names a base set (all that was issued by the point, or only what was
guaranteed by it) and the few updates in which it differs, so its size follows the difference.
"""

from __future__ import annotations

from enum import Enum

from powercut.quick_dataclass import dataclass

NEVER = 2**62  # the time of something that does not happen in this trace


class Base(Enum):
    """The set of updates that a state starts from."""

    ISSUED = "issued"  # every update issued by the crash point survived, except the delta
    GUARANTEED = "guaranteed"  # only what was guaranteed by the crash point survived, and the delta


@dataclass(frozen=True, slots=True)
class State:
    """A crash point and the set of updates that survived it."""

    point: int
    base: Base
    delta: frozenset[int]
